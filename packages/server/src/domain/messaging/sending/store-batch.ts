import type { Int64 } from '@hermod/protocol'
import type { BulkInsert } from '../../../db/dialect/dialect.js'
import {
  type LastStatement,
  type Procedure,
  type ProcedureContext,
  RetryProcedure,
} from '../../../db/procedure.js'
import { rowOf } from '../../../db/rows.js'
import type { ConversationsTable, SentTransactionsTable } from '../../../db/schema.js'
import { chunksOf } from '../../../lib/chunks.js'
import { compare } from '../../../lib/compare.js'
import { groupBy } from '../../../lib/group-by.js'
import { timestampOf } from '../../../lib/ids/ids.js'
import { appendToOutbox, type NewRow, type OutboxHead } from '../../../outbox/outbox-statements.js'
import { advancedMemberColumns, advanceMembers } from '../../groups/membership/member-statements.js'
import { systemUserId } from '../../users/system-user.js'
import type { UserKey } from '../../users/user-model.js'
import { lockPresence } from '../../users/user-statements.js'
import {
  addToLists,
  advanceConversations,
  advanceGroupConversations,
  groupPositionColumns,
  listColumns,
  noteNotifications,
  notifiedColumns,
  positionColumns,
  setLastMessageIds,
} from '../conversations/conversation-statements.js'
import {
  insertMessages,
  insertOwnNotifications,
  ownNotificationColumns,
} from '../log/message-statements.js'
import {
  insertReceiptRequests,
  receiptRequestColumns,
} from '../marks/receipt-request-statements.js'
import {
  type ConversationKey,
  compareConversations,
  readersOf,
} from '../model/conversation-model.js'
import { type MessageRow, rowValue } from '../model/message-model.js'
import { encodeRanges, type MessageRange } from '../model/message-ranges.js'
import {
  claimTransactions,
  findTransactions,
  rewriteTransactions,
  transactionColumns,
  transactionKey,
} from '../transactions/transaction-statements.js'

/** The messages of one send; they are stored together or not at all. */
export interface Submission {
  /** null = the send is not to be recognised again. */
  readonly transactionId: Int64 | null
  /** With message IDs that ascend over the batch, and without positions. */
  readonly rows: readonly MessageRow[]
  /** Of messages to groups: for each row who is asked for a read receipt, as in receipt_requests; '' = nobody. */
  readonly groups?: readonly string[] | undefined
}

/** Sends that are stored in one transaction. */
export interface Batch {
  readonly submissions: readonly Submission[]
  /** Milliseconds since 1970. */
  readonly now: number
  readonly transactionLifeMs: number
  /** Some of them are expected to be there already. */
  readonly mayRepeat: boolean
}

/** What a batch has become. */
export interface StoredBatch {
  /** Of every submission in the order of the batch; of a repeated send those of the first one. */
  readonly messageIds: readonly (readonly number[])[]
  /** Of apps that have any, the last broadcast before these messages. */
  readonly lastBroadcasts: readonly { readonly appId: string; readonly messageId: number }[]
}

/** What a batch must be given to be run again. */
export interface BatchRestart {
  /** Message IDs above this one. */
  readonly idsAfter?: number
  /** Some of the sends are there already, though none was expected to be. */
  readonly repeats?: true
  /** Only what can be stored: for each submission the places of its messages whose sender or receiver is deleted. */
  readonly refused?: readonly (readonly number[])[]
}

/** Gives new message IDs where the given ones turn out to be too small. Without an idSource the procedure ends in a {@link BatchRestart}. */
export interface MessageIdSource {
  /**
   * Without waiting, because the procedure holds locks.
   * @returns IDs above `after`, ascending
   * @throws IdsRunOut
   */
  takeReserved(count: number, after: number): readonly number[]
}

type BatchPosition = Pick<
  ConversationsTable,
  'app_id' | 'low_id' | 'high_id' | 'seq' | 'last_msg_id'
