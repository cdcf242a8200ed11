/** Nodes on one database that send to endpoints, and are killed. */
import { type Api, type Backend, freePort, type ServerProcess, startServer } from '@hermod/testkit'
import { openSql, type Sql } from '../database/sql.js'
import type { Random } from '../random.js'
import { sharedKey, sharedTokens } from '../shared-settings.js'

const env = {
  HERMOD_CHECK_ANSWERS: 'on',
  HERMOD_OUTBOUND_ALLOW: '127.0.0.1',
  ...sharedKey,
}

export class HookNodes implements AsyncDisposable {
  readonly #nodes: ServerProcess[] = []
  readonly #down = new Set<ServerProcess>()

  private constructor(
    private readonly random: Random,
    private readonly databaseUrl: string | undefined,
    private readonly database: AsyncDisposable,
  ) {}

  static async start(backend: Backend, count: number, random: Random): Promise<HookNodes> {
    const database = await backend.createDatabase()
    const nodes = new HookNodes(random, database.url, database)
    for (let started = 0; started < count; started++) await nodes.#start()
    return nodes
  }

  /** A caller of a node; of a running one if there is one. */
  get api(): Api {
    const running = this.#nodes.filter((node) => !this.#down.has(node))
    return this.random.pick(running.length > 0 ? running : this.#nodes).api
  }

  openSql(): Promise<Sql> {
    const [first] = this.#nodes
    return openSql({ dataDir: first?.dataDir ?? '', databaseUrl: this.databaseUrl })
  }

  /** Kills a node at random, and starts it again. */
  async killOne(): Promise<void> {
    const index = this.random.integer(0, this.#nodes.length - 1)
    const node = this.#nodes[index] as ServerProcess
    this.#down.add(node)
    await node.kill9()
    this.#nodes[index] = await node.startAgain()
  }

  async #start(): Promise<void> {
    const { databaseUrl } = this
    const database = databaseUrl === undefined ? {} : { databaseUrl }
    const port = await freePort()
    this.#nodes.push(await startServer({ ...sharedTokens, ...database, port, env }))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const node of this.#nodes) await node[Symbol.asyncDispose]()
    await this.database[Symbol.asyncDispose]()
  }
}
