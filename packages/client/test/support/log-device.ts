/**
 * A device whose store a test compares with the server: a leader with a memory store, whose
 * connection the test cuts.
 */
import type { Command } from '../../src/core/inputs.js'
import type { LiveState } from '../../src/core/live-state.js'
import type { LogRecord, MessageRecord } from '../../src/model/records.js'
import { fetchUpload } from '../../src/node/fetch-upload.js'
import { connectNodeSocket } from '../../src/node/node-socket.js'
import type { Connect, Connection, ConnectionListener } from '../../src/ports/transport.js'
import type { CommandOutcome, Leader } from '../../src/runtime/leader.js'
import { leaderStarter } from '../../src/runtime/leader-runtime.js'
import { memoryStore } from '../../src/stores/memory-store.js'
import { fastClock } from './test-leader.js'

export interface LogDeviceOptions {
  readonly url: string
  readonly appId: string
  readonly token: string
}

export class LogDevice implements Disposable {
  readonly store = memoryStore()
  live: LiveState | undefined
  readonly errors: unknown[] = []
  readonly #options: LogDeviceOptions
  readonly #outcomes = new Map<string, (outcome: CommandOutcome) => void>()
  #leader!: Leader
  #connection:
    | { readonly connection: Connection; readonly listener: ConnectionListener }
    | undefined
  #commands = 0

  private constructor(options: LogDeviceOptions) {
    this.#options = options
  }

  static async start(options: LogDeviceOptions): Promise<LogDevice> {
    const device = new LogDevice(options)
    await device.#start()
    return device
  }

  get isOnline(): boolean {
    return this.live?.connection.state === 'online'
  }

  /** Loses the connection, as when the network ends. */
  cut(): void {
    const current = this.#connection
    this.#connection = undefined
    current?.connection.abandon()
    current?.listener.end({ code: 1006, reason: '' })
  }

  /** Ends the program without a warning, and starts it again with what is stored. */
  async restart(): Promise<void> {
    this.#leader.stop()
    this.#connection?.connection.abandon()
    await this.#start()
  }

  execute(command: Command): Promise<CommandOutcome> {
    const id = `${++this.#commands}`
    return new Promise((resolve) => {
      this.#outcomes.set(id, resolve)
      this.#leader.execute(id, command)
    })
  }

  /** Reads the history of a log down to its beginning. */
  async readAll(log: string): Promise<void> {
    for (let beforeSeq = Number.MAX_SAFE_INTEGER; beforeSeq > 1; ) {
      const outcome = await this.execute({ type: 'history', log, beforeSeq, limit: 100 })
      if (outcome.type === 'failure') throw new Error(JSON.stringify(outcome.failure))
      beforeSeq = (outcome.value as { readonly fromSeq: number }).fromSeq
    }
  }

  async logs(): Promise<ReadonlyMap<string, LogRecord>> {
    return new Map((await this.store.load()).logs.map((record) => [record.key, record]))
  }

  /** Newest first. */
  messages(log: string): Promise<readonly MessageRecord[]> {
    const toSeq = Number.MAX_SAFE_INTEGER
    return this.store.messages({ log, fromSeq: 1, toSeq, limit: toSeq })
  }

  [Symbol.dispose](): void {
    this.#leader.stop()
  }

  async #start(): Promise<void> {
    const { url, appId, token } = this.#options
    const { generation } = await this.store.lead()
    const connect: Connect = (address, listener) => {
      const connection = connectNodeSocket(address, listener)
      this.#connection = { connection, listener }
      return connection
    }
    const start = leaderStarter(
      { url, appId, token: () => token, onError: (error) => this.errors.push(error) },
      {
        ...{ clock: fastClock(20), connect, upload: fetchUpload, platform: 'unknown' as const },
        wakeups: { listen: () => () => {} },
      },
    )
    this.#leader = start({
      ...{ state: await this.store.load(), store: this.store, generation },
      listener: {
        committed: () => {},
        live: (live) => {
          this.live = live
        },
        event: () => {},
        done: (id, outcome) => this.#outcomes.get(id)?.(outcome),
        failed: (failure) => this.errors.push(new Error(failure)),
      },
    })
    this.#leader.connect()
  }
}
