import type { Int64 } from '@hermod/protocol'
import type { EventPayloads } from '@hermod/protocol/events'
import type { Database, Prepared, Queryable } from '../../../db/database.js'
import type { LogPattern, MessageEvent, MessageReader } from '../../../outbox/consumer.js'
import type { ChangedLog } from '../../../outbox/rows/log-key.js'
import type { RecordedEdit } from '../../../outbox/rows/recorded-event.js'
import { storedColumns } from '../conversations/conversation-sql.js'
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
    const messages = await this.database.read((db) =>
      Promise.all(ranges.map((range) => this.#list(db, range.conversation, range))),
    )
    return ranges.flatMap((range, index) => eventsOf(range, messages[index] ?? []))
  }

  async readEdit({ kind, appId, payload }: RecordedEdit) {
    const { low_id: lowId, high_id: highId, is_group: isGroup } = payload.conversation
    const conversation = { appId, lowId, highId, isGroup }
    const id = Number(payload.msg_id)
    const [message] = await this.database.read((db) =>
      this.#list(db, conversation, { firstId: id, lastId: id }),
    )
    const { actor_id, user_ids, seq } = payload
    if (message) {
      const edited = { actor_id, user_ids, ...toEventMessage(conversation, message) }
      return { kind, payload: edited } as const
    }
    // Earlier versions recorded no position.
    return (seq as Int64 | undefined) === undefined ? null : skipped(conversation, seq)
  }

  #list(
    db: Queryable,
    { appId, lowId, highId }: Conversation,
    { firstId, lastId }: Pick<MessageRange, 'firstId' | 'lastId'>,
  ) {
    return this.#range.all(db, { appId, lowId, highId, firstId, lastId })
  }
}

function eventsOf(range: MessageRange, messages: readonly StoredMessage[]): MessageEvent[] {
  const { conversation, count, firstSeq, firstChange } = range
  if (firstSeq === 0) return messages.map((message) => storedEvent(conversation, message))
  const bySeq = new Map(messages.map((message) => [message.seq, message]))
  return Array.from({ length: count }, (_, index) => {
    const seq = firstSeq + index
    const change = firstChange + index
    const message = bySeq.get(seq)
    if (message) return { ...storedEvent(conversation, message), change }
    const { lowId, highId } = conversation
    return { ...skipped(conversation, seq), name: `${lowId}.${highId}.${change}`, change }
  })
}

function storedEvent(conversation: Conversation, message: StoredMessage) {
  const payload = toEventMessage(conversation, message)
  return { kind: 'message.stored', payload, name: String(message.messageId) } as const
}

function skipped(conversation: Conversation, seq: Int64) {
  const payload: EventPayloads['change.skipped'] = {
    conversation: toEventConversation(conversation),
    seq,
  }
  return { kind: 'change.skipped', payload } as const
}
