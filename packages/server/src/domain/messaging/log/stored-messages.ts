import type { Int64 } from '@hermod/protocol'
import type { EventPayloads } from '@hermod/protocol/events'
import type { Database, Prepared } from '../../../db/database.js'
import type { MessageReader } from '../../../outbox/consumer.js'
import { sentAtOf } from '../conversations/conversation-sql.js'
import { type Conversation, toEventConversation } from '../model/conversation-model.js'
import { decodeRanges, type MessageRange } from '../model/message-ranges.js'

interface RangeParams {
  readonly appId: string
  readonly lowId: Int64
  readonly highId: Int64
  readonly firstId: number
  readonly lastId: number
}

type RangeRow = Omit<EventPayloads['message.stored'], 'conversation' | 'is_system'> & {
  readonly is_system: number
}

/** Reads the messages of ranges in the outbox, with one range scan for each conversation. */
export class StoredMessages implements MessageReader {
  readonly #range: Prepared<RangeParams, RangeRow>

  constructor(private readonly database: Database) {
    this.#range = database.prepared((db, param) =>
      db
        .selectFrom('messages')
        .select(['msg_id', 'seq', 'sender_id', 'sender_device_sn', 'content_type'])
        .select(['content', 'attachment', 'config', 'ext', 'is_system'])
        .select(sentAtOf('messages').as('sent_at'))
        .where('app_id', '=', param('appId'))
        .where('low_id', '=', param('lowId'))
        .where('high_id', '=', param('highId'))
        .where('msg_id', '>=', param('firstId'))
        .where('msg_id', '<=', param('lastId'))
        .orderBy('msg_id'),
    )
  }

  count(payload: string): number {
    return decodeRanges('', payload).reduce((sum, { count }) => sum + count, 0)
  }

  logs(payload: string): Conversation[] {
    return decodeRanges('', payload).map(({ conversation }) => conversation)
  }

  async read(appId: string, payload: string): Promise<EventPayloads['message.stored'][]> {
    const ranges = decodeRanges(appId, payload)
    const messages = await this.database.read((db) =>
      Promise.all(
        ranges.map(({ conversation: { lowId, highId }, firstId, lastId }) =>
          this.#range.all(db, { appId, lowId, highId, firstId, lastId }),
        ),
      ),
    )
    return messages.flatMap((rows, index) =>
      rows.map((row) => messageStored((ranges[index] as MessageRange).conversation, row)),
    )
  }
}

function messageStored(
  conversation: Conversation,
  { is_system, ...message }: RangeRow,
): EventPayloads['message.stored'] {
  return {
    conversation: toEventConversation(conversation),
    ...message,
    is_system: is_system === 1,
  }
}
