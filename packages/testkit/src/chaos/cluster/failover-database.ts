import { memoryDisk } from '../../memory-disk.js'
import { PostgresCluster } from '../../postgres.js'

/** A killed process loses nothing of what it has written; only a machine without power would. */
const settings = { fsync: 'off', max_connections: '200', wal_keep_size: '256MB' }

/** Times of a failover that lost commits, by `performance.now()`. */
export interface Loss {
  readonly from: number
  readonly killedAt: number
}

/** A database on a PostgreSQL that fails, and of which a standby takes over. */
export class FailoverDatabase implements AsyncDisposable {
  #standby: Promise<PostgresCluster> | null = null

  private constructor(
    private primary: PostgresCluster,
    private readonly name: string,
  ) {}

  static async start(): Promise<FailoverDatabase> {
    const primary = await PostgresCluster.start({ folder: memoryDisk(), settings })
    const { url } = await primary.createDatabase()
    return new FailoverDatabase(primary, new URL(url).pathname.slice(1))
  }

  /** The database on the present primary. */
  get url(): string {
    return this.primary.urlOf(this.name)
  }

  /** Makes a standby, so that the next failover need not wait for it. */
  async prepare(): Promise<void> {
    this.#standby ??= this.primary.startStandby()
    await this.#standby
  }

  /** Kills all processes, and starts again after some time. */
  async kill(downMs: number, sleep: (ms: number) => Promise<unknown>): Promise<void> {
    await this.primary.kill9()
    await sleep(downMs)
    await this.primary.restart()
  }

  /** Stops in order, and starts again after some time. */
  async restart(downMs: number, sleep: (ms: number) => Promise<unknown>): Promise<void> {
    await this.primary.stop()
    await sleep(downMs)
    await this.primary.restart()
  }

  /** Kills the primary and promotes the standby, which has every commit that was answered. */
  async promote(): Promise<void> {
    const standby = await this.#takeStandby()
    await this.primary.makeSynchronous()
    await this.#failOver(standby)
  }

  /**
   * Kills the primary and promotes the standby, which lacks the commits of some time.
   * @param lag waits while the standby receives nothing
   */
  async promoteWithLoss(lag: () => Promise<unknown>): Promise<Loss> {
    const standby = await this.#takeStandby()
    await this.primary.waitForStandby(standby)
    const from = performance.now()
    await standby.detach()
    await lag()
    const killedAt = await this.#failOver(standby)
    return { from, killedAt }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const standby = await this.#standby?.catch(() => null)
    await standby?.[Symbol.asyncDispose]()
    await this.primary[Symbol.asyncDispose]()
  }

  async #takeStandby(): Promise<PostgresCluster> {
    await this.prepare()
    const standby = (await this.#standby) as PostgresCluster
    this.#standby = null
    return standby
  }

  /** @returns when the former primary was dead */
  async #failOver(standby: PostgresCluster): Promise<number> {
    const former = this.primary
    await former.kill9()
    const killedAt = performance.now()
    await standby.promote()
    this.primary = standby
    await former[Symbol.asyncDispose]()
    return killedAt
  }
}
