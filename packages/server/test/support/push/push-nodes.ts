/** Nodes on one database that are killed and started again while they are called. */
import { type Backend, type ServerProcess, startServer, waitFor } from '@hermod/testkit'
import { openSql, type Sql } from '../database/sql.js'
import { sharedKey, sharedTokens } from '../shared-settings.js'

export interface PushNodesOptions {
  readonly backend: Backend
  readonly env: Readonly<Record<string, string>>
  /** From 0 to below 1. */
  readonly random: () => number
}

const patienceMs = 120_000

export class PushNodes implements AsyncDisposable {
  readonly #nodes: (ServerProcess | null)[] = []
  readonly #killed = new WeakSet<ServerProcess>()
  readonly #started: ServerProcess[] = []
  readonly #random: () => number
  readonly #env: PushNodesOptions['env']
  kills = 0

  private constructor(
    { env, random }: PushNodesOptions,
    private readonly databaseUrl: string | undefined,
    private readonly database: AsyncDisposable,
    readonly sql: Sql,
    first: ServerProcess,
  ) {
    this.#env = env
    this.#random = random
    this.#nodes.push(first)
    this.#started.push(first)
  }

  static async start(options: PushNodesOptions): Promise<PushNodes> {
    const database = await options.backend.createDatabase()
    const databaseUrl = database.url
    const first = await startNode(databaseUrl, options.env)
    const sql = await openSql({ dataDir: first.dataDir, databaseUrl })
    return new PushNodes(options, databaseUrl, database, sql, first)
  }

  /** Another node on the same database, which must not be the embedded one. */
  async add(): Promise<void> {
    const node = await startNode(this.databaseUrl, this.#env)
    this.#nodes.push(node)
    this.#started.push(node)
  }

  get count(): number {
    return this.#nodes.length
  }

  /** One that runs; any of them. */
  async running(): Promise<ServerProcess> {
    return waitFor(
      () => {
        const running = this.#nodes.filter((node) => node !== null)
        return running[Math.floor(this.#random() * running.length)]
      },
      { what: 'a node that runs', timeoutMs: patienceMs },
    )
  }

  /** Calls until there is an answer: a node that is killed meanwhile gives none. */
  async call<T>(ask: (node: ServerProcess) => Promise<T>): Promise<T> {
    for (;;) {
      const node = await this.running()
      try {
        return await ask(node)
      } catch (error) {
        if (!this.#killed.has(node)) throw error
      }
    }
  }

  /** Ends one at once. @returns what starts it again, with its jobs free for anybody */
  kill(): (() => Promise<void>) | null {
    const running = this.#nodes.flatMap((node, index) => (node ? [{ node, index }] : []))
    const chosen = running[Math.floor(this.#random() * running.length)]
    if (!chosen) return null
    const { node, index } = chosen
    this.#killed.add(node)
    this.#nodes[index] = null
    node.signal('SIGKILL')
    this.kills++
    return async () => {
      await node.kill9()
      // On SQLite the next process ends them.
      if (this.databaseUrl !== undefined) await this.endLeases()
      const next = await node.startAgain()
      this.#nodes[index] = next
      this.#started.push(next)
    }
  }

  /**
   * As if the nodes that do jobs were so slow that others take them over; jobs of dead nodes wait
   * for nothing.
   */
  async endLeases(): Promise<void> {
    await this.sql.run(
      `update jobs set run_at = ${Date.now()} where outcome = '' and owner <> '' and run_at > ${Date.now()}`,
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sql[Symbol.asyncDispose]()
    // The last process on a folder has the folder.
    for (const node of this.#started.reverse()) await node[Symbol.asyncDispose]()
    await this.database[Symbol.asyncDispose]()
  }
}

function startNode(
  databaseUrl: string | undefined,
  env: Readonly<Record<string, string>>,
): Promise<ServerProcess> {
  return startServer({
    ...sharedTokens,
    ...(databaseUrl === undefined ? {} : { databaseUrl }),
    env: { HERMOD_CHECK_ANSWERS: 'on', ...sharedKey, ...env },
  })
}
