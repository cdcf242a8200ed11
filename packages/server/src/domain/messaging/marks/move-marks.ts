import type { Int64 } from '@hermod/protocol'
import type { EventPayloads } from '@hermod/protocol/events'
import type { LastStatement, Procedure, ProcedureContext } from '../../../db/procedure.js'
import { rowOf } from '../../../db/rows.js'
import { compare } from '../../../lib/compare.js'
import { appendToOutbox, type NewRow } from '../../../outbox/outbox-statements.js'
import {
  lockMemberMarks,
  memberKeyRow,
  setMemberMarks,
  writtenMemberMarkColumns,
} from '../../groups/membership/member-statements.js'
import type { UserKey } from '../../users/user-model.js'
import { lockPresence } from '../../users/user-statements.js'
import type { BroadcastReader } from '../conversations/broadcast-streams.js'
import {
  conversationKeyRow,
  lockFurthestReaders,
  lockMarks,
  setFurthestReaders,
  setMarks,
  writtenMarkColumns,
  writtenReaderColumns,
} from '../conversations/conversation-statements.js'
import {
  type ConversationKey,
  compareConversations,
  type Party,
  partyColumn,
} from '../model/conversation-model.js'
import type { ReceiptPosition } from '../model/reader-positions.js'
import {
  addBroadcastMarks,
  addedBroadcastMarks,
  broadcastMarkKey,
  findBroadcastMarks,
  lockBroadcastMarks,
  setBroadcastMarks,
  writtenBroadcastMarkColumns,
} from './broadcast-mark-statements.js'
import { type FurthestReaders, withReader } from './furthest-readers.js'
import type { ReceiptRequest } from './receipt-request-store.js'

/** What is told when a mark has moved. */
export interface MarkEvent {
  readonly kind: 'message.read' | 'message.delivered'
  readonly payload: EventPayloads['message.read']
}

/** A mark of a party that is to move forward, never back. */
export interface DirectMove {
  readonly conversation: ConversationKey
  readonly party: Party
  readonly mark: ReceiptPosition
  /** null = to the end of the conversation; then the event names its last message. */
  readonly seq: number | null
  readonly event: MarkEvent
}

/**
 * A mark of a member of a group. It names its position, so that the conversation is locked only where it becomes one of the two that
 * have read furthest.
 */
export interface GroupMove {
  readonly conversation: ConversationKey
  readonly userId: Int64
  readonly mark: ReceiptPosition
  readonly seq: number
  /** The conversation's row may have to say that the member has read further. */
  readonly isFurther: boolean
  readonly event: MarkEvent
  /** Whether the event is told, or only the receipts are. */
  readonly isTold: boolean
  /** Up to the position, in their order. Each is told to its sender, if it is above the mark. */
  readonly receipts: readonly ReceiptRequest[]
}

/** A mark of a user in a broadcast stream, whose row comes with the first of them. */
export interface BroadcastMove {
  readonly conversation: ConversationKey
  readonly userId: Int64
  readonly mark: ReceiptPosition
  readonly seq: number
  /** Nothing up to and including this position is unread to the user now. */
  readonly seen: number
  readonly event: MarkEvent
  readonly isTold: boolean
}

export type MarkMove = DirectMove | GroupMove | BroadcastMove

/** Moves of one caller, made together. */
export interface MarkMoves {
  readonly moves: readonly MarkMove[]
  /** Told before the moves when one of them has moved a mark. */
  readonly announcement: NewRow | null
}

interface DirectMarks {
  readonly app_id: string
  readonly low_id: Int64
  readonly high_id: Int64
  /** 0 or 1; 1 = one of the parties is deleted */
  readonly closed: number
  readonly seq: number
  readonly last_msg_id: number
  low_read_seq: number
  high_read_seq: number
  low_seen_seq: number
  high_seen_seq: number
  low_delivered_seq: number
  high_delivered_seq: number
}

type ReadersRow = Pick<DirectMarks, 'app_id' | 'low_id' | 'high_id'> & FurthestReaders

interface LockedMember {
  readonly app_id: string
  readonly group_id: Int64
  readonly user_id: Int64
  read_seq: number
  seen_seq: number
  acked_seq: number
  delivered_seq: number
}