>
type TransactionKey = Pick<SentTransactionsTable, 'app_id' | 'sender_id' | 'transaction_id'>
/** The transaction ID is text in what the database returns. */
type KnownTransaction = Omit<TransactionKey, 'transaction_id'> &
  Pick<SentTransactionsTable, 'msg_ids'> & { readonly transaction_id: string }

interface Planned extends Pick<Submission, 'rows' | 'groups'> {
  readonly transaction: TransactionKey | null
}

/** A send that is to be recognised again. */
interface Claim extends Planned {
  readonly transaction: TransactionKey
}

interface ConversationRows {
  readonly conversation: ConversationKey
  readonly isGroup: boolean
  readonly rows: MessageRow[]
  /** Those of the rows whose readers the sender wants to know, and who is asked. */
  readonly receipts: { readonly row: MessageRow; readonly memberIds: string }[]
}

/**
 * Stores a batch of sends: conversation positions, messages, read marks and the memory of transaction IDs (rules E2 to E5).
 *
 * What was checked before may have changed: a batch with messages from or to deleted users ends in a {@link BatchRestart}, and one with
 * IDs below those of a broadcast is refused by the database.
 *
 * Where an exchange with the database costs as much as a statement, sends are first taken to be new: then their transaction IDs and
 * their positions are asked for together.
 */
export const storeBatch: Procedure<Batch, StoredBatch, MessageIdSource> = {
  module: import.meta.url,
  name: 'storeBatch',
  async run(context, { submissions, now, transactionLifeMs, mayRepeat }, idSource) {
    const planned = submissions.map(plan)
    const claims = planned.filter(isClaim).sort(compareClaims)
    const repeats = repeatsAmong(claims)
    const originals = repeats.size === 0 ? claims : claims.filter((claim) => !repeats.has(claim))
    const times = [now, now + transactionLifeMs] as const
    const claimed = claim(context, originals, times)
    const waits = mayRepeat || !context.isRemote
    const known = waits ? await claimed : new Map<Planned, readonly number[]>()
    const isFresh = (each: Planned) => !known.has(each) && !repeats.has(each)
    const fresh = known.size + repeats.size === 0 ? planned : planned.filter(isFresh)
    const { refused, last } = await place(
      context,
      {
        fresh,
        claims: originals,
        times,
        isNew: waits ? null : claimed.then(({ size }) => size === 0),
      },
      idSource,
    )
    if (refused.length > 0) throw restartWithout(refused, planned)
    const idsOf = (each: Planned): readonly number[] =>
      known.get(each) ?? each.rows.map(rowValue.messageId)
    return {
      last,
      output: (results) => ({
        messageIds: planned.map((each) => idsOf(repeats.get(each) ?? each)),
        lastBroadcasts: ((results.at(-1) ?? []) as readonly OutboxHead[]).flatMap(
          ({ app_id: appId, last_broadcast_id: messageId }) =>
            messageId > 0 ? [{ appId, messageId }] : [],
        ),
      }),
    }
  },
}

function plan({ transactionId, rows, groups }: Submission): Planned {
  const [first] = rows
  if (transactionId === null || !first) return { transaction: null, rows, groups }
  const { appId } = rowValue.conversation(first)
  return {
    transaction: {
      app_id: appId,
      sender_id: rowValue.senderId(first),
      transaction_id: transactionId,
    },
    rows,
    groups,
  }
}

function isClaim(each: Planned): each is Claim {
  return each.transaction !== null
}

function compareClaims({ transaction: a }: Claim, { transaction: b }: Claim): number {
  return (
    compare(a.app_id, b.app_id) ||
    compare(a.sender_id, b.sender_id) ||
    compare(a.transaction_id, b.transaction_id)
  )
}

/** Sends of one batch with the same transaction ID: the first one counts. @returns the others, with that one */
function repeatsAmong(sorted: readonly Claim[]): ReadonlyMap<Planned, Planned> {
  const repeats = new Map<Planned, Planned>()
  let original: Claim | undefined
  for (const each of sorted) {
    if (original && compareClaims(original, each) === 0) repeats.set(each, original)
    else original = each
  }
  return repeats
}

