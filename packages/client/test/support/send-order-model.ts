import type { CoreContext } from '../../src/core/core-context.js'
import { conversationOf, logKeyOf, wireLog } from '../../src/model/log-key.js'
import type { ServerEvent, Part } from '../../src/core/part.js'
import type { LogKey, LogRecord, MessageRecord } from '../../src/model/records.js'
import type { LogAccess } from '../../src/core/access.js'
import type { ReceivedCall } from './core-bench.js'

const me = 5
/** The time for which the server knows a transaction ID. */
export const ttlMs = 1_000_000
/** The events of this group are not sent. */
export const muted = 'g7'
/** The conversations of the model. */
export const conversations = [
  { conversationId: 8, isGroup: false },
  { conversationId: 9, isGroup: false },
  { conversationId: 7, isGroup: true },
]

interface ServerMessage {
  readonly msgId: number
  readonly transactionId: number
}

/** The server: stores messages, and knows transaction IDs for a time. */
export class ModelServer {
  readonly logs = new Map<LogKey, ServerMessage[]>()
  readonly #known = new Map<number, { readonly msgId: number; readonly until: number }>()
  #lastId = 100

  knows(transactionId: number, now: number): boolean {
    return (this.#known.get(transactionId)?.until ?? 0) > now
  }

  /** @returns the ID, and the number of a new message */
  send({ data }: ReceivedCall, now: number): { readonly msgId: number; readonly change?: number } {
    const { transaction_id: transactionId } = data
    const known = this.#known.get(transactionId)
    if (known && known.until > now) return { msgId: known.msgId }
    const log = this.log(keyOfCall(data))
    const msgId = ++this.#lastId
    log.push({ msgId, transactionId })
    this.#known.set(transactionId, { msgId, until: now + ttlMs })
    return { msgId, change: log.length }
  }

  log(key: LogKey): ServerMessage[] {
    const log = this.logs.get(key) ?? []
    this.logs.set(key, log)
    return log
  }

  frame(key: LogKey, change: number) {
    const { msgId, transactionId } = this.log(key)[change - 1] as ServerMessage
    const data = {
      conversation: wireLog(key),
      msg_id: msgId,
      seq: change,
      sender_id: me,
      transaction_id: String(transactionId),
    }
    return { event: 'message.stored', change, data }
  }

  changes({ data }: ReceivedCall) {
    const key = logKeyOf(data.log) as LogKey
    const { length } = this.log(key)
    const next = Math.min(length, data.after_change + 2)
    const changes = []
    for (let change = data.after_change + 1; change <= next; change++)
      changes.push(this.frame(key, change))
    return { log: data.log, from: data.after_change, changes, next, change: length }
  }
}

/** Returns the log of a send. */
export function keyOfCall({
  type,
  targets,
}: {
  readonly type: number
  readonly targets: number[]
}) {
  const [id = 0] = targets
  return type === 2 ? `g${id}` : `d${Math.min(me, id)}.${Math.max(me, id)}`
}

/** Follows the logs of the server by their numbers, as Logs does. */
export class ModelLogs implements Part, LogAccess {
  readonly #context: CoreContext
  readonly #records = new Map<LogKey, LogRecord>()
  readonly #outstanding = new Set<{ readonly key: LogKey; readonly done: () => void }>()
  stored: (message: MessageRecord) => void = () => undefined

  constructor(context: CoreContext) {
    this.#context = context
  }

  start({ logs }: { readonly logs: readonly LogRecord[] }): void {
    for (const log of logs) this.#records.set(log.key, log)
  }

  opened(): void {
    for (const { conversationId, isGroup } of conversations)
      this.needHead(keyOfCall({ type: isGroup ? 2 : 1, targets: [conversationId] }))
    for (const each of this.#outstanding) this.#fill(each)
  }

  event({ event, data, change }: ServerEvent): void {
    if (event === 'message.stored' && change !== undefined) this.#take(data, change)
  }

  get(key: LogKey): LogRecord {
    return this.#records.get(key) ?? this.#record(key)
  }

  needHead(key: LogKey, done: () => void = () => undefined): void {
    const each = { key, done }
    this.#outstanding.add(each)
    if (this.#context.isOpen) this.#fill(each)
  }

  setDelivered(): void {}

  #fill(each: { readonly key: LogKey; readonly done: () => void }): void {
    const data = { log: wireLog(each.key), after_change: this.get(each.key).change }
    this.#context.call('message.changes', data, (outcome) => {
      if (outcome.type !== 'answer') return
      const page = outcome.answer.data as ReturnType<ModelServer['changes']>
      for (const change of page.changes) this.#take(change.data, change.change)
      if (page.next < page.change) this.#fill(each)
      else if (this.#outstanding.delete(each)) each.done()
    })
  }

  #take(data: unknown, change: number): void {
    const { conversation, msg_id, seq, transaction_id } = data as Record<string, never>
    const log = logKeyOf(conversation) as LogKey
    const record = this.get(log)
    if (change > record.change + 1) this.needHead(log)
    if (change !== record.change + 1) return
    const message = { log, seq, msgId: msg_id, transactionId: Number(transaction_id) }
    const last = message as unknown as MessageRecord
    const next = { ...record, change, last }
    this.#records.set(log, next)
    this.#context.batch.putLog(next)
    this.#context.batch.putMessage(last)
    this.stored(last)
  }

  #record(key: LogKey): LogRecord {
    const conversationId = conversationOf(key, me)
    const muteMode = key === muted ? 2 : 0
    return { key, conversationId, change: 0, hiddenMsgId: 0, muteMode } as LogRecord
  }
}