interface LockedBroadcastMarks {
  readonly app_id: string
  readonly user_id: Int64
  readonly sender_id: Int64
  seen_seq: number
  read_seq: number
  delivered_seq: number
}

/** The rows that moves are about, as they are now and as they are to be written. */
interface LockedRows {
  readonly direct: ReadonlyMap<string, DirectMarks>
  readonly members: ReadonlyMap<string, LockedMember>
  readonly readers: ReadonlyMap<string, ReadersRow>
  readonly broadcasts: ReadonlyMap<string, LockedBroadcastMarks>
  /** Moves of users who are deleted, which are not made; those of other conversations find no row of the user. */
  readonly refused: ReadonlySet<DirectMove>
  readonly changed: {
    readonly direct: Set<DirectMarks>
    readonly members: Set<LockedMember>
    readonly readers: Set<ReadersRow>
    readonly broadcasts: Set<LockedBroadcastMarks>
  }
}

/**
 * Moves marks of many callers, as if one after another in their order, and tells of each that has moved (rules E5, E6). The output says
 * for each caller whether a mark has moved; one of a conversation or member that is not there, or of a user who is deleted, has not.
 */
export const moveMarks: Procedure<
  { readonly callers: readonly MarkMoves[]; readonly now: number },
  readonly boolean[]
> = {
  module: import.meta.url,
  name: 'moveMarks',
  async run(context, { callers, now }) {
    const rows = await lockRows(
      context,
      callers.flatMap(({ moves }) => moves),
    )
    const told: NewRow[] = []
    const output = callers.map((caller) => {
      const events = moveAll(rows, caller)
      for (const event of events ?? []) told.push(event)
      return events !== null
    })
    return { last: [...writtenRows(rows), appendToOutbox(told, now)], output: () => output }
  },
}

/**
 * In the order in which everybody locks: conversations of users, users and their marks in broadcasts, conversations of groups, members;
 * each by key.
 */
async function lockRows(
  context: ProcedureContext,
  moves: readonly MarkMove[],
): Promise<LockedRows> {
  const direct = moves.filter(isDirect)
  const ofGroups = moves.filter(isInGroup)
  const further = ofGroups.filter(({ isFurther }) => isFurther)
  const directRows = await context.run<DirectMarks>(lockMarks, conversationKeys(direct))
  const directByKey = new Map(directRows.map((row) => [rowText(row), row]))
  const refused = await movesOfDeleted(context, direct, directByKey)
  const ofBroadcasts = moves.filter(isOfBroadcasts)
  const broadcastRows =
    ofBroadcasts.length === 0 ? [] : await lockBroadcastRows(context, ofBroadcasts)
  const readerRows = await context.run<ReadersRow>(lockFurthestReaders, conversationKeys(further))
  const memberRows = await context.run<LockedMember>(lockMemberMarks, memberKeys(ofGroups))
  return {
    direct: directByKey,
    refused,
    readers: new Map(readerRows.map((row) => [rowText(row), row])),
    members: new Map(
      memberRows.map((row) => [memberText(row.app_id, row.group_id, row.user_id), row]),
    ),
    broadcasts: new Map(
      broadcastRows.map((row) => [memberText(row.app_id, row.sender_id, row.user_id), row]),
    ),
    changed: { direct: new Set(), members: new Set(), readers: new Set(), broadcasts: new Set() },
  }
}

/** A deletion waits for the conversations of its user that are open. Of those that are closed, the other party may still be there. */
async function movesOfDeleted(
  context: ProcedureContext,
  moves: readonly DirectMove[],
  rows: ReadonlyMap<string, DirectMarks>,
): Promise<ReadonlySet<DirectMove>> {
  const closed = moves.filter(
    ({ conversation }) => rows.get(conversationText(conversation))?.closed === 1,
  )
  if (closed.length === 0) return new Set()
  const isPresent = await lockPresence(context, closed.map(markOwner))
  return new Set(closed.filter((move) => !isPresent(markOwner(move))))
}

