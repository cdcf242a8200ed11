/**
 * Events of a log, as functions on its record. They read and store nothing: a fold collects what
 * they change. The rules are those of docs/guides/realtime.md.
 */
import { conversationOf, kindOf } from '../../model/log-key.js'
import { addRange, covers, removePosition } from '../ranges.js'
import {
  type Alteration,
  altered,
  combined,
  isWhole,
  ownField,
  textsOf,
} from '../../model/message-fields.js'
import type { LogKey, LogRecord, MessageRecord, SeqRange } from '../../model/records.js'
import type { FoldedChange } from './wire.js'

/** A log with what has been done to it since the fold began. */
export interface Fold {
  /** The log when the fold began. */
  readonly before: LogRecord
  /** The log now: the same object until the first change, then one copy that is changed in place. */
  record: LogRecord
  /** By position: a message to store, to remove, or stored with other fields. */
  readonly messages: Map<number, Alteration>
  /** True: all messages that were stored before are dropped. */
  isEmptied: boolean
  /** Messages up to this ID are dropped; 0: none. */
  hiddenMsgId: number
  /** Alterations of messages, stored or not: a page of history may be older. */
  readonly altered: Map<number, Alteration>
  /** Messages, stored or not, after their edits. */
  readonly edited: MessageRecord[]
  /** IDs of messages that were recalled. */
  readonly recalled: number[]
  /** When the head is requested that this fold needs; `spread`: all members of the group need it at once. */
  wait: 'none' | 'spread' | 'soon'
}

/** The user who reads the log. */
export interface FoldReader {
  readonly me: number
  /** Messages of the conversation up to this ID are read, because the user has answered later; 0: none. */
  readonly answeredMsgId: number
}

/** The copy of the record that a fold changes. */
type LogDraft = { -readonly [name in keyof LogRecord]: LogRecord[name] }

/** Positions that only grow while a log is the same. */
type Numbers = Pick<
  LogRecord,
  'seq' | 'readSeq' | 'deliveredSeq' | 'peerReadSeq' | 'peerDeliveredSeq'
>

/** `gap`: changes before it are missing. */
export type Applied = 'applied' | 'known' | 'gap'

const chatroom = 2
const dissolved = 1
const nothingReceived = 2

/** Returns a log without any change. */
export function emptyLog(key: LogKey, me: number): LogRecord {
  return {
    key,
    kind: kindOf(key),
    conversationId: conversationOf(key, me),
    change: 0,
    seq: 0,
    unread: 0,
    isHeadNeeded: false,
    readSeq: 0,
    deliveredSeq: 0,
    peerReadSeq: 0,
    peerDeliveredSeq: 0,
    hiddenMsgId: 0,
    ranges: [],
    last: null,
  }
}

/** Starts the changes of a log; the record stays as it is. */
export function beginFold(record: LogRecord): Fold {
  return {
    before: record,
    record,
    messages: new Map(),
    isEmptied: false,
    hiddenMsgId: 0,
    altered: new Map(),
    edited: [],
    recalled: [],
    wait: 'none',
  }
}

/** Returns the record to change. */
export function draftOf(fold: Fold): LogDraft {
  if (fold.record === fold.before) fold.record = { ...fold.before }
  return fold.record
}

/** Changes fields of the log that is folded. */
export function set(fold: Fold, changes: Partial<LogRecord>): void {
  Object.assign(draftOf(fold), changes)
}

/** Raises numbers of the log that are lower. */
export function raise(fold: Fold, numbers: Partial<Numbers>): void {
  for (const [name, value] of Object.entries(numbers))
    if (value > fold.record[name as keyof Numbers]) draftOf(fold)[name as keyof Numbers] = value
}

/** The newest visible message is not known any more. */
export function forgetLast(fold: Fold): void {
  delete draftOf(fold).last
}

/** Makes the server say the unread count and the positions. */
export function needHead(fold: Fold): void {
  fold.wait = 'soon'
  if (!fold.record.isHeadNeeded) draftOf(fold).isHeadNeeded = true
}

/** Does the same after an event for which all members of a group would ask at once. */
export function needSpreadHead(fold: Fold): void {
  const { wait } = fold
  needHead(fold)
  fold.wait = wait === 'soon' ? wait : 'spread'
}

/** Sets the unread count to 0. */
export function readAll(fold: Fold): void {
  const draft = draftOf(fold)
  draft.unread = 0
  delete draft.counted
}

