import type { Int64 } from '@hermod/protocol'
import type { Database, Queryable } from '../../../db/database.js'
import type { BulkSelect } from '../../../db/dialect/dialect.js'
import type { UserKey } from '../../users/user-model.js'
import type { ReadableLog } from '../conversations/readable-log.js'
import type { ConversationKey } from '../model/conversation-model.js'
import type { ReplyTo } from '../model/message-model.js'
import type { AnsweredMessage } from '../model/message-model.js'
import type { Quote } from '../model/quote-model.js'
import type { ReaderKey } from '../readers/reader-positions.js'
import { logOfReader, readerKeyOf } from '../readers/reader-sql.js'

/** Characters of the content of an original that a quote shows. */
const excerptCharacters = 200

const messageKey = {
  app_id: 'text',
  low_id: 'bigint',
  high_id: 'bigint',
  msg_id: 'bigint',
} as const

const ofReply = (alias: string) =>
  `${alias}.app_id = t.app_id and ${alias}.low_id = t.low_id and ${alias}.high_id = t.high_id and ${alias}.msg_id = t.reply_to_id`

/**
 * Selects the originals of replies `t`. Of hidden ones nothing is read.
 * @param isShown condition that the original is not hidden
 */
const originals = (isShown: string): Pick<BulkSelect, 'joins' | 'columns'> => ({
  joins: `left join messages m on ${ofReply('m')} and ${isShown}
    left join recalled_messages r on ${ofReply('r')} and ${isShown}`,
  columns: `t.reply_to_id as "messageId", t.reply_to_seq as "seq",
    case when not (${isShown}) then 'hidden' when m.msg_id is not null then 'present'
      when r.msg_id is not null then 'recalled' else 'removed' end as "state",
    coalesce(m.sender_id, r.sender_id) as "senderId", m.content_type as "contentType",
    substr(m.content, 1, ${excerptCharacters}) as "excerpt"`,
})

/** The last message that is hidden from the reader `p`, as in readers/reader-sql.ts. */
const hiddenMessageId = `case when p.start_msg_id <= p.hidden_msg_id then p.hidden_msg_id
  when exists (select 1 from groups g where g.app_id = p.app_id and g.group_id = p.low_id and g.history_visible = 1)
  then p.hidden_msg_id else p.start_msg_id end`

/** By the replies and a reader of their logs; no row for a log that the user does not read. */
const quotesOfReader: BulkSelect = {
  table: `(select p.app_id, p.low_id, p.high_id, p.user_id, ${hiddenMessageId} as hidden_msg_id,
    m.msg_id, m.reply_to_id, m.reply_to_seq from readers p join messages m
    on m.app_id = p.app_id and m.low_id = p.low_id and m.high_id = p.high_id)`,
  keys: { ...messageKey, user_id: 'bigint' },
  ...originals('t.reply_to_id > t.hidden_msg_id'),
}

/** By the replies, for callers who read all messages of a group. */
const quotesOfAll: BulkSelect = { table: 'messages', keys: messageKey, ...originals('1 = 1') }

/** Reads the messages that replies name. */
export class ReplyStore {
  readonly #original
  readonly #originalOfAll

  constructor(private readonly database: Database) {
    this.#original = database.prepared<ReaderKey & { messageId: Int64 }, ReplyTo>((db, param) =>
      logOfReader(db, param)
        .innerJoin('messages as m', (join) =>
          join
            .onRef('m.app_id', '=', 'l.app_id')
            .onRef('m.low_id', '=', 'l.low_id')
            .onRef('m.high_id', '=', 'l.high_id'),
        )
        .select(['m.msg_id as messageId', 'm.seq'])
        .where('m.app_id', '=', param('appId'))
        .where('m.low_id', '=', param('lowId'))
        .where('m.high_id', '=', param('highId'))
        .where('m.msg_id', '=', param('messageId') as number)
        .whereRef('m.msg_id', '>', 'l.hidden_msg_id'),
    )
    this.#originalOfAll = database.prepared<ConversationKey & { messageId: Int64 }, ReplyTo>(
      (db, param) =>
        db
          .selectFrom('messages as m')
          .select(['m.msg_id as messageId', 'm.seq'])
          .where('m.app_id', '=', param('appId'))
          .where('m.low_id', '=', param('lowId'))
          .where('m.high_id', '=', param('highId'))
          .where('m.msg_id', '=', param('messageId') as number),
    )
  }

  /** Finds a message that the reader of a log sees; null when there is none. */
  async findOriginal(db: Queryable, log: ReadableLog, messageId: Int64): Promise<ReplyTo | null> {
    return this.#original.first(db, { ...readerKeyOf(log), messageId })
  }

  /** Finds a message, whoever sees it; null when there is none. */
  async findOriginalOfAll(
    db: Queryable,
    { appId, lowId, highId }: ConversationKey,
    messageId: Int64,
  ): Promise<ReplyTo | null> {
    return this.#originalOfAll.first(db, { appId, lowId, highId, messageId })
  }

  /** Lists what a user sees of the originals of replies, in no particular order. */
  async listQuotes(
    db: Queryable,
    { userId }: UserKey,
    replies: readonly AnsweredMessage[],
  ): Promise<Quote[]> {
    return this.database.bulk<Quote>(
      db,
      quotesOfReader,
      replies.map((reply) => [...keyOf(reply), userId]),
    )
  }

  /** Lists the originals of replies for callers who read all messages of a group. */
  async listQuotesOfAll(db: Queryable, replies: readonly AnsweredMessage[]): Promise<Quote[]> {
    return this.database.bulk<Quote>(db, quotesOfAll, replies.map(keyOf))
  }
}

function keyOf({ conversation, message }: AnsweredMessage): unknown[] {
  const { appId, lowId, highId } = conversation
  return [appId, lowId, highId, message.messageId]
}