/** @returns the message IDs of the sends that were stored before; all others are claimed now */
async function claim(
  context: ProcedureContext,
  claims: readonly Claim[],
  times: readonly [now: number, expiresAt: number],
): Promise<ReadonlyMap<Planned, readonly number[]>> {
  if ((await context.change(claimTransactions, transactionRows(claims, times))) === claims.length)
    return new Map()
  const found = await context.run<KnownTransaction>(findTransactions, claims.map(transactionKeyRow))
  const idsByText = new Map(found.map((row) => [transactionText(row), row.msg_ids]))
  const known = new Map<Planned, readonly number[]>()
  for (const each of claims) {
    const ids = idsByText.get(transactionText(each.transaction))
    if (ids === undefined) throw new Error('a claimed transaction ID has vanished')
    if (ids !== messageIdsText(each)) known.set(each, JSON.parse(ids) as number[])
  }
  return known
}

interface Placement {
  readonly fresh: readonly Planned[]
  readonly claims: readonly Claim[]
  readonly times: readonly [now: number, expiresAt: number]
  /** Whether the sends turn out not to be there already; null: they are known not to be. */
  readonly isNew: Promise<boolean> | null
}

interface Placed {
  /** Those whose sender or receiver is deleted; then the rest is not stored as it should be. */
  readonly refused: readonly MessageRow[]
  /** The statement that appends to the outbox is the last one. */
  readonly last: readonly LastStatement[]
}

/** Gives the messages their positions and stores them with the marks that a send moves. */
async function place(
  context: ProcedureContext,
  { fresh, claims, times, isNew }: Placement,
  idSource: MessageIdSource | null,
): Promise<Placed> {
  if (fresh.length === 0) return { refused: [], last: [] }
  const { direct, groups } = byConversation(fresh)
  const conversations = [...direct, ...groups]
  const [areNew, directPositions, groupPositions] = await Promise.all([
    isNew,
    positionsAfter(context, advanceConversations, direct.map(advanceRow)),
    positionsAfter(context, advanceGroupConversations, groups.map(advanceGroupRow)),
  ])
  if (areNew === false) throw new RetryProcedure({ repeats: true } satisfies BatchRestart)
  if (directPositions.length < direct.length)
    return { refused: rowsWithout(directPositions, direct), last: [] }
  const positions = [...directPositions, ...groupPositions]
  const moved: ConversationRows[] = []
  const begun: ConversationRows[] = []
  let isRenumbered = false
  for (const [index, group] of conversations.entries()) {
    const { rows } = group
    const position = positions[index]
    if (!position || compareConversations(keyOf(position), group.conversation) !== 0)
      throw new Error('a conversation has vanished')
    const isBehind = position.last_msg_id !== rowValue.messageId(firstOf(rows))
    if (isBehind) renumber(rows, position.last_msg_id, idSource)
    if (isBehind || rows.length > 1) moved.push(group)
    if (position.seq === rows.length && !group.isGroup) begun.push(group)
    isRenumbered ||= isBehind
    for (const [place, row] of rows.entries())
      rowValue.setSeq(row, position.seq - rows.length + 1 + place)
  }
  const notified = conversations.filter(hasNotifications).map(withNotifications)
  const listed = begun.flatMap(({ conversation }) =>
    readersOf(conversation).map((partyId) => listRow(conversation, partyId)),
  )
  const marks = groups.flatMap(senderMarkRows)
  const [listsMade, membersMoved] = await Promise.all([
    context.change(addToLists, listed),
    context.change(advanceMembers, marks),
  ])
  // A deletion closes the conversations and ends the memberships that are there, which the statements above wait for and see. So it is
  // asked who is deleted only where a new conversation was not listed, and for senders who are no members any more or moved no mark.
  const refused = await rowsOfDeleted(context, [
    ...(listsMade === listed.length ? [] : begun),
    ...(membersMoved < marks.length ? groups : notified.filter(({ isGroup }) => isGroup)),
  ])
  if (refused.length > 0) return { refused, last: [] }
  const isFresh = new Set<Planned>(isRenumbered ? fresh : [])
  const renumbered = claims.filter((each) => isFresh.has(each))
  return {
    refused,
    last: [
      { statement: setLastMessageIds, rows: moved.map(lastIdRow) },
      { statement: rewriteTransactions, rows: transactionRows(renumbered, times) },
      { statement: insertMessages, rows: conversations.flatMap(({ rows }) => rows) },
      { statement: insertOwnNotifications, rows: notified.flatMap(ownNotificationRows) },
      { statement: noteNotifications, rows: notified.map(notifiedRow) },
      { statement: insertReceiptRequests, rows: groups.flatMap(receiptRows) },
      appendToOutbox(outboxRows(conversations), times[0]),
    ],
  }
}