async function lockBroadcastRows(
  context: ProcedureContext,
  moves: readonly BroadcastMove[],
): Promise<LockedBroadcastMarks[]> {
  const byText = new Map(
    moves.map((move) => {
      const { appId, highId } = move.conversation
      return [memberText(appId, highId, move.userId), move]
    }),
  )
  const inOrder = [...byText.values()].sort(
    (a, b) =>
      compare(a.conversation.appId, b.conversation.appId) ||
      compare(a.userId, b.userId) ||
      compare(a.conversation.highId, b.conversation.highId),
  )
  const keys = inOrder.map(broadcastMarkKeyRow)
  const found = await context.run<LockedBroadcastMarks>(findBroadcastMarks, keys)
  // Adding a row locks its user, which users whose rows are there are spared.
  if (found.length < keys.length)
    await context.change(
      addBroadcastMarks,
      inOrder.map((move) => addedBroadcastMarks(broadcastReaderOf(move), move.seen)),
    )
  return context.run<LockedBroadcastMarks>(lockBroadcastMarks, keys)
}

function writtenRows({ changed }: LockedRows): readonly LastStatement[] {
  return [
    { statement: setMarks, rows: [...changed.direct].map(marksRow) },
    { statement: setFurthestReaders, rows: [...changed.readers].map(readersRow) },
    { statement: setMemberMarks, rows: [...changed.members].map(memberMarksRow) },
    { statement: setBroadcastMarks, rows: [...changed.broadcasts].map(broadcastMarksRow) },
  ]
}

/** @returns what is told; null when no mark has moved */
function moveAll(rows: LockedRows, { moves, announcement }: MarkMoves): NewRow[] | null {
  const events = moves.map((move) => {
    if (isDirect(move)) return moveDirect(rows, move)
    return isInGroup(move) ? moveInGroup(rows, move) : moveOfBroadcasts(rows, move)
  })
  if (events.every((each) => each === null)) return null
  return [announcement, ...events.flat()].filter((event) => event !== null)
}

/** @returns what is told; null when the mark is there already */
function moveDirect({ direct, refused, changed }: LockedRows, move: DirectMove): NewRow | null {
  if (refused.has(move)) return null
  const { conversation, party, mark, seq, event } = move
  const row = direct.get(conversationText(conversation))
  const to = seq ?? row?.seq ?? 0
  const column = partyColumn(party, mark)
  const seen = partyColumn(party, 'seen_seq')
  if (!row || to <= row[column]) return null
  row[column] = to
  if (mark === 'read_seq') row[seen] = Math.max(row[seen], to)
  changed.direct.add(row)
  return eventRow(
    move,
    seq === null ? { ...event.payload, msg_id: row.last_msg_id } : event.payload,
  )
}

/** @returns what is told; null when the mark is there already */
function moveInGroup(rows: LockedRows, move: GroupMove): NewRow[] | null {
  const { conversation, userId, mark, seq, event, isTold, receipts } = move
  const row = rows.members.get(memberText(conversation.appId, conversation.lowId, userId))
  // Reading counts as moved until it has been acknowledged, though the member's own sends have moved the mark before.
  const told = mark === 'read_seq' ? 'acked_seq' : mark
  const from = row?.[told] ?? seq
  if (!row || seq <= from) return null
  row[told] = seq
  rows.changed.members.add(row)
  if (mark === 'read_seq') {
    row.read_seq = Math.max(row.read_seq, seq)
    row.seen_seq = Math.max(row.seen_seq, seq)
    moveFurthest(rows, move)
  }
  const own = isTold ? [eventRow(move, event.payload)] : []
  const asked = receipts.filter((receipt) => receipt.seq > from)
  return [
    ...own,
    ...asked.map(({ senderId, messageId }) =>
      eventRow(move, { ...event.payload, user_ids: [senderId], msg_id: messageId }),
    ),
  ]
}

/** @returns what is told; null when the mark is there already */
function moveOfBroadcasts(
  { broadcasts, changed }: LockedRows,
  move: BroadcastMove,
): NewRow[] | null {
  const { conversation, userId, mark, seq, event, isTold } = move
  const row = broadcasts.get(memberText(conversation.appId, conversation.highId, userId))
  if (!row || seq <= row[mark]) return null
  row[mark] = seq
  if (mark === 'read_seq') row.seen_seq = Math.max(row.seen_seq, seq)
  changed.broadcasts.add(row)
  return isTold ? [eventRow(move, event.payload)] : []
}

