import {
  type LastStatement,
  type Procedure,
  type ProcedureContext,
  RetryProcedure,
} from '../../../db/procedure.js'
import { leadOf } from '../../../lib/ids/ids.js'
import { keyText } from '../../../lib/ids/key-text.js'
import {
  appendToOutbox,
  type OutboxHead,
  positionsOfRows,
} from '../../../outbox/outbox-statements.js'
import { systemUserId } from '../../users/system-user.js'
import type { UserKey } from '../../users/user-model.js'
import { lockPresence } from '../../users/user-statements.js'
import {
  type AdvancedConversation,
  advanceConversations,
  idsAheadRow,
  lastMessageIdRow,
  lastNotifiedRow,
  setIdsAhead,
  setLastMessageIds,
  setLastNotified,
} from '../conversations/conversation-statements.js'
import {
  insertMessages,
  insertOwnNotifications,
  ownNotificationRow,
} from '../log/message-statements.js'
import { type ConversationKey, readersOf } from '../model/conversation-model.js'
import { type MessageRow, rowValue } from '../model/message-model.js'
import {
  insertReceiptRequests,
  receiptRequestRow,
} from '../positions/receipt-request-statements.js'
import {
  advanceReaders,
  insertedReaderRow,
  insertReaders,
  noStart,
  readerOf,
} from '../readers/reader-statements.js'
import { insertStreams, newStreamRow } from '../streams/stream-statements.js'
import {
  setTransactionMessages,
  transactionMessagesRow,
} from '../transactions/transaction-statements.js'
import type {
  BatchOfSends,
  BatchRetry,
  MessageIdSource,
  MessageNumbers,
  StoredBatch,
} from './batch-model.js'
import {
  type ClaimingSend,
  claim,
  claimsOf,
  messageIdsText,
  type PlannedSend,
  planSend,
} from './claims.js'
import {
  byConversation,
  type ConversationMessages,
  conversationRow,
  firstIdOf,
  lastIdOf,
  notificationsIn,
  outboxRow,
  rowContents,
  senderRows,
  timeOfRows,
} from './conversation-messages.js'

/**
 * Stores a batch of sends: positions, messages, the positions that sending moves, and transaction
 * IDs (rules E2 to E5).
 *
 * Earlier checks may be outdated: a batch with messages from or to deleted users ends in a
 * {@link BatchRetry}, and the outbox refuses a batch with IDs below the last broadcast.
 */
export const storeBatch: Procedure<BatchOfSends, StoredBatch, MessageIdSource> = {
  module: import.meta.url,
  name: 'storeBatch',
  async run(context, { submissions, now, transactionLifeMs, isFirstTry, wantsNumbers }, idSource) {
    const planned = submissions.map(planSend)
    const { originals, repeats } = claimsOf(planned)
    const times = { now, expiresAt: now + transactionLifeMs }
    const claimed = claim(context, originals, times)
    const assumesNew = isFirstTry && context.isRemote
    const known = assumesNew ? new Map<PlannedSend, readonly number[]>() : await claimed
    const fresh = planned.filter((send) => !known.has(send) && !repeats.has(send))
    const conversations = byConversation(fresh)
    const [before, ends] = await Promise.all([
      assumesNew ? claimed : null,
      takePositions(context, conversations),
    ])
    if (before && before.size > 0) throw retry({ hasRepeats: true })
    const refuse = (refused: readonly MessageRow[]) => {
      if (refused.length > 0) throw retry({ refused: indexesOf(refused, planned) })
    }
    const closed = conversations.filter((messages) => !endOf(ends, messages))
    refuse(closed.flatMap(({ rows }) => rows))
    const { begun, moved, ahead, isRenumbered } = numberMessages(conversations, ends, idSource)
    refuse(await updateReaders(context, conversations, begun))
    const renumbered = isRenumbered ? originals.filter((send) => !known.has(send)) : []
    const idsOf = (send: PlannedSend): readonly number[] =>
      known.get(send) ?? send.rows.map(rowValue.messageId)
    return {
      last: lastStatements(conversations, { moved, ahead, renumbered, now }),
      output: (results) => {
        const heads = (results.at(-1) ?? []) as readonly OutboxHead[]
        return {
          messageIds: planned.map((send) => idsOf(repeats.get(send) ?? send)),
          numbers: wantsNumbers ? numbersOf(planned, conversations, heads) : [],
          heads,
        }
      },
    }
  },
}