/** Applies the change that is next in the log, of an event or a page. */
export function foldChange(fold: Fold, change: FoldedChange, reader: FoldReader): Applied {
  const next = fold.record.change + 1
  const { count = 1 } = change.kind === 'skipped' ? change : {}
  if (change.change < next) return 'known'
  if (change.change - count >= next || change.kind === 'unknown') return 'gap'
  draftOf(fold).change = change.change
  switch (change.kind) {
    case 'stored':
      store(fold, change.message, reader)
      if (next === 1 && isIncomplete(fold.record)) needHead(fold)
      break
    case 'edited':
      edit(fold, change.message)
      break
    case 'updated':
      update(fold, change, reader.me)
      break
    case 'recalled':
      fold.recalled.push(change.msgId)
      remove(fold, change.seq)
      if (change.senderId !== reader.me) uncount(fold, change.seq)
      // It may have been recalled before its event came.
      else if (!change.isSystem) noteOwn(fold, change.msgId)
      break
    case 'skipped': {
      const { seq, senderId, isSystem } = change
      if (seq === undefined) break
      remove(fold, seq)
      if (senderId === undefined) needHead(fold)
      else {
        moveReadPositions(fold, { seq, senderId, isSystem }, reader.me)
        if (senderId !== reader.me) uncount(fold, seq)
      }
    }
  }
  return 'applied'
}

/**
 * Tests whether a log that begins with its first change needs its head. The first broadcasts may be
 * older than the user, and then are hidden; the other log of a peer comes with the head; of a group
 * more is needed.
 */
function isIncomplete({ kind, status }: LogRecord): boolean {
  return kind !== 'group' || status === undefined
}

/** Applies a read or delivered position, as a maximum. */
export function foldPosition(
  fold: Fold,
  kind: 'read' | 'delivered',
  {
    actorId,
    seq,
    msgId,
  }: { readonly actorId: number; readonly seq: number; readonly msgId: number },
  me: number,
): void {
  const { kind: logKind, conversationId } = fold.record
  const isOwn = actorId === me
  // Both parties of a conversation with oneself are the same user.
  if (!isOwn || (logKind === 'direct' && conversationId === me))
    raise(fold, { [kind === 'read' ? 'peerReadSeq' : 'peerDeliveredSeq']: seq })
  if (!isOwn) return
  if (kind === 'read') {
    confirmUpTo(fold, msgId)
    if (seq > fold.record.readSeq) readUpTo(fold, seq)
  } else raise(fold, { deliveredSeq: seq })
}

/** The user has read up to a position. */
function readUpTo(fold: Fold, seq: number): void {
  raise(fold, { readSeq: seq })
  if (seq >= fold.record.seq) readAll(fold)
  else if (fold.record.unread > 0) needHead(fold)
}

/**
 * Takes a removed message off the unread count. For one that is not marked as counted only the head
 * says it.
 */
function uncount(fold: Fold, seq: number): void {
  const { counted = [], readSeq, unread } = fold.record
  if (seq <= readSeq || unread === 0) return
  if (!covers(counted, seq, seq)) needSpreadHead(fold)
  else set(fold, { unread: unread - 1, counted: removePosition(counted, seq) })
}

/** The user has read the newest message that is left, and so everything. */
export function readLast(fold: Fold, { seq }: MessageRecord): void {
  raise(fold, { readSeq: seq })
  readAll(fold)
}

/** The server has the position up to which the user has read. */
export function confirmRead(fold: Fold): void {
  delete draftOf(fold).pendingReadMsgId
}

function confirmUpTo(fold: Fold, msgId: number): void {
  if (msgId >= (fold.record.pendingReadMsgId ?? Number.POSITIVE_INFINITY)) confirmRead(fold)
}

/** The user reads up to a message, before the server knows. */
export function foldRead(fold: Fold, msgId: number): void {
  const draft = draftOf(fold)
  draft.pendingReadMsgId = Math.max(msgId, draft.pendingReadMsgId ?? 0)
  showRead(fold)
}

/** Shows a log as read when the user has read its last message, whatever the server knows. */
export function showRead(fold: Fold): void {
  const { pendingReadMsgId, last, unread } = fold.record
  if (pendingReadMsgId === undefined || unread === 0 || last === undefined) return
  if (last === null || last.msgId <= pendingReadMsgId) readAll(fold)
}

/** Messages up to an ID are hidden: the conversation was deleted. Those up to a position are not unread. */
export function foldDeletion(fold: Fold, msgId: number, seq: number): void {
  hide(fold, msgId)
  if (seq >= fold.record.seq) readAll(fold)
  else needHead(fold)
}

/** Drops all messages, because they may have been edited or recalled. */
export function emptyFold(fold: Fold): void {
  fold.isEmptied = true
  fold.messages.clear()
  fold.altered.clear()
  const draft = draftOf(fold)
  draft.ranges = []
  delete draft.last
  delete draft.counted
}

/**
 * Drops messages from a memory that has no room for them: they are a hole that the server can fill.
 * @param before positions below it; absent: all
 * @returns the share of the positions that is left
 */
