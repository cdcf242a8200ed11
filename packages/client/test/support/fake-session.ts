import type { ClientOptions } from '../../src/api.js'
import type { CoreEvent } from '../../src/core/effects.js'
import type { Command } from '../../src/core/inputs.js'
import type { LiveState } from '../../src/core/live-state.js'
import { emptyLog } from '../../src/core/logs/log-fold.js'
import { ClientError, failureOf } from '../../src/errors.js'
import { Listeners } from '../../src/lib/listeners.js'
import { reporterOf } from '../../src/lib/reporter.js'
import type { Batch } from '../../src/model/batch.js'
import { altered } from '../../src/model/message-fields.js'
import type {
  CachedRead,
  LogKey,
  LogRecord,
  MessageRecord,
  MetaRecord,
  SeqRange,
  UnsentRecord,
} from '../../src/model/records.js'
import type { MessageQuery } from '../../src/ports/store.js'
import type { Upload } from '../../src/ports/transport.js'
import type { ClientSession, StateChange } from '../../src/sessions/session.js'

/** The own user of a fake session. */
export const me = 1

const empty: Omit<Batch, 'meta'> = {
  isReset: false,
  goneLogs: [],
  emptiedLogs: [],
  hidden: [],
  removed: [],
  logs: [],
  messages: [],
  updated: [],
  unsent: [],
  sent: [],
  cached: [],
}

/** A session with state and answers that the test sets: no core, no store, no network. */
export class FakeSession implements ClientSession {
  readonly state = {
    meta: { userId: me, epoch: 'e', pos: 'p', listCursor: '', commit: 0 } as MetaRecord,
    logs: new Map<LogKey, LogRecord>(),
    unsent: new Map<number, UnsentRecord>(),
    cached: new Map<string, CachedRead>(),
    live: {
      connection: { state: 'online' },
      userId: me,
      token: 'secret',
      online: [],
      typing: [],
      streams: {},
      uploads: {},
      isDurable: true,
    } as LiveState,
  }
  /** Messages of the store by log and position. */
  readonly stored = new Map<string, MessageRecord>()
  /** Commands in their order. */
  readonly commands: Command[] = []
  readonly calls: string[] = []
  /** Answers commands; by default with undefined. */
  answer: (command: Command) => unknown = () => undefined
  /** Runs before messages of the store are answered. */
  beforeRead: () => void = () => {}
  reads = 0
  readonly #closing = new AbortController()
  readonly #listeners: Listeners<StateChange>
  readonly #eventListeners: Listeners<CoreEvent>

  /** @param options those of the client: its listeners are of the app */
  constructor(options: Pick<ClientOptions, 'onError'> = {}) {
    const report = reporterOf(options)
    this.#listeners = new Listeners(report)
    this.#eventListeners = new Listeners(report)
  }

  subscribe(listener: (change: StateChange) => void) {
    return this.#listeners.add(listener)
  }

  onEvent(listener: (event: CoreEvent) => void) {
    return this.#eventListeners.add(listener)
  }

  async messages({ log, fromSeq, toSeq, limit }: MessageQuery) {
    this.reads++
    const found: MessageRecord[] = []
    for (let seq = toSeq; seq >= fromSeq && found.length < limit; seq--) {
      const message = this.stored.get(`${log} ${seq}`)
      if (message) found.push({ ...message })
    }
    this.beforeRead()
    return found
  }

  async execute(command: Command) {
    this.commands.push(command)
    return this.answer(command)
  }

  connect() {
    this.calls.push('connect')
  }

  disconnect() {
    this.calls.push('disconnect')
  }

  get closed() {
    return this.#closing.signal
  }

  async close() {
    this.#closing.abort(new ClientError(failureOf('closed', 'closed')))
    this.calls.push('close')
  }

  async destroy() {
    this.#closing.abort(new ClientError(failureOf('closed', 'closed')))
    this.calls.push('destroy')
  }