/**
 * Takes the next positions of the conversations.
 * @returns the new ends by key; closed conversations have none
 */
async function takePositions(
  context: ProcedureContext,
  conversations: readonly ConversationMessages[],
): Promise<ReadonlyMap<string, AdvancedConversation>> {
  const ends = await context.run<AdvancedConversation>(
    advanceConversations,
    conversations.map(conversationRow),
  )
  return new Map(ends.map((row) => [keyText(row.app_id, row.low_id, row.high_id), row]))
}

function endOf(
  ends: ReadonlyMap<string, AdvancedConversation>,
  { conversation: { appId, lowId, highId } }: ConversationMessages,
): AdvancedConversation | undefined {
  return ends.get(keyText(appId, lowId, highId))
}

interface ConversationLead {
  readonly conversation: ConversationKey
  readonly leadMs: number
}

interface NumberedMessages {
  /** Direct conversations that begin with these messages. */
  readonly begun: readonly ConversationMessages[]
  /** Conversations that end with another message than the offered one. */
  readonly moved: readonly ConversationMessages[]
  /** Conversations with a message ID that is further ahead of its time than any before. */
  readonly ahead: readonly ConversationLead[]
  /** Some messages have other IDs than offered. */
  readonly isRenumbered: boolean
}

/** Gives messages their positions, and greater IDs where another node's clock was ahead (rule E3). */
function numberMessages(
  conversations: readonly ConversationMessages[],
  ends: ReadonlyMap<string, AdvancedConversation>,
  idSource: MessageIdSource | null,
): NumberedMessages {
  const begun: ConversationMessages[] = []
  const moved: ConversationMessages[] = []
  const ahead: ConversationLead[] = []
  let isRenumbered = false
  for (const messages of conversations) {
    const { rows } = messages
    const end = endOf(ends, messages)
    if (!end) throw new Error('a conversation has vanished')
    const isBehind = end.last_msg_id !== firstIdOf(messages)
    if (isBehind) renumber(rows, end.last_msg_id, idSource)
    if (isBehind || rows.length > 1) moved.push(messages)
    if (end.seq === rows.length && !messages.isGroup) begun.push(messages)
    isRenumbered ||= isBehind
    messages.alterations = end.alterations
    const leadMs = leadOf(lastIdOf(messages), timeOfRows(messages))
    if (leadMs > end.ids_ahead_ms) ahead.push({ conversation: messages.conversation, leadMs })
    for (const [index, row] of rows.entries())
      rowValue.setSeq(row, end.seq - rows.length + 1 + index)
  }
  return { begun, moved, ahead, isRenumbered }
}

function renumber(
  rows: readonly MessageRow[],
  after: number,
  idSource: MessageIdSource | null,
): void {
  if (!idSource) throw retry({ idsAfter: after })
  const ids = idSource.takeReserved(rows.length, after)
  for (const [index, row] of rows.entries()) rowValue.setMessageId(row, ids[index] as number)
}

/**
 * Inserts the readers of begun conversations and moves the positions of senders in groups.
 *
 * The deletion of a user closes the open conversations and ends the memberships. The statements
 * here wait for it and show its result, so users are looked up only where no such row exists:
 * parties of new conversations, senders who are no members any more, and notifications in groups.
 * @returns messages with a deleted sender or receiver
 */
async function updateReaders(
  context: ProcedureContext,
  conversations: readonly ConversationMessages[],
  begun: readonly ConversationMessages[],
): Promise<readonly MessageRow[]> {
  const groups = conversations.filter(({ isGroup }) => isGroup)
  const readers = begun.flatMap(({ conversation }) =>
    readersOf(conversation).map((userId) =>
      insertedReaderRow(readerOf(conversation, userId), noStart),
    ),
  )
  const senders = groups.flatMap(senderRows)
  const [inserted, moved] = await Promise.all([
    context.change(insertReaders, readers),
    context.change(advanceReaders, senders),
  ])
  return rowsOfDeleted(context, [
    ...(inserted < readers.length ? begun : []),
    ...(moved < senders.length
      ? groups
      : groups.map((messages) => ({ ...messages, rows: notificationsIn(messages) }))),
  ])
}

