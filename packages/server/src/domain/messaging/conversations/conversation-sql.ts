/** SQL fragments about conversations `c` and the users who take part in them. */
import type { Int64 } from '@hermod/protocol'
import type { Queryable } from '../../../db/database.js'
import { type RawBuilder, sql } from '../../../db/kysely.js'
import {
  broadcastUserId,
  type ConversationKey,
  type Party,
  partyColumn,
} from '../model/conversation-model.js'
import type { StoredMessage } from '../model/message-model.js'
import type { HiddenPosition, ReceiptPosition } from '../model/reader-positions.js'

/** Condition on the key of a row, without an alias. */
export function isConversation({ appId, lowId, highId }: ConversationKey) {
  return sql<boolean>`app_id = ${appId} and low_id = ${lowId} and high_id = ${highId}`
}

/** Condition that a row belongs to the conversation `c`. @param table the alias of the row */
export const ofConversation = (table: string) =>
  sql.raw<boolean>(
    `${table}.app_id = c.app_id and ${table}.low_id = c.low_id and ${table}.high_id = c.high_id`,
  )

/** Condition that a user is a party of the direct conversation of a row. @param table the alias of the row */
export const isParty = (table: string, userId: Int64) =>
  sql<boolean>`(${sql.ref(`${table}.low_id`)} = ${userId} or ${sql.ref(`${table}.high_id`)} = ${userId})`

/** Condition that a user may read the log of a row: as a party, as a member of the group, or because it holds broadcasts. @param table the alias of the row */
export const isReader = (table: string, userId: Int64) =>
  sql<boolean>`(${sql.ref(`${table}.low_id`)} = ${broadcastUserId} or ${isParty(table, userId)} or exists (select 1 from group_members as reader
    where reader.app_id = ${sql.ref(`${table}.app_id`)} and reader.group_id = ${sql.ref(`${table}.low_id`)} and reader.user_id = ${userId}))`

/** The columns of a {@link StoredMessage}. @param table the alias of the row */
export const storedColumns = <Table extends string>(table: Table) =>
  [
    `${table}.msg_id as messageId`,
    `${table}.seq`,
    `${table}.sender_id as senderId`,
    `${table}.sender_device_sn as senderDeviceSn`,
    `${table}.content_type as contentType`,
    `${table}.content`,
    `${table}.attachment`,
    `${table}.config`,
    `${table}.ext`,
    `${table}.is_system as isSystem`,
    `${table}.edited_at as editedAt`,
    `${table}.sent_at as sentAt`,
    sql<string | null>`cast(${sql.ref(`${table}.transaction_id`)} as text)`.as('transactionId'),
  ] as const

/** The column of `c` that belongs to the user of `p`. */
export const ownColumn = (
  name: ReceiptPosition | 'seen_seq' | HiddenPosition,
): RawBuilder<number> => {
  const column = (party: Party) => sql.ref(`c.${partyColumn(party, name)}`)
  return sql<number>`case when c.low_id = p.user_id then ${column('first')} else ${column('second')} end`
}

/** The column of `c` that belongs to the other party than the user of `p`; in the conversation with oneself to the first one. */
export const peerColumn = (name: ReceiptPosition): RawBuilder<number> => {
  const column = (party: Party) => sql.ref(`c.${partyColumn(party, name)}`)
  return sql<number>`case when c.high_id = p.user_id then ${column('first')} else ${column('second')} end`
}

/** The bytes of the texts of a message; the texts themselves are not read. @param table the alias of the row */
export const textBytesOf = (table: string) => {
  const [content, attachment, config, ext] = ['content', 'attachment', 'config', 'ext'].map(
    (column) => sql.ref(`${table}.${column}`),
  )
  return sql<number>`octet_length(${content}) + octet_length(${attachment}) + octet_length(${config}) + octet_length(${ext})`
}

/** The newest message that the log of `c` holds, null when it is empty. The log is read only when the last message was recalled. */
export const latestMessageId = sql<number>`case when c.removed_seq = c.seq then null when c.last_recalled_seq < c.seq then c.last_msg_id
  else (select max(m.msg_id) from messages m where ${ofConversation('m')}) end`

/** The bytes of the newest message that the log of `c` ever held; null when it is gone. */
export const latestBytes = sql<
  number | null
>`(select ${textBytesOf('m')} from messages m where ${ofConversation('m')} and m.msg_id = c.last_msg_id)`

/** The hidden position of a party of the direct conversation `c`: messages up to it are hidden. */
export const hiddenFrom = (userId: Int64) =>
  sql<number>`case when c.low_id = ${userId} then c.low_hidden_msg_id else c.high_hidden_msg_id end`

/** The hidden position of the member `p`. Where history_visible is off it is at least the last message before the join (rule F4a). */
export const hiddenInGroup = sql<number>`case when g.history_visible = 1 or p.joined_msg_id < p.hidden_msg_id then p.hidden_msg_id else p.joined_msg_id end`

/** Direct conversations `c` of users `p`. */
export function joinedConversations(db: Queryable) {
  return db
    .selectFrom('user_conversations as p')
    .innerJoin('conversations as c', (join) =>
      join
        .onRef('c.app_id', '=', 'p.app_id')
        .onRef('c.low_id', '=', 'p.low_id')
        .onRef('c.high_id', '=', 'p.high_id'),
    )
}

/** Members `p` of groups `g`. */
export function memberships(db: Queryable) {
  return db
    .selectFrom('group_members as p')
    .innerJoin('groups as g', (join) =>
      join.onRef('g.app_id', '=', 'p.app_id').onRef('g.group_id', '=', 'p.group_id'),
    )
}

/** Members `p` of groups `g` that have a conversation `c`. */
export function joinedGroups(db: Queryable) {
  return memberships(db).innerJoin('conversations as c', (join) =>
    join
      .onRef('c.app_id', '=', 'p.app_id')
      .onRef('c.low_id', '=', 'p.group_id')
      .onRef('c.high_id', '=', 'p.group_id'),
  )
}
