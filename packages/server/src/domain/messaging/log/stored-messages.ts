import type { Int64 } from '@hermod/protocol'
import type { EventPayloads } from '@hermod/protocol/events'
import type { Database, Prepared, Queryable } from '../../../db/database.js'
import type { LogPattern, MessageEvent, MessageReader } from '../../../outbox/consumer.js'
import type { ChangedLog } from '../../../outbox/rows/log-key.js'
import type { RecordedEdit, RecordedUpdate } from '../../../outbox/rows/recorded-event.js'
import { storedColumns } from '../conversations/conversation-sql.js'
import type { RecalledMessage } from '../model/change-model.js'
import { type Conversation, toEventConversation } from '../model/conversation-model.js'
import { toEventMessage } from '../model/event-message.js'
import type { StoredMessage } from '../model/message-model.js'
import { decodeRanges, type MessageRange, rangesWithLog } from '../model/message-ranges.js'

interface RangeParams {
  readonly appId: string
  readonly lowId: Int64
  readonly highId: Int64
  readonly firstId: number
  readonly lastId: number
}

/** Reads the messages that rows of the outbox name, with one range scan for each conversation. */
export class StoredMessages implements MessageReader {
  readonly #range: Prepared<RangeParams, StoredMessage>
  readonly #recalled: Prepared<RangeParams, RecalledMessage>

  constructor(private readonly database: Database) {
    this.#range = database.prepared((db, param) =>
      db
        .selectFrom('messages as m')
        .select(storedColumns('m'))
        .where('m.app_id', '=', param('appId'))
        .where('m.low_id', '=', param('lowId'))
        .where('m.high_id', '=', param('highId'))
        .where('m.msg_id', '>=', param('firstId'))
        .where('m.msg_id', '<=', param('lastId'))
        .orderBy('m.msg_id'),
    )
    this.#recalled = database.prepared((db, param) =>
      db
        .selectFrom('recalled_messages as m')
        .select(['m.seq', 'm.sender_id as senderId', 'm.is_system as isSystem'])
        .where('m.app_id', '=', param('appId'))
        .where('m.low_id', '=', param('lowId'))
        .where('m.high_id', '=', param('highId'))
        .where('m.msg_id', '>=', param('firstId'))
        .where('m.msg_id', '<=', param('lastId')),
    )
  }

  count(payload: string): number {
    return decodeRanges('', payload).reduce((sum, { count }) => sum + count, 0)
  }

  logs(payload: string): ChangedLog[] {
    return decodeRanges('', payload).map(
      ({ conversation: { lowId, highId, isGroup }, firstChange: change }) => ({
        ...{ lowId, highId, isGroup },
        change,
      }),
    )
  }

  payloadsWithLog(log: LogPattern): RegExp {
    return rangesWithLog(log)
  }

  async read(appId: string, payload: string): Promise<MessageEvent[]> {
    const ranges = decodeRanges(appId, payload)
    const events = await this.database.read((db) =>
      Promise.all(ranges.map((range) => this.#eventsOf(db, range))),
    )
    return events.flat()
  }

  async readEdit({ kind, appId, payload }: RecordedEdit) {
    const { actor_id, user_ids } = payload
    const found = await this.#find(appId, payload)
    if (!('message' in found)) return found
    return { kind, payload: { actor_id, user_ids, ...found.message } } as const
  }

  async readUpdate({ kind, appId, payload: { fields, ...payload } }: RecordedUpdate) {
    const { actor_id, user_ids } = payload
    const found = await this.#find(appId, payload)
    if (!('message' in found)) return found
    const { message } = found
    const set = Object.fromEntries(fields.map((name) => [name, message[name] ?? null]))
    const replaced = { actor_id, user_ids, ...message }
    return { kind, payload: { ...payload, set }, replaced } as const
  }

  /** Finds the message of an alteration as it is now; `change.skipped` when it is gone. */
  async #find(appId: string, { conversation: log, msg_id, seq }: RecordedEdit['payload']) {
    const { low_id: lowId, high_id: highId, is_group: isGroup } = log
    const conversation = { appId, lowId, highId, isGroup }
    const id = Number(msg_id)
    const range = rangeParams(conversation, { firstId: id, lastId: id })
    return this.database.read(async (db) => {
      const [message] = await this.#range.all(db, range)
      if (message) return { message: toEventMessage(conversation, message) }
      const [recalled] = await this.#recalled.all(db, range)
      return skipped(conversation, seq, recalled)
    })
  }

  async #eventsOf(db: Queryable, range: MessageRange): Promise<MessageEvent[]> {
    const { conversation, count, firstSeq, firstChange } = range
    const params = rangeParams(conversation, range)
    const messages = await this.#range.all(db, params)
    const isWhole = messages.length === count
    const recalled = mapBySeq(isWhole ? [] : await this.#recalled.all(db, params))
    const stored = mapBySeq(messages)
    return Array.from({ length: count }, (_, index) => {
      const seq = firstSeq + index
      const change = firstChange + index
      const message = stored.get(seq)
      if (message) return { ...storedEvent(conversation, message), change }
      const { lowId, highId } = conversation
      const name = `${lowId}.${highId}.${change}`
      return { ...skipped(conversation, seq, recalled.get(seq)), name, change }
    })
  }
}

function rangeParams(
  { appId, lowId, highId }: Conversation,
  { firstId, lastId }: Pick<MessageRange, 'firstId' | 'lastId'>,
): RangeParams {
  return { appId, lowId, highId, firstId, lastId }
}

function mapBySeq<T extends { readonly seq: number }>(entries: readonly T[]): Map<number, T> {
  return new Map(entries.map((each) => [each.seq, each]))
}

function storedEvent(conversation: Conversation, message: StoredMessage) {
  const payload = toEventMessage(conversation, message)
  return { kind: 'message.stored', payload, name: String(message.messageId) } as const
}

/** @param recalled absent: retention removed the message */
function skipped(conversation: Conversation, seq: Int64, recalled?: RecalledMessage) {
  const payload: EventPayloads['change.skipped'] = {
    conversation: toEventConversation(conversation),
    seq,
    ...(recalled && { sender_id: recalled.senderId, is_system: recalled.isSystem === 1 }),
  }
  return { kind: 'change.skipped', payload } as const
}