async function rowsOfDeleted(
  context: ProcedureContext,
  conversations: readonly ConversationMessages[],
): Promise<readonly MessageRow[]> {
  const users = conversations.flatMap((messages) =>
    messages.rows.map((row) => ({ row, keys: requiredUsers(messages, row) })),
  )
  if (users.length === 0) return []
  const isPresent = await lockPresence(
    context,
    users.flatMap(({ keys }) => keys),
  )
  return users.flatMap(({ row, keys }) =>
    keys.some((user) => isPresent(user) === false) ? [row] : [],
  )
}

/** Users who must exist for a message to be stored. */
function requiredUsers(
  { conversation, isGroup }: ConversationMessages,
  row: MessageRow,
): readonly UserKey[] {
  const users = isGroup ? [rowValue.senderId(row)] : readersOf(conversation)
  return users
    .filter((userId) => userId !== systemUserId)
    .map((userId) => ({ appId: conversation.appId, userId }))
}

function lastStatements(
  conversations: readonly ConversationMessages[],
  {
    moved,
    ahead,
    renumbered,
    now,
  }: Pick<NumberedMessages, 'moved' | 'ahead'> & {
    readonly renumbered: readonly ClaimingSend[]
    readonly now: number
  },
): readonly LastStatement[] {
  if (conversations.length === 0) return []
  const notified = conversations
    .map((messages) => ({ ...messages, rows: notificationsIn(messages) }))
    .filter(({ rows }) => rows.length > 0)
  return [
    {
      statement: setLastMessageIds,
      rows: moved.map((messages) => lastMessageIdRow(messages.conversation, lastIdOf(messages))),
    },
    {
      statement: setIdsAhead,
      rows: ahead.map(({ conversation, leadMs }) => idsAheadRow(conversation, leadMs)),
    },
    {
      statement: setTransactionMessages,
      rows: renumbered.map((send) =>
        transactionMessagesRow(send.transaction, messageIdsText(send)),
      ),
    },
    { statement: insertMessages, rows: conversations.flatMap(({ rows }) => rows) },
    {
      statement: insertStreams,
      rows: conversations.flatMap(({ isGroup, rows }) =>
        rows.filter(rowValue.isStream).map((row) => newStreamRow(row, isGroup, now)),
      ),
    },
    {
      statement: insertOwnNotifications,
      rows: notified.flatMap(({ conversation, rows }) =>
        rows.map((row) => ownNotificationRow(conversation, row)),
      ),
    },
    {
      statement: setLastNotified,
      rows: notified.map(({ conversation, rows }) =>
        lastNotifiedRow(conversation, rowValue.seq(rows.at(-1) as MessageRow)),
      ),
    },
    {
      statement: insertReceiptRequests,
      rows: conversations.flatMap(({ conversation, receipts }) =>
        receipts.map(({ row, memberIds }) => receiptRequestRow(conversation, row, memberIds)),
      ),
    },
    appendToOutbox(rowContents(conversations).map(outboxRow), now),
  ]
}

/** @returns for each send the numbers of its messages; null when it was stored before */
function numbersOf(
  sends: readonly PlannedSend[],
  conversations: readonly ConversationMessages[],
  heads: readonly OutboxHead[],
): (readonly MessageNumbers[] | null)[] {
  const contents = rowContents(conversations)
  const positions = positionsOfRows(contents, heads)
  const numbers = new Map<MessageRow, MessageNumbers>()
  for (const [index, content] of contents.entries())
    for (const { rows, alterations } of content.conversations)
      for (const row of rows) {
        const seq = rowValue.seq(row)
        numbers.set(row, { position: positions[index] ?? 0, seq, change: seq + alterations })
      }
  return sends.map(({ rows }) => {
    const found = rows.flatMap((row) => numbers.get(row) ?? [])
    return found.length === rows.length ? found : null
  })
}

/** For each send the indexes of the refused messages among its rows. */
function indexesOf(refused: readonly MessageRow[], sends: readonly PlannedSend[]): number[][] {
  const isRefused = new Set(refused)
  return sends.map(({ rows }) => rows.flatMap((row, index) => (isRefused.has(row) ? [index] : [])))
}

function retry(detail: BatchRetry): RetryProcedure {
  return new RetryProcedure(detail)
}