export function forget(fold: Fold, before?: number): number {
  const { ranges } = fold.record
  if (before === undefined) {
    fold.isEmptied = true
    set(fold, { ranges: [] })
    return 0
  }
  const kept = ranges.flatMap(([from, to]): SeqRange[] =>
    to < before ? [] : [[Math.max(from, before), to]],
  )
  for (const [from, to] of ranges)
    for (let seq = from; seq <= Math.min(to, before - 1); seq++) fold.messages.set(seq, null)
  if (lengthOf(kept) < lengthOf(ranges)) set(fold, { ranges: kept })
  return lengthOf(kept) / (lengthOf(ranges) || 1)
}

const lengthOf = (ranges: readonly SeqRange[]) =>
  ranges.reduce((sum, [from, to]) => sum + to + 1 - from, 0)

function store(fold: Fold, message: MessageRecord, { me, answeredMsgId }: FoldReader): void {
  const { seq, msgId, senderId, isSystem } = message
  raise(fold, { seq })
  put(fold, message)
  if (senderId === me) {
    if (isSystem) {
      if (fold.record.unread > 0) needHead(fold)
      return
    }
    noteOwn(fold, msgId)
    confirmUpTo(fold, msgId)
    moveReadPositions(fold, message, me)
    return
  }
  moveReadPositions(fold, message, me)
  const { readSeq, hiddenMsgId } = fold.record
  if (msgId <= answeredMsgId) raise(fold, { readSeq: seq })
  else if (seq > readSeq && msgId > hiddenMsgId && countsUnread(fold.record)) {
    const draft = draftOf(fold)
    draft.unread++
    draft.counted = addRange(draft.counted ?? [], seq, seq)
  }
}

/** An own message of a direct conversation reads the other log of the peer too. */
function noteOwn(fold: Fold, msgId: number): void {
  const { kind, ownMsgId = 0 } = fold.record
  if (kind === 'direct' && msgId > ownMsgId) set(fold, { ownMsgId: msgId })
}

/** The sender of a message has read those before it, unless it is a notification. */
function moveReadPositions(
  fold: Fold,
  {
    seq,
    senderId,
    isSystem,
  }: Pick<MessageRecord, 'seq' | 'senderId'> & { readonly isSystem?: boolean | undefined },
  me: number,
): void {
  const { kind, conversationId } = fold.record
  if (isSystem) return
  if (senderId === me) readUpTo(fold, seq)
  if (kind === 'direct' && (senderId !== me || conversationId === me))
    raise(fold, { peerReadSeq: seq })
}

function countsUnread({ groupType, status, muteMode }: LogRecord): boolean {
  return groupType !== chatroom && status !== dissolved && muteMode !== nothingReceived
}

function edit(fold: Fold, message: MessageRecord): void {
  const { seq, msgId } = message
  const { ranges, hiddenMsgId, last } = fold.record
  fold.altered.set(seq, message)
  fold.edited.push(message)
  if (!covers(ranges, seq, seq) || msgId <= hiddenMsgId) return
  fold.messages.set(seq, message)
  if (last?.seq === seq) set(fold, { last: message })
}

/** Changes a part of a message, stored or not. */
function update(
  fold: Fold,
  { seq, set: changes, edited, reacted = [] }: Extract<FoldedChange, { readonly kind: 'updated' }>,
  me: number,
): void {
  const { ranges, last } = fold.record
  const own = reacted.filter(({ userId }) => userId === me)
  const alteration = {
    set: Object.assign({ ...changes }, ...own.map(({ key, isOn }) => ownField(key, isOn))),
    ...(edited && { texts: textsOf(edited) }),
  }
  if (edited) fold.edited.push(edited)
  for (const table of covers(ranges, seq, seq) ? [fold.altered, fold.messages] : [fold.altered])
    table.set(seq, combined(table.get(seq), alteration))
  if (last?.seq === seq) set(fold, { last: altered(last, alteration) })
}

/** Puts a message that is one of the newest. */
export function put(fold: Fold, message: MessageRecord): void {
  const draft = draftOf(fold)
  const { seq, msgId } = message
  draft.ranges = addRange(draft.ranges, seq, seq)
  if (msgId <= draft.hiddenMsgId) return
  fold.messages.set(seq, message)
  if (seq >= draft.seq || (draft.last && seq >= draft.last.seq)) draft.last = message
}

/** A position has no message any more; it counts as present. */
function remove(fold: Fold, seq: number): void {
  fold.altered.set(seq, null)
  fold.messages.set(seq, null)
  const draft = draftOf(fold)
  draft.ranges = addRange(draft.ranges, seq, seq)
  raise(fold, { seq })
  if (draft.last?.seq === seq) forgetLast(fold)
}

/** Drops messages up to an ID. */
export function hide(fold: Fold, msgId: number): void {
  if (msgId <= fold.record.hiddenMsgId) return
  fold.hiddenMsgId = msgId
  for (const [seq, message] of fold.messages)
    if (isWhole(message) && message.msgId <= msgId) fold.messages.set(seq, null)
  const draft = draftOf(fold)
  draft.hiddenMsgId = msgId
  if (draft.last && draft.last.msgId <= msgId) draft.last = null
  confirmUpTo(fold, msgId)
}
