/** SQL fragments about conversations and their messages. */
import { sql } from '../../../db/kysely.js'
import type { ConversationKey } from '../model/conversation-model.js'
import { quoteBytes } from '../model/quote-model.js'

/** Condition on the key of a row, without an alias. */
export function isConversation({ appId, lowId, highId }: ConversationKey) {
  return sql<boolean>`app_id = ${appId} and low_id = ${lowId} and high_id = ${highId}`
}

/**
 * Condition that two rows belong to the same conversation.
 * @param table the alias of one
 * @param other that of the other
 */
export const ofConversation = (table: string, other = 'c') =>
  sql.raw<boolean>(
    `${table}.app_id = ${other}.app_id and ${table}.low_id = ${other}.low_id and ${table}.high_id = ${other}.high_id`,
  )

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
    `${table}.fields`,
    `${table}.reply_to_id as replyToId`,
    `${table}.reply_to_seq as replyToSeq`,
  ] as const

/**
 * The bytes of the texts and fields of a message, and of the quote of a reply; these themselves are
 * not read.
 * @param table the alias of the row
 */
export const textBytesOf = (table: string) => {
  const [content, attachment, config, ext, fields] = [
    'content',
    'attachment',
    'config',
    'ext',
    'fields',
  ].map((column) => sql.ref(`${table}.${column}`))
  return sql<number>`octet_length(${content}) + octet_length(${attachment}) + octet_length(${config}) + octet_length(${ext})
    + coalesce(octet_length(${fields}), 0)
    + case when ${sql.ref(`${table}.reply_to_id`)} is null then 0 else ${sql.lit(quoteBytes)} end`
}
