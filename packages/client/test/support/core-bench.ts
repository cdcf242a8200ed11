import { Core } from '../../src/core/core.js'
import type { CoreContext } from '../../src/core/core-context.js'
import type { Effect } from '../../src/core/effects.js'
import type { Command, InputBody } from '../../src/core/inputs.js'
import type { LiveState } from '../../src/core/live-state.js'
import type { Part } from '../../src/core/part.js'
import type { Batch } from '../../src/model/batch.js'
import type { Failure } from '../../src/errors.js'
import { altered } from '../../src/model/message-fields.js'
import type {
  CachedRead,
  LogRecord,
  MessageRecord,
  MetaRecord,
  UnsentRecord,
} from '../../src/model/records.js'

/** A call that the server has received. */
export interface ReceivedCall {
  readonly id: number
  readonly op: string
  // biome-ignore lint/suspicious/noExplicitAny: parameters of any operation
  readonly data: any
}

/** What a core has stored. */
export class StoredTables {
  meta: MetaRecord | undefined
  readonly logs = new Map<string, LogRecord>()
  readonly messages = new Map<string, MessageRecord>()
  readonly unsent = new Map<number, UnsentRecord>()
  readonly cached = new Map<string, CachedRead>()

  apply(batch: Batch): void {
    this.meta = batch.meta
    if (batch.isReset) for (const table of [this.logs, this.messages, this.cached]) table.clear()
    for (const key of batch.goneLogs) this.logs.delete(key)
    const dropped = new Set([...batch.goneLogs, ...batch.emptiedLogs])
    const hidden = new Map(batch.hidden.map(({ log, msgId }) => [log, msgId]))
    const isDropping = dropped.size + hidden.size > 0
    for (const [key, { log, msgId }] of isDropping ? this.messages : [])
      if (dropped.has(log) || msgId <= (hidden.get(log) ?? 0)) this.messages.delete(key)
    for (const { log, seq } of batch.removed) this.messages.delete(`${log} ${seq}`)
    for (const record of batch.logs) this.logs.set(record.key, record)
    for (const record of batch.messages) this.messages.set(`${record.log} ${record.seq}`, record)
    for (const { log, seq, ...alteration } of batch.updated) {
      const message = this.messages.get(`${log} ${seq}`)
      if (message) this.messages.set(`${log} ${seq}`, altered(message, alteration))
    }
    for (const record of batch.unsent) this.unsent.set(record.transactionId, record)
    for (const transactionId of batch.sent) this.unsent.delete(transactionId)
    for (const record of batch.cached) this.cached.set(record.key, record)
  }
}

export interface CoreBenchOptions {
  readonly parts: (context: CoreContext) => readonly Part[]
  readonly transactionTtlMs?: number
  /** False: batches wait for `commit`. */
  readonly isCommitting?: boolean
  readonly random?: () => number
  /** False: the store is memory. */
  readonly isDurable?: boolean
}

/** Runs a core with parts under test: a store, a clock and a server that the test plays. */
export class CoreBench {
  readonly me = 5
  readonly stored = new StoredTables()
  now = 1_000_000
  isCommitting: boolean
  core!: Core
  context!: CoreContext
  live!: LiveState
  /** Calls without an answer. */
  calls: ReceivedCall[] = []
  /** Outcomes of commands. */
  results = new Map<string, unknown>()
  failures = new Map<string, Failure>()
  /** Effects that the bench does not run, such as uploads. */
  effects: Effect[] = []
  epoch = 'e'
  /** What the server announces; undefined: nothing. */
  features: readonly string[] | undefined
  onCommit: () => void = () => undefined
  readonly #options: CoreBenchOptions
  readonly #timers = new Map<string, number>()
  #applying: Batch | undefined
  #connection = 0
  #commands = 0

  constructor(options: CoreBenchOptions) {
    this.#options = options
    this.isCommitting = options.isCommitting ?? true
    this.restart()
  }

  /** Starts a core with what is stored, as after a reload. */
  restart(): void {
    const { parts, random = () => 0.5, isDurable = true } = this.#options
    this.#timers.clear()
    this.#applying = undefined
    this.calls = []
    this.core = new Core({
      appId: 'app',
      userId: this.me,
      deviceGuid: null,
      platform: 6,
      userAgent: '',
      sdk: '',
      random,
      isDurable,
      parts: (context) => {
        this.context = context
        return parts(context)
      },
    })
    const { meta, logs, unsent, cached } = this.stored
    this.step({
      type: 'start',
      state: {
        ...(meta && { meta }),
        logs: [...logs.values()],
        unsent: [...unsent.values()],
        cached: [...cached.values()],
      },
    })
  }

