import type { Int64 } from '@hermod/protocol'
import { type Procedure, type ProcedureContext, ProcedureRestart } from '../../db/procedure.js'
import type { ConversationsTable, SentTransactionsTable } from '../../db/schema.js'
import { timestampOf } from '../../lib/ids.js'
import { type ConversationKey, compareConversations, conversationText } from '../conversations/conversation-model.js'
import { type MessageRow, rowValue } from './message-model.js'
import {
  addToLists,
  advanceConversations,
  claimTransactions,
  findTransactions,
  insertMessages,
  rewriteTransactions,
  setLastMessageIds,
} from './message-statements.js'

/** The messages of one send; they are stored together or not at all. */
export interface Submission {
  /** null = the send is not to be recognised again. */
  readonly transactionId: Int64 | null
  /** With message IDs that ascend over the batch, and without positions. */
  readonly rows: readonly MessageRow[]
}

export interface Batch {
  readonly submissions: readonly Submission[]
  /** Milliseconds since 1970. */
  readonly now: number
  readonly transactionLifeMs: number
}

/**
 * Lends new message IDs where the given ones turn out to be too small. Without a lender the procedure ends in a ProcedureRestart with
 * the ID to be exceeded.
 */
export interface IdLender {
  /** @returns IDs above `after`, ascending */
  take(count: number, after: number): Promise<readonly number[]>
}

type Position = Pick<ConversationsTable, 'app_id' | 'low_id' | 'high_id' | 'seq' | 'last_msg_id'>
/** The transaction ID is text in what the database returns. */
type TransactionKey = Pick<SentTransactionsTable, 'app_id' | 'sender_id'> & { readonly transaction_id: Int64 | string }
type KnownTransaction = TransactionKey & Pick<SentTransactionsTable, 'msg_ids'>

interface Planned {
  readonly transaction: TransactionKey | null
  readonly rows: readonly MessageRow[]
}

interface ConversationRows {
  readonly conversation: ConversationKey
  readonly text: string
  readonly rows: MessageRow[]
}

/**
 * Stores a batch of sends: conversation positions, messages, read marks and the memory of transaction IDs (decisions E2 to E5). The
 * output holds the message IDs of every submission in the order of the batch; of a repeated send those of the first one.
 */
export const storeBatch: Procedure<Batch, readonly (readonly number[])[], IdLender> = {
  module: import.meta.url,
  name: 'storeBatch',
  async run(context, { submissions, now, transactionLifeMs }, lender) {
    const planned = submissions.map(plan)
    const { originals, repeats } = splitRepeats(planned)
    const times = [now, now + transactionLifeMs]
    const known = await claim(context, originals, times)
    const fresh = known.size === 0 ? originals : originals.filter((each) => !known.has(each))
    await place(context, fresh, times, lender)
    const idsOf = (each: Planned): readonly number[] => known.get(each) ?? each.rows.map(rowValue.messageId)
    return planned.map((each) => idsOf(repeats.get(each) ?? each))
  },
}

function plan({ transactionId, rows }: Submission): Planned {
  const [first] = rows
  if (transactionId === null || !first) return { transaction: null, rows }
  const { appId } = rowValue.conversation(first)
  return { transaction: { app_id: appId, sender_id: rowValue.senderId(first), transaction_id: transactionId }, rows }
}

/** Sends of one batch with the same transaction ID: the first one counts. */
function splitRepeats(planned: readonly Planned[]): { originals: readonly Planned[]; repeats: ReadonlyMap<Planned, Planned> } {
  const byText = new Map<string, Planned>()
  const repeats = new Map<Planned, Planned>()
  for (const each of planned) {
    if (!each.transaction) continue
    const text = transactionText(each.transaction)
    const original = byText.get(text)
    if (original) repeats.set(each, original)
    else byText.set(text, each)
  }
  return { originals: repeats.size === 0 ? planned : planned.filter((each) => !repeats.has(each)), repeats }
}

/** @returns the message IDs of the sends that were stored before; all others are claimed now */
async function claim(
  context: ProcedureContext,
  planned: readonly Planned[],
  times: readonly number[],
): Promise<ReadonlyMap<Planned, readonly number[]>> {
  const rows = transactionRows(planned, times)
  const claimed = await context.run<TransactionKey>(claimTransactions, rows)
  if (claimed.length === rows.length) return new Map()
  const claimedTexts = new Set(claimed.map(transactionText))
  const repeated = planned.filter(({ transaction }) => transaction && !claimedTexts.has(transactionText(transaction)))
  const keys = repeated.map(({ transaction }) => transaction as TransactionKey)
  const found = await context.run<KnownTransaction>(
    findTransactions,
    keys.map((key) => [key.app_id, key.transaction_id, key.sender_id]),
  )
  const idsByText = new Map(found.map((row) => [transactionText(row), JSON.parse(row.msg_ids) as number[]]))
  return new Map(
    repeated.map((each, index) => {
      const ids = idsByText.get(transactionText(keys[index] as TransactionKey))
      if (!ids) throw new Error('a claimed transaction ID has vanished')
      return [each, ids]
    }),
  )
}