/** Few enough for a row that both databases keep in one piece. */
const rangesPerRow = 32

function outboxRows(conversations: readonly ConversationRows[]): NewRow[] {
  const byApp = groupBy(conversations, ({ conversation }) => conversation.appId)
  return [...byApp].flatMap(([appId, ofApp]) =>
    chunksOf(ofApp.map(rangeOf), rangesPerRow).map(
      (ranges): NewRow => ({
        appId,
        kind: 'message.stored',
        payload: encodeRanges(ranges),
        messageIds: {
          first: Math.min(...ranges.map(({ firstId }) => firstId)),
          last: Math.max(...ranges.map(({ lastId }) => lastId)),
        },
      }),
    ),
  )
}

/** Nobody else gives IDs to messages of the conversation between the first and the last: its row is locked. */
function rangeOf({ conversation, isGroup, rows }: ConversationRows): MessageRange {
  const { appId, lowId, highId } = conversation
  return {
    conversation: { appId, lowId, highId, isGroup },
    firstId: rowValue.messageId(firstOf(rows)),
    lastId: rowValue.messageId(rows.at(-1) as MessageRow),
    count: rows.length,
  }
}

/** Those of conversations that are closed. */
function rowsWithout(
  positions: readonly BatchPosition[],
  conversations: readonly ConversationRows[],
): MessageRow[] {
  let found = 0
  return conversations.flatMap(({ conversation, rows }) => {
    const position = positions[found]
    const isOpen = position && compareConversations(keyOf(position), conversation) === 0
    if (isOpen) found++
    return isOpen ? [] : rows
  })
}

async function rowsOfDeleted(
  context: ProcedureContext,
  conversations: readonly ConversationRows[],
): Promise<readonly MessageRow[]> {
  if (conversations.length === 0) return []
  const keysOf = (each: ConversationRows, row: MessageRow) =>
    usersOf(each, row).map((userId): UserKey => ({ appId: each.conversation.appId, userId }))
  const isPresent = await lockPresence(
    context,
    conversations.flatMap((each) => each.rows.flatMap((row) => keysOf(each, row))),
  )
  return conversations.flatMap((each) =>
    each.rows.filter((row) => keysOf(each, row).some((user) => isPresent(user) === false)),
  )
}

/** The users that a message cannot do without. */
function usersOf({ conversation, isGroup }: ConversationRows, row: MessageRow): readonly Int64[] {
  const users = isGroup ? [rowValue.senderId(row)] : readersOf(conversation)
  return users.filter((userId) => userId !== systemUserId)
}

function restartWithout(
  refused: readonly MessageRow[],
  planned: readonly Planned[],
): RetryProcedure {
  const isRefused = new Set(refused)
  const restart: BatchRestart = {
    refused: planned.map(({ rows }) =>
      rows.flatMap((row, index) => (isRefused.has(row) ? [index] : [])),
    ),
  }
  return new RetryProcedure(restart)
}

/** In the order of the rows. */
async function positionsAfter(
  context: ProcedureContext,
  statement: BulkInsert,
  rows: readonly (readonly unknown[])[],
): Promise<BatchPosition[]> {
  const positions = await context.run<BatchPosition>(statement, rows)
  return positions.sort((a, b) => compareConversations(keyOf(a), keyOf(b)))
}