  /** Opens a session, or opens it again. */
  open(): void {
    this.step({ type: 'connect' })
    for (let tries = 0; !this.context.isOpen && tries < 20; tries++) this.advance(1_000)
  }

  /** Ends the connection without a word. */
  cut(): void {
    this.calls = []
    this.step({ type: 'ended', connection: this.#connection, code: 1006, reason: '' })
  }

  command(command: Command): string {
    const id = `c${++this.#commands}`
    this.step({ type: 'command', id, command })
    return id
  }

  answer(call: ReceivedCall, data: unknown, extras: object = {}): void {
    this.#reply(call, { code: 200, message: null, data, ...extras })
  }

  refuse(call: ReceivedCall, code: number, name: string, extras: object = {}): void {
    this.#reply(call, { code, name, message: name, retry: false, ...extras })
  }

  event(event: string, data: object, change?: number): void {
    this.frame({ event, data, ...(change !== undefined && { change }) })
  }

  /** Takes the oldest unanswered call of an operation. */
  take(op: string): ReceivedCall {
    const call = this.calls.find((each) => each.op === op)
    if (!call) throw new Error(`no call ${op}; calls: ${this.calls.map((each) => each.op)}`)
    this.calls = this.calls.filter((each) => each !== call)
    return call
  }

  /** Commits the batch that is being applied. */
  commit(): boolean {
    const batch = this.#applying
    if (!batch) return false
    this.#applying = undefined
    this.stored.apply(batch)
    this.onCommit()
    this.step({ type: 'applied' })
    return true
  }

  /** Commits the batch that is being applied, and ends the core before it hears of that. */
  commitLast(): void {
    if (this.#applying) this.stored.apply(this.#applying)
    this.onCommit()
  }

  advance(ms: number): void {
    const end = this.now + ms
    for (;;) {
      const [next] = [...this.#timers].sort(([, a], [, b]) => a - b)
      if (!next || next[1] > end) break
      this.now = Math.max(this.now, next[1])
      this.#timers.delete(next[0])
      this.step({ type: 'timer', key: next[0] })
    }
    this.now = end
  }

  step(input: InputBody): void {
    for (const effect of this.core.step({ now: this.now, ...input })) this.#run(effect)
    if (this.isCommitting) this.commit()
  }

  #run(effect: Effect): void {
    switch (effect.type) {
      case 'apply':
        this.#applying = effect.batch
        break
      case 'token':
        this.step({ type: 'token', token: 't' })
        break
      case 'connect':
        this.#connection = effect.connection
        this.step({ type: 'opened', connection: effect.connection })
        break
      case 'send':
        this.#receive(effect.text)
        break
      case 'timer':
        this.#timers.set(effect.key, this.now + effect.ms)
        break
      case 'cancelTimer':
        this.#timers.delete(effect.key)
        break
      case 'result':
        this.results.set(effect.id, effect.value)
        break
      case 'failure':
        this.failures.set(effect.id, effect.failure)
        break
      case 'live':
        this.live = effect.live
        break
      case 'error':
        throw effect.error
      default:
        this.effects.push(effect)
    }
  }

  #receive(text: string): void {
    const frame = JSON.parse(text)
    if (frame.op !== 'session.open') {
      // Link probes with an ID that is a text.
      if (typeof frame.id === 'string') this.answer(frame, true)
      else this.calls.push(frame)
      return
    }
    this.#reply(frame, {
      code: 200,
      message: null,
      data: {
        session_id: 1,
        user_id: this.me,
        epoch: this.epoch,
        server_time: this.now,
        ping_ms: 10 ** 9,
        max_frame: 1_000_000,
        max_in_flight: 16,
        transaction_ttl_ms: this.#options.transactionTtlMs ?? 86_400_000,
        sync: 'needed',
        features: this.features,
      },
    })
  }

  #reply({ id }: { readonly id: unknown }, members: object): void {
    this.frame({ id, ...members })
  }

  /** Receives a frame of the server. */
  frame(frame: object): void {
    this.step({ type: 'frame', connection: this.#connection, text: JSON.stringify(frame) })
  }
}