  /** Applies a batch, and notifies. */
  apply(changes: Partial<Batch>): void {
    const { logs, unsent, cached } = this.state
    const batch: Batch = { ...empty, meta: this.state.meta, ...changes }
    this.state.meta = batch.meta
    if (batch.isReset) {
      logs.clear()
      cached.clear()
      this.stored.clear()
    }
    for (const key of batch.goneLogs) logs.delete(key)
    for (const [key, { log, msgId }] of this.stored)
      if (
        [...batch.goneLogs, ...batch.emptiedLogs].includes(log) ||
        batch.hidden.some((each) => each.log === log && each.msgId >= msgId)
      )
        this.stored.delete(key)
    for (const { log, seq } of batch.removed) this.stored.delete(`${log} ${seq}`)
    for (const each of batch.logs) logs.set(each.key, each)
    for (const each of batch.messages) this.stored.set(`${each.log} ${each.seq}`, each)
    for (const { log, seq, ...alteration } of batch.updated) {
      const message = this.stored.get(`${log} ${seq}`)
      if (message) this.stored.set(`${log} ${seq}`, altered(message, alteration))
    }
    for (const each of batch.unsent) unsent.set(each.transactionId, each)
    for (const id of batch.sent) unsent.delete(id)
    for (const each of batch.cached) cached.set(each.key, each)
    this.notify({ type: 'batch', batch })
  }

  setLive(changes: Partial<LiveState>): void {
    this.state.live = { ...this.state.live, ...changes }
    this.notify({ type: 'live' })
  }

  notify(change: StateChange): void {
    this.#listeners.notify(change)
  }

  event(event: CoreEvent): void {
    this.#eventListeners.notify(event)
  }

  /** Puts messages 1 to `seq` of a log into the store, and returns its record. */
  fill(key: LogKey, seq: number, changes: Partial<LogRecord> = {}): LogRecord {
    const ranges: readonly SeqRange[] = changes.ranges ?? [[1, seq]]
    for (const [from, to] of ranges)
      for (let each = from; each <= to; each++)
        this.stored.set(`${key} ${each}`, aMessage(key, each))
    return aLog(key, { seq, ranges, last: aMessage(key, seq), ...changes })
  }

  /** The commands of one type. */
  commandsOf<T extends Command['type']>(type: T) {
    return this.commands.filter((each): each is Extract<Command, { type: T }> => each.type === type)
  }
}

/** Uploads nothing. */
export const upload: Upload = () => Promise.reject(new Error('no uploads here'))

/** A record of a log; the other user of `d1.9` is 9. */
export function aLog(key: LogKey, changes: Partial<LogRecord> = {}): LogRecord {
  const { last: _unknown, ...log } = emptyLog(key, 1)
  return { ...log, ...changes }
}

/** A message of the other user; its ID is ten times its position. */
export function aMessage(
  log: LogKey,
  seq: number,
  changes: Partial<MessageRecord> = {},
): MessageRecord {
  return {
    log,
    seq,
    msgId: seq * 10,
    senderId: 9,
    senderDeviceSn: 0,
    contentType: 0,
    content: `message ${seq}`,
    attachment: '',
    config: '',
    ext: '',
    isSystem: false,
    timestamp: seq * 1_000,
    editTimestamp: 0,
    ...changes,
  }
}

/** A queued text for a direct conversation. */
export function anUnsent(transactionId: number, changes: Partial<UnsentRecord> = {}): UnsentRecord {
  return {
    transactionId,
    conversationId: 9,
    isGroup: false,
    order: transactionId,
    state: 'queued',
    createdAt: 5_000_000,
    contentType: 0,
    content: `unsent ${transactionId}`,
    attachment: '',
    config: '',
    ext: '',
    ...changes,
  }
}

/** A user as the server answers it. */
export function aUser(id: number, changes: object = {}): CachedRead {
  const value = {
    user_id: id,
    username: `user${id}`,
    nick_name: '',
    alias: '',
    avatar: '',
    relation: 0,
    mute_notification: false,
    ...changes,
  }
  return { key: `user.${id}`, value, isStale: false }
}

/** Waits until all promises that are settled now have run. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve()
  await new Promise((resolve) => setImmediate(resolve))
}
