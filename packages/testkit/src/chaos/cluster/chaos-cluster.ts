import { setTimeout as sleep } from 'node:timers/promises'
import { waitFor } from '../../wait.js'
import type { History } from '../history.js'
import { databaseFaults, type Fault } from '../schedule.js'
import { Balancer } from './balancer.js'
import { ChaosNode } from './chaos-node.js'
import { FailoverDatabase, type Loss } from './failover-database.js'

const clockOffsetMs = 8_000
/** Nodes that a fault leaves alone. */
const leastWell = 1
const patienceMs = 120_000
/** Lag of a standby before commits are lost. */
const lagMs = 1_000
/** The time in which nodes notice a loss after all of them are ready. */
const wellAfterMs = 5_000

export interface ChaosClusterOptions {
  readonly nodes: number
  readonly history: History
  readonly env?: Readonly<Record<string, string>>
  /** True to make standbys, for promotions. */
  readonly hasStandby: boolean
}

/** Several nodes on one PostgreSQL behind a balancer, and what goes wrong with them. */
export class ChaosCluster implements AsyncDisposable {
  readonly nodes: ChaosNode[] = []
  /** Faults by kind. */
  readonly faults = new Map<string, number>()
  readonly losses: Loss[] = []
  #balancer: Balancer | undefined
  #failing = new Set<number>()
  #isDatabaseFailing = false

  private constructor(
    private readonly options: ChaosClusterOptions,
    readonly database: FailoverDatabase,
  ) {}

  static async start(options: ChaosClusterOptions): Promise<ChaosCluster> {
    const cluster = new ChaosCluster(options, await FailoverDatabase.start())
    try {
      await cluster.#fill()
      return cluster
    } catch (error) {
      await cluster[Symbol.asyncDispose]()
      throw error
    }
  }

  /** The one address for all clients. */
  get url(): string {
    return this.balancer.url
  }

  get balancer(): Balancer {
    return this.#balancer as Balancer
  }

  /**
   * Lets one thing fail, and waits until it is mended. Waits before that until the last fault of this
   * node, or of the database, is over, and while too few nodes are well.
   */
  async inflict({ kind, node: index, lastsMs }: Fault, begun: () => void): Promise<void> {
    const isOfDatabase = databaseFaults.has(kind)
    await waitFor(() => (isOfDatabase ? this.#mayFailDatabase() : this.#mayFail(index)), {
      what: `a turn for ${kind}`,
      timeoutMs: patienceMs,
      everyMs: 20,
    })
    this.faults.set(kind, (this.faults.get(kind) ?? 0) + 1)
    const node = this.nodes[index] as ChaosNode
    const target = isOfDatabase ? 'database' : `node ${index}`
    this.options.history.record('schedule', 'invoke', 'fault', { kind, target })
    begun()
    try {
      if (isOfDatabase) await this.#failDatabase(kind, lastsMs)
      else await this.#failNode(node, kind, lastsMs)
    } finally {
      if (isOfDatabase) this.#isDatabaseFailing = false
      else this.#failing.delete(index)
      this.options.history.record('schedule', 'ok', 'fault', { kind, target })
    }
  }

  /** Waits until every node is up and takes calls. */
  async waitUntilReady(timeoutMs = patienceMs): Promise<void> {
    const areReady = () =>
      this.nodes.every(({ isUp }) => isUp) && this.balancer.healthy === this.nodes.length
    await waitFor(areReady, { what: 'all nodes are ready', timeoutMs, everyMs: 50 })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#balancer?.[Symbol.asyncDispose]()
    await Promise.all(this.nodes.map((node) => node[Symbol.asyncDispose]()))
    await this.database[Symbol.asyncDispose]()
  }

  async #fill(): Promise<void> {
    const { nodes, env, hasStandby } = this.options
    for (let index = 0; index < nodes; index++)
      this.nodes.push(
        await ChaosNode.start({
          index,
          database: () => this.database.url,
          ...(env && { env }),
        }),
      )
    this.#balancer = await Balancer.start(
      this.nodes.map(
        ({ port }) =>
          () =>
            port,
      ),
    )
    if (hasStandby) await this.database.prepare()
  }

  #mayFail(index: number): boolean {
    const mayFail = !this.#failing.has(index) && this.#failing.size < this.nodes.length - leastWell
    if (mayFail) this.#failing.add(index)
    return mayFail
  }

  #mayFailDatabase(): boolean {
    const mayFail = !this.#isDatabaseFailing
    this.#isDatabaseFailing = true
    return mayFail
  }

  async #failNode(node: ChaosNode, kind: Fault['kind'], lastsMs: number): Promise<void> {
    switch (kind) {
      case 'kill':
        return node.end('SIGKILL')
      case 'terminate':
        return node.end('SIGTERM')
      case 'short_stop':
      case 'long_stop':
        return node.stopFor(lastsMs)
      case 'bus_cut':
        node.proxy.cutBus()
        await sleep(lastsMs)
        return node.proxy.mend()
      case 'database_cut':
        node.proxy.cut(lastsMs % 2 === 0 ? 'refused' : 'silent')
        await sleep(lastsMs)
        return node.proxy.mend()
      case 'clock':
        node.shiftClock(lastsMs % 2 === 0 ? clockOffsetMs : -clockOffsetMs)
        await sleep(lastsMs)
        return node.shiftClock(0)
      default:
        throw new Error(`${kind} is no fault of a node`)
    }
  }

  async #failDatabase(kind: Fault['kind'], lastsMs: number): Promise<void> {
    const { database } = this
    if (kind === 'database_kill') return database.kill(lastsMs, sleep)
    if (kind === 'database_restart') return database.restart(lastsMs, sleep)
    if (kind === 'promotion') await database.promote()
    else {
      const loss = await database.promoteWithLoss(() => sleep(lagMs))
      this.losses.push(loss)
      await this.waitUntilReady()
      const wellAt = this.options.history.now() + wellAfterMs
      this.options.history.record('schedule', 'info', 'loss', { ...loss, wellAt })
    }
    await database.prepare()
  }
}