/** Gives the messages their positions and stores them with the marks that a send moves. */
async function place(
  context: ProcedureContext,
  fresh: readonly Planned[],
  times: readonly number[],
  lender: IdLender | null,
): Promise<void> {
  const conversations = groupByConversation(fresh)
  const positions = await context.run<Position>(
    advanceConversations,
    conversations.map((group) => advanceRow(group)),
  )
  const positionByText = new Map(positions.map((position) => [positionText(position), position]))
  const moved: ConversationRows[] = []
  const begun: ConversationKey[] = []
  let isRenumbered = false
  for (const group of conversations) {
    const { rows } = group
    const position = positionByText.get(group.text)
    if (!position) throw new Error('a conversation has vanished')
    const isBehind = position.last_msg_id !== rowValue.messageId(firstOf(rows))
    if (isBehind) await renumber(rows, position.last_msg_id, lender)
    if (isBehind || rows.length > 1) moved.push(group)
    if (position.seq === rows.length) begun.push(group.conversation)
    isRenumbered ||= isBehind
    for (const [index, row] of rows.entries()) rowValue.setSeq(row, position.seq - rows.length + 1 + index)
  }
  await context.run(
    setLastMessageIds,
    moved.map(({ conversation, rows }) => positionRow(conversation, [0, rowValue.messageId(rows.at(-1) as MessageRow), 0, 0, 0])),
  )
  if (isRenumbered) await context.run(rewriteTransactions, transactionRows(fresh, times))
  await context.run(
    insertMessages,
    conversations.flatMap(({ rows }) => rows),
  )
  await context.run(addToLists, begun.flatMap(listRows))
}

/** Another clock is ahead, or was: the new messages take IDs above what the conversation holds (decision E3). */
async function renumber(rows: readonly MessageRow[], after: number, lender: IdLender | null): Promise<void> {
  if (!lender) throw new ProcedureRestart(after)
  const ids = await lender.take(rows.length, after)
  for (const [index, row] of rows.entries()) rowValue.setMessageId(row, ids[index] as number)
}

function groupByConversation(planned: readonly Planned[]): ConversationRows[] {
  const groups = new Map<string, ConversationRows>()
  for (const { rows } of planned) {
    for (const row of rows) {
      const conversation = rowValue.conversation(row)
      const text = conversationText(conversation)
      const group = groups.get(text)
      if (group) group.rows.push(row)
      else groups.set(text, { conversation, text, rows: [row] })
    }
  }
  return [...groups.values()].sort((a, b) => compareConversations(a.conversation, b.conversation))
}

function transactionRows(planned: readonly Planned[], times: readonly number[]): (readonly unknown[])[] {
  return planned
    .flatMap(({ transaction, rows }) => {
      if (!transaction) return []
      const messageIds = JSON.stringify(rows.map(rowValue.messageId))
      const row = [transaction.app_id, transaction.transaction_id, transaction.sender_id, messageIds, ...times]
      return [{ text: transactionText(transaction), row }]
    })
    .sort((a, b) => compareTexts(a.text, b.text))
    .map(({ row }) => row)
}

type PositionValues = readonly [seq: number, lastMessageId: number, createdAt: number, lowReadSeq: number, highReadSeq: number]

function positionRow({ appId, lowId, highId }: ConversationKey, values: PositionValues): readonly unknown[] {
  return [appId, lowId, highId, ...values]
}

function advanceRow({ conversation, rows }: ConversationRows): readonly unknown[] {
  const firstId = rowValue.messageId(firstOf(rows))
  const lastOf = (partyId: Int64) => rows.findLastIndex((row) => rowValue.senderId(row) === partyId) + 1
  return positionRow(conversation, [rows.length, firstId, timestampOf(firstId), lastOf(conversation.lowId), lastOf(conversation.highId)])
}

function listRows({ appId, lowId, highId }: ConversationKey): (readonly unknown[])[] {
  // Nobody reads for the system, user 0.
  const parties = lowId === highId || lowId === 0 ? [highId] : [lowId, highId]
  return parties.map((partyId) => [appId, partyId, lowId, highId])
}

function firstOf(rows: readonly MessageRow[]): MessageRow {
  return rows[0] as MessageRow
}

function transactionText({ app_id, sender_id, transaction_id }: TransactionKey): string {
  return `${app_id}/${sender_id}/${transaction_id}`
}

function positionText({ app_id, low_id, high_id }: Position): string {
  return conversationText({ appId: app_id, lowId: low_id, highId: high_id })
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