function moveFurthest(
  { readers, changed }: LockedRows,
  { conversation, userId, seq }: GroupMove,
): void {
  const row = readers.get(conversationText(conversation))
  if (row) changed.readers.add(Object.assign(row, withReader(row, userId, seq)))
}

function eventRow({ conversation, event }: MarkMove, payload: MarkEvent['payload']): NewRow {
  return { appId: conversation.appId, kind: event.kind, payload: JSON.stringify(payload) }
}

function isDirect(move: MarkMove): move is DirectMove {
  return 'party' in move
}

function isInGroup(move: MarkMove): move is GroupMove {
  return 'receipts' in move
}

function isOfBroadcasts(move: MarkMove): move is BroadcastMove {
  return 'seen' in move
}

function conversationKeys(moves: readonly MarkMove[]): (readonly unknown[])[] {
  const byText = new Map(
    moves.map(({ conversation }) => [conversationText(conversation), conversation]),
  )
  return [...byText.values()].sort(compareConversations).map(conversationKeyRow)
}

function memberKeys(moves: readonly GroupMove[]): (readonly unknown[])[] {
  const byText = new Map(
    moves.map((move) => {
      const { appId, lowId } = move.conversation
      return [memberText(appId, lowId, move.userId), move]
    }),
  )
  return [...byText.values()]
    .sort(
      (a, b) => compareConversations(a.conversation, b.conversation) || compare(a.userId, b.userId),
    )
    .map(({ conversation: { appId, lowId: groupId }, userId }) =>
      memberKeyRow({ appId, groupId, userId }),
    )
}

const marksRow = rowOf(writtenMarkColumns, (row: DirectMarks) => ({
  low_read_seq: row.low_read_seq,
  high_read_seq: row.high_read_seq,
  low_seen_seq: row.low_seen_seq,
  high_seen_seq: row.high_seen_seq,
  low_delivered_seq: row.low_delivered_seq,
  high_delivered_seq: row.high_delivered_seq,
  app_id: row.app_id,
  low_id: row.low_id,
  high_id: row.high_id,
}))

const readersRow = rowOf(writtenReaderColumns, (row: ReadersRow) => ({
  reader_id: row.reader_id,
  low_read_seq: row.low_read_seq,
  high_read_seq: row.high_read_seq,
  app_id: row.app_id,
  low_id: row.low_id,
  high_id: row.high_id,
}))

const memberMarksRow = rowOf(writtenMemberMarkColumns, (row: LockedMember) => ({
  read_seq: row.read_seq,
  seen_seq: row.seen_seq,
  acked_seq: row.acked_seq,
  delivered_seq: row.delivered_seq,
  app_id: row.app_id,
  group_id: row.group_id,
  user_id: row.user_id,
}))

const broadcastMarkKeyRow = rowOf(
  broadcastMarkKey,
  ({ conversation: { appId, highId }, userId }: BroadcastMove) => ({
    app_id: appId,
    user_id: userId,
    sender_id: highId,
  }),
)

function broadcastReaderOf({
  conversation: { appId, highId },
  userId,
}: BroadcastMove): BroadcastReader {
  return { appId, userId, senderId: highId }
}

const broadcastMarksRow = rowOf(writtenBroadcastMarkColumns, (row: LockedBroadcastMarks) => ({
  seen_seq: row.seen_seq,
  read_seq: row.read_seq,
  delivered_seq: row.delivered_seq,
  app_id: row.app_id,
  user_id: row.user_id,
  sender_id: row.sender_id,
}))

function markOwner({ conversation: { appId, lowId, highId }, party }: DirectMove): UserKey {
  return { appId, userId: party === 'first' ? lowId : highId }
}

/** For maps. */
function conversationText({ appId, lowId, highId }: ConversationKey): string {
  return `${appId}/${lowId}/${highId}`
}

/** For maps. */
function rowText(row: Pick<DirectMarks, 'app_id' | 'low_id' | 'high_id'>): string {
  return conversationText({ appId: row.app_id, lowId: row.low_id, highId: row.high_id })
}

/** For maps. */
function memberText(appId: string, groupId: Int64, userId: Int64): string {
  return `${appId}/${groupId}/${userId}`
}