/** Another clock is ahead, or was: the new messages take IDs above what the conversation holds (rule E3). */
function renumber(
  rows: readonly MessageRow[],
  after: number,
  idSource: MessageIdSource | null,
): void {
  if (!idSource) throw new RetryProcedure({ idsAfter: after } satisfies BatchRestart)
  const ids = idSource.takeReserved(rows.length, after)
  for (const [index, row] of rows.entries()) rowValue.setMessageId(row, ids[index] as number)
}

/**
 * In the order in which everybody locks conversations: those of users, then those of groups, each by key. The messages of each are in the
 * order of the batch.
 */
function byConversation(planned: readonly Planned[]): {
  readonly direct: ConversationRows[]
  readonly groups: ConversationRows[]
} {
  const messages = planned.flatMap(({ rows, groups }) =>
    rows.map((row, index) => ({
      row,
      conversation: rowValue.conversation(row),
      isGroup: groups !== undefined,
      memberIds: groups?.[index],
    })),
  )
  messages.sort((a, b) => compareConversations(a.conversation, b.conversation))
  const found: ConversationRows[] = []
  for (const { row, conversation, isGroup, memberIds } of messages) {
    const last = found.at(-1)
    if (last && compareConversations(last.conversation, conversation) === 0) last.rows.push(row)
    else found.push({ conversation, isGroup, rows: [row], receipts: [] })
    if (memberIds) found.at(-1)?.receipts.push({ row, memberIds })
  }
  return {
    direct: found.filter(({ isGroup }) => !isGroup),
    groups: found.filter(({ isGroup }) => isGroup),
  }
}

function transactionRows(
  claims: readonly Claim[],
  times: readonly [now: number, expiresAt: number],
): (readonly unknown[])[] {
  return claims.map((each) => transactionRow(each, times))
}

const transactionKeyRow = rowOf(transactionKey, ({ transaction }: Claim) => ({
  app_id: transaction.app_id,
  transaction_id: transaction.transaction_id,
  sender_id: transaction.sender_id,
}))

const transactionRow = rowOf(
  transactionColumns,
  (each: Claim, [now, expiresAt]: readonly [now: number, expiresAt: number]) => ({
    app_id: each.transaction.app_id,
    transaction_id: each.transaction.transaction_id,
    sender_id: each.transaction.sender_id,
    msg_ids: messageIdsText(each),
    created_at: now,
    expires_at: expiresAt,
  }),
)

function messageIdsText({ rows }: Planned): string {
  return JSON.stringify(rows.map(rowValue.messageId))
}

const advanceRow = rowOf(positionColumns, ({ conversation, rows }: ConversationRows) => {
  const { appId, lowId, highId } = conversation
  const firstId = rowValue.messageId(firstOf(rows))
  const lastOf = (partyId: Int64) => rows.findLastIndex((row) => readerOf(row) === partyId) + 1
  const [lowMark, highMark] = [lastOf(lowId), lastOf(highId)]
  return {
    app_id: appId,
    low_id: lowId,
    high_id: highId,
    seq: rows.length,
    last_msg_id: firstId,
    created_at: timestampOf(firstId),
    low_read_seq: lowMark,
    high_read_seq: highMark,
    low_seen_seq: lowMark,
    high_seen_seq: highMark,
  }
})

const lastIdRow = rowOf(
  positionColumns,
  ({ conversation: { appId, lowId, highId }, rows }: ConversationRows) => ({
    app_id: appId,
    low_id: lowId,
    high_id: highId,
    seq: 0,
    last_msg_id: rowValue.messageId(rows.at(-1) as MessageRow),
    created_at: 0,
    low_read_seq: 0,
    high_read_seq: 0,
    low_seen_seq: 0,
    high_seen_seq: 0,
  }),
)

