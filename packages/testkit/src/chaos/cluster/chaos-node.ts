import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Exit } from '../../processes/child.js'
import { freePort } from '../../processes/free-port.js'
import { type ServerProcess, startServer } from '../../processes/server-process.js'
import { TempFolder } from '../../temp-folder.js'
import { waitFor } from '../../wait.js'
import { DatabaseProxy } from './database-proxy.js'

/** Nodes that share a database have the same tokens and the same key. */
const shared = {
  adminToken: `hma_${'a'.repeat(48)}`,
  operatorToken: `hmo_${'b'.repeat(48)}`,
}
const secretKey = `key-${'k'.repeat(40)}`
const preloaded = fileURLToPath(import.meta.resolve('./shifted-clock.js'))
const restartPauseMs = 300
const startTimeoutMs = 120_000
/** A node that ends with it asks for a clean start. */
const cleanStartCode = 75

export interface ChaosNodeOptions {
  readonly index: number
  /** The URL of the database that is the primary now. */
  readonly database: () => string
  readonly env?: Readonly<Record<string, string>>
}

/**
 * A node as an operator runs it: `hermod serve` in a folder of its own, under a supervisor that
 * starts it again whenever it ends. Its database is behind a proxy, and its clock can be shifted.
 */
export class ChaosNode implements AsyncDisposable {
  /** Exits of processes that no fault has killed or terminated. */
  readonly ownExits: Exit[] = []
  starts = 0
  /** The `hermod` script of another build, which it starts from then on. */
  command: string | undefined
  /** The output of all processes that have ended. */
  #pastOutput = ''
  #process: ServerProcess | null = null
  #isStarting = false
  #isClosed = false
  #isKilled = false

  private constructor(
    readonly index: number,
    readonly port: number,
    readonly proxy: DatabaseProxy,
    private readonly folder: TempFolder,
    private readonly env: Readonly<Record<string, string>>,
  ) {}

  static async start({ index, database, env = {} }: ChaosNodeOptions): Promise<ChaosNode> {
    const proxy = await DatabaseProxy.start(() => new URL(database()))
    const node = new ChaosNode(index, await freePort(), proxy, new TempFolder(`node-${index}`), env)
    mkdirSync(node.dataDir)
    node.shiftClock(0)
    await node.#launch()
    return node
  }

  get dataDir(): string {
    return join(this.folder.path, 'data')
  }

  /** The process that runs now. */
  get process(): ServerProcess {
    if (this.#process === null) throw new Error(`node ${this.index} never started`)
    return this.#process
  }

  /** False while it is down or starts. */
  get isUp(): boolean {
    return !this.#isStarting && this.#process !== null && !this.#isClosed
  }

  /** The output of all its processes. */
  output(): string {
    return this.#pastOutput + (this.#process?.output() ?? '')
  }

  /** Waits until it has started, or started again. */
  async waitUntilUp(): Promise<void> {
    const patience = { what: `node ${this.index} is up`, timeoutMs: startTimeoutMs, everyMs: 20 }
    await waitFor(() => this.isUp, patience)
  }

  /** Its clock is so many milliseconds ahead of the machine's from now on. */
  shiftClock(offsetMs: number): void {
    writeFileSync(this.#clockPath, String(offsetMs))
  }

  /** Ends it, and waits until the supervisor has started it again. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    await this.waitUntilUp()
    const { process } = this
    this.#isKilled = true
    process.signal(signal)
    await process.exited
    await waitFor(() => this.#process !== process && this.isUp, {
      what: `a new process of node ${this.index}`,
      timeoutMs: startTimeoutMs,
      everyMs: 20,
    })
  }

  /**
   * Tells it to leave, as an operator does with `hermod nodes drain`, and waits until it has ended and
   * the supervisor has started it again.
   */
  async drain(): Promise<Exit> {
    await this.waitUntilUp()
    const { process } = this
    const { id } = JSON.parse(readFileSync(join(this.dataDir, 'node.id'), 'utf8'))
    this.#isKilled = true
    await process.api
      .as(shared.operatorToken)
      .succeed('POST', '/operator/v1/node/drain', { body: { node_id: id } })
    const exit = await process.exited
    await waitFor(() => this.#process !== process && this.isUp, {
      what: `a new process of node ${this.index}`,
      timeoutMs: startTimeoutMs,
      everyMs: 20,
    })
    return exit
  }

  async stopFor(ms: number): Promise<void> {
    await this.waitUntilUp()
    const { process } = this
    process.signal('SIGSTOP')
    await sleep(ms)
    process.signal('SIGCONT')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    await this.#process?.[Symbol.asyncDispose]()
    await this.proxy[Symbol.asyncDispose]()
    this.folder[Symbol.dispose]()
  }

  get #clockPath(): string {
    return join(this.folder.path, 'clock')
  }

  async #launch(): Promise<void> {
    this.#follow(
      await startServer({
        ...shared,
        databaseUrl: this.proxy.url,
        dataDir: this.dataDir,
        port: this.port,
        env: {
          HERMOD_SECRET_KEY: secretKey,
          HERMOD_CHECK_ANSWERS: 'on',
          HERMOD_OUTBOUND_ALLOW: '127.0.0.1',
          NODE_OPTIONS: `--import ${preloaded}`,
          CHAOS_CLOCK: this.#clockPath,
          ...this.env,
        },
      }),
    )
  }

  #follow(process: ServerProcess): void {
    this.starts++
    this.#process = process
    void process.exited.then((exit) => this.#startAgain(process, exit))
  }

  async #startAgain(process: ServerProcess, exit: Exit): Promise<void> {
    if (this.#isClosed) return
    this.#isStarting = true
    if (!this.#isKilled) this.ownExits.push(exit)
    this.#isKilled = false
    this.#pastOutput += process.output()
    if (exit.code !== cleanStartCode) await sleep(restartPauseMs)
    while (!this.#isClosed) {
      try {
        this.#follow(
          await process.startAgain({
            readyTimeoutMs: 10_000,
            ...(this.command === undefined ? {} : { command: this.command }),
          }),
        )
        break
      } catch (error) {
        // The database is away, as a supervisor finds it too.
        this.#pastOutput += `${(error as Error).message}\n`
        await sleep(restartPauseMs)
      }
    }
    this.#isStarting = false
  }
}
