import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Child, waitFor } from '@hermod/testkit'

const hermod = fileURLToPath(import.meta.resolve('@hermod/server/bin/hermod.js'))
const startMs = 60_000
const stopMs = 10_000

export type NodeState = 'starting' | 'running' | 'stopped'

interface DemoNodeOptions {
  readonly port: number
  readonly dataDir: string
  /** The settings that all nodes have in common. */
  readonly settings: Readonly<Record<string, string>>
}

/** A process of the service, which can be killed and started again with its data folder. */
export class DemoNode {
  readonly port: number
  readonly #environment: NodeJS.ProcessEnv
  #child: Child | null = null
  #state: NodeState = 'stopped'

  constructor({ port, dataDir, settings }: DemoNodeOptions) {
    this.port = port
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    this.#environment = {
      PATH: process.env.PATH,
      TMPDIR: process.env.TMPDIR,
      ...settings,
      HERMOD_PORT: String(port),
      HERMOD_DATA_DIR: dataDir,
    }
  }

  get state(): NodeState {
    return this.#state
  }

  /**
   * Starts the process, unless it runs; resolves when the node takes calls.
   * @throws Error with the output of a node that does not start
   */
  async start(): Promise<void> {
    if (this.#state !== 'stopped') return
    this.#state = 'starting'
    const child = new Child([process.execPath, hermod, 'serve'], { env: this.#environment })
    this.#child = child
    void child.exited.then(() => {
      this.#state = 'stopped'
    })
    const isReady = async () => child.exit !== null || (await this.#isReady())
    await waitFor(isReady, { what: 'a node that is ready', timeoutMs: startMs, everyMs: 50 })
    if (child.exit !== null) throw new Error(`a node of the demo ended:\n${child.output()}`)
    this.#state = 'running'
  }

  /** Sends SIGKILL. */
  async kill(): Promise<void> {
    this.#child?.killTree()
    await this.#child?.exited
  }

  /** Sends SIGTERM, and SIGKILL to a node that takes long to end. */
  async stop(): Promise<void> {
    this.#child?.signal('SIGTERM')
    const timer = setTimeout(() => this.#child?.killTree(), stopMs)
    await this.#child?.exited
    clearTimeout(timer)
  }

  async #isReady(): Promise<boolean> {
    const answer = await fetch(`http://127.0.0.1:${this.port}/readyz`).catch(() => null)
    await answer?.arrayBuffer()
    return answer?.status === 200
  }
}