const advanceGroupRow = rowOf(
  groupPositionColumns,
  ({ conversation: { appId, lowId, highId }, rows }: ConversationRows) => {
    const firstId = rowValue.messageId(firstOf(rows))
    const senders = rows.map(readerOf)
    const readerId = senders.findLast((senderId) => senderId !== systemUserId) ?? systemUserId
    const readTo = senders.lastIndexOf(readerId) + 1
    const othersReadTo =
      senders.findLastIndex((senderId) => senderId !== systemUserId && senderId !== readerId) + 1
    return {
      app_id: appId,
      low_id: lowId,
      high_id: highId,
      seq: rows.length,
      last_msg_id: firstId,
      created_at: timestampOf(firstId),
      reader_id: readerId,
      low_read_seq: readerId === systemUserId ? 0 : readTo,
      high_read_seq: othersReadTo,
    }
  },
)

/** Sending moves the sender's own marks (rule E5); in the order in which everybody locks members. */
function senderMarkRows({ conversation, rows }: ConversationRows): (readonly unknown[])[] {
  const marks = new Map(rows.map((row) => [readerOf(row), rowValue.seq(row)]))
  marks.delete(systemUserId)
  return [...marks]
    .sort(([a], [b]) => compare(a, b))
    .map(([userId, seq]) => senderMarkRow(conversation, userId, seq))
}

const senderMarkRow = rowOf(
  advancedMemberColumns,
  ({ appId, lowId: groupId }: ConversationKey, userId: Int64, seq: number) => ({
    read_seq: seq,
    seen_seq: seq,
    app_id: appId,
    group_id: groupId,
    user_id: userId,
  }),
)

/** Whose marks a message moves: its sender's, and nobody's where it is a notification. */
function readerOf(row: MessageRow): Int64 {
  return rowValue.isUsersNotification(row) ? systemUserId : rowValue.senderId(row)
}

function hasNotifications({ rows }: ConversationRows): boolean {
  return rows.some(rowValue.isUsersNotification)
}

function withNotifications(each: ConversationRows): ConversationRows {
  return { ...each, rows: each.rows.filter(rowValue.isUsersNotification) }
}

function ownNotificationRows({ conversation, rows }: ConversationRows): (readonly unknown[])[] {
  return rows.map((row) => ownNotificationRow(conversation, row))
}

const ownNotificationRow = rowOf(
  ownNotificationColumns,
  ({ appId, lowId, highId }: ConversationKey, row: MessageRow) => ({
    app_id: appId,
    low_id: lowId,
    high_id: highId,
    user_id: rowValue.senderId(row),
    seq: rowValue.seq(row),
    msg_id: rowValue.messageId(row),
  }),
)

const notifiedRow = rowOf(
  notifiedColumns,
  ({ conversation: { appId, lowId, highId }, rows }: ConversationRows) => ({
    last_notified_seq: rowValue.seq(rows.at(-1) as MessageRow),
    app_id: appId,
    low_id: lowId,
    high_id: highId,
  }),
)

function receiptRows({ conversation, receipts }: ConversationRows): (readonly unknown[])[] {
  return receipts.map((receipt) => receiptRow(conversation, receipt))
}

const receiptRow = rowOf(
  receiptRequestColumns,
  (
    { appId, lowId: groupId }: ConversationKey,
    { row, memberIds }: ConversationRows['receipts'][number],
  ) => ({
    app_id: appId,
    group_id: groupId,
    seq: rowValue.seq(row),
    msg_id: rowValue.messageId(row),
    sender_id: rowValue.senderId(row),
    member_ids: memberIds,
  }),
)

const listRow = rowOf(listColumns, ({ appId, lowId, highId }: ConversationKey, partyId: Int64) => ({
  app_id: appId,
  user_id: partyId,
  low_id: lowId,
  high_id: highId,
}))

function firstOf(rows: readonly MessageRow[]): MessageRow {
  return rows[0] as MessageRow
}

function keyOf({ app_id: appId, low_id: lowId, high_id: highId }: BatchPosition): ConversationKey {
  return { appId, lowId, highId }
}

/** For maps. */
function transactionText({
  app_id,
  sender_id,
  transaction_id,
}: TransactionKey | KnownTransaction): string {
  return `${app_id}/${sender_id}/${transaction_id}`
}
