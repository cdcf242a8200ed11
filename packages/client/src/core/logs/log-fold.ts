/**
 * What happens to a log, as functions on its record. They read and store nothing: a fold collects
 * what they change. The rules are those of docs/guides/realtime.md.
 */
import { conversationOf, kindOf } from '../log-key.js'
import { addRange, coveredFrom, covers } from '../ranges.js'
import type { LogKey, LogRecord, MessageRecord } from '../records.js'
import type { ChangesPage, Head, HistoryPage, LogChange } from './wire.js'

/** A log with what has been done to it since the fold began. */
export interface Fold {
  record: LogRecord
  /** By position; null: gone. The last entry of a position counts. */
  readonly messages: Map<number, MessageRecord | null>
  /** True: all messages that were stored before are dropped. */
  isEmptied: boolean
  /** Messages up to this ID are dropped; 0: none. */
  hiddenMsgId: number
  /** Edits and recalls (null) of messages, stored or not: a page of history may be older. */
  readonly altered: Map<number, MessageRecord | null>
  /** IDs of messages that were recalled. */
  readonly recalled: number[]
  /** The newest own message of a direct conversation that has arrived, notifications left out; 0: none. */
  answeredMsgId: number
}

/** The user who reads the log. */
export interface Reader {
  readonly me: number
  /** Messages of the conversation up to this ID are read, because the user has answered later; 0: none. */
  readonly answeredMsgId: number
}

/** `gap`: changes before it are missing. */
export type Applied = 'applied' | 'known' | 'gap'

/**
 * - `taken`: the log has all changes of the head
 * - `behind`: it does not; the head must be requested by `have`
 * - `missing`: it does not; `message.changes` has the rest
 */
export type HeadResult = 'taken' | 'behind' | 'missing'

const chatroom = 2
const dissolved = 1
const nothingReceived = 2
/** As many changes as a head brings. */
const maxChanges = 100

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
    record,
    messages: new Map(),
    isEmptied: false,
    hiddenMsgId: 0,
    altered: new Map(),
    recalled: [],
    answeredMsgId: 0,
  }
}

/** Changes fields of the log that is folded. */
export function set(fold: Fold, changes: Partial<LogRecord>): void {
  fold.record = { ...fold.record, ...changes }
}

/** Makes the server say the unread count and the marks. */
export function needHead(fold: Fold): void {
  if (!fold.record.isHeadNeeded) set(fold, { isHeadNeeded: true })
}

/** Applies the change that is next in the log, of an event or a page. */
export function foldChange(fold: Fold, change: LogChange, reader: Reader): Applied {
  const { record } = fold
  if (change.change <= record.change) return 'known'
  if (change.change !== record.change + 1 || change.kind === 'unknown') return 'gap'
  set(fold, { change: change.change })
  switch (change.kind) {
    case 'stored':
      store(fold, change.message, reader)
      if (record.change === 0 && isIncomplete(record)) needHead(fold)
      break
    case 'edited':
      edit(fold, change.message)
      break
    case 'recalled':
      fold.recalled.push(change.msgId)
      remove(fold, change.seq)
      if (record.unread > 0 && change.senderId !== reader.me && change.seq > record.readSeq)
        needHead(fold)
      break
    case 'skipped':
      if (change.seq === undefined) break
      remove(fold, change.seq)
      // It may have been an own message, which has read those before it.
      needHead(fold)
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

/** Applies a mark, as a maximum. */
export function foldMark(
  fold: Fold,
  kind: 'read' | 'delivered',
  {
    actorId,
    seq,
    msgId,
  }: { readonly actorId: number; readonly seq: number; readonly msgId: number },
  me: number,
): void {
  const { record } = fold
  const isOwn = actorId === me
  const own = kind === 'read' ? 'readSeq' : 'deliveredSeq'
  const peers = kind === 'read' ? 'peerReadSeq' : 'peerDeliveredSeq'
  // Both parties of a conversation with oneself are the same user.
  const isPeer = !isOwn || (record.kind === 'direct' && record.conversationId === me)
  if (isPeer && seq > record[peers]) set(fold, { [peers]: seq })
  if (!isOwn) return
  if (kind === 'read') {
    if (msgId >= (record.pendingReadMsgId ?? Number.POSITIVE_INFINITY)) confirmRead(fold)
    if (seq > record.readSeq) readUpTo(fold, seq)
  } else if (seq > record[own]) set(fold, { deliveredSeq: seq })
}

/** The user has read up to a position. */
function readUpTo(fold: Fold, seq: number): void {
  const { record } = fold
  set(fold, { readSeq: Math.max(seq, record.readSeq) })
  if (seq >= record.seq) set(fold, { unread: 0 })
  else if (record.unread > 0) needHead(fold)
}

/** The user has read the newest message that is left, and so everything. */
export function readLast(fold: Fold, { seq }: MessageRecord): void {
  set(fold, { readSeq: Math.max(seq, fold.record.readSeq), unread: 0 })
}

/** The server has the position up to which the user has read. */
export function confirmRead(fold: Fold): void {
  fold.record = without(fold.record, 'pendingReadMsgId')
}

/** The user reads up to a message, before the server knows. */
export function foldRead(fold: Fold, msgId: number): void {
  const { record } = fold
  set(fold, { pendingReadMsgId: Math.max(msgId, record.pendingReadMsgId ?? 0) })
  showRead(fold)
}

/** Shows a log as read when the user has read its last message, whatever the server has been told. */
export function showRead(fold: Fold): void {
  const { pendingReadMsgId, last, unread } = fold.record
  if (pendingReadMsgId === undefined || unread === 0 || last === undefined) return
  if (last === null || last.msgId <= pendingReadMsgId) set(fold, { unread: 0 })
}

/** Messages up to an ID are hidden: the conversation was deleted. Those up to a position are not unread. */
export function foldDeletion(fold: Fold, msgId: number, seq: number): void {
  hide(fold, msgId)
  if (seq >= fold.record.seq) set(fold, { unread: 0 })
  else needHead(fold)
}

/** Drops all messages, because they may have been edited or recalled. */
export function emptyFold(fold: Fold): void {
  fold.isEmptied = true
  fold.messages.clear()
  fold.altered.clear()
  fold.record = { ...without(fold.record, 'last'), ranges: [] }
}

/** What the client knows about the request of a head. */
export interface HeadRequest extends Reader {
  /** Nothing but changes has happened to the log since the request, so the server knew the marks. */
  readonly isCurrent: boolean
  /** Changes have been applied since the request. */
  readonly hasMoved: boolean
  /** The request had the client's number. */
  readonly isNamed: boolean
  /** The head is of the list of all logs. */
  readonly isList: boolean
  /** How many newest messages were requested. */
  readonly window: number
}

/** Applies a head. */
export function foldHead(fold: Fold, head: Head, request: HeadRequest): HeadResult {
  const { isCurrent } = request
  const before = fold.record
  const kept = isCurrent ? {} : pick(before, ['muteMode', 'pushMode', 'status'])
  set(fold, { ...head.state, ...kept })
  if ((before.version ?? 0) > (head.state.version ?? 0)) set(fold, pick(before, ['version']))
  // The server has lost changes, without a new epoch.
  const isLost = !request.hasMoved && head.change < before.change
  // The history of a group has become visible: what was hidden is a hole.
  const isShown = isCurrent && before.kind === 'group' && head.hiddenMsgId < before.hiddenMsgId
  if (isLost || isShown) emptyFold(fold)
  if (isLost) set(fold, { change: 0, seq: 0, ...head.marks })
  if (isShown) set(fold, { hiddenMsgId: head.hiddenMsgId })
  hide(fold, head.hiddenMsgId)
  const result = takeContent(fold, head, request)
  takeNumbers(fold, head, { before, isCurrent })
  if (result !== 'taken') needHead(fold)
  return result
}

function takeContent(fold: Fold, head: Head, request: HeadRequest): HeadResult {
  const { record } = fold
  const { isNamed, isList, isCurrent, window } = request
  const holdsNothing = record.ranges.length === 0
  if (head.from !== undefined) {
    if (holdsNothing && record.change < head.from) {
      set(fold, { change: head.from })
      fold.record = without(fold.record, 'last')
    }
    if (fold.record.change < head.from) return 'missing'
    foldAll(fold, head.changes, request)
    return fold.record.change < head.change ? 'missing' : 'taken'
  }
  if (head.change < record.change) return 'taken'
  if (head.change > record.change) {
    if (!holdsNothing) {
      const mayBeFew = head.change - record.change <= maxChanges
      if (isNamed && !head.messages) return 'missing'
      if (!isNamed && (!head.messages || (isList && mayBeFew))) return 'behind'
      emptyFold(fold)
    }
    set(fold, { change: head.change, seq: head.seq })
  } else if (!isCurrent) return 'taken'
  if (head.messages) putNewest(fold, head.messages, { window, seq: head.seq })
  return 'taken'
}

/** Puts the newest messages. Positions between them, and below fewer than were requested, have none. */
function putNewest(
  fold: Fold,
  messages: readonly MessageRecord[],
  { window, seq }: { readonly window: number; readonly seq: number },
): void {
  for (const message of messages) put(fold, message)
  const first = messages.length < window ? 1 : (messages.at(-1)?.seq ?? seq + 1)
  set(fold, { ranges: addRange(fold.record.ranges, first, seq) })
}

function takeNumbers(
  fold: Fold,
  head: Head,
  { before, isCurrent }: { readonly before: LogRecord; readonly isCurrent: boolean },
): void {
  const { readSeq, deliveredSeq, peerReadSeq, peerDeliveredSeq } = head.marks
  const { record } = fold
  const isSame = head.change === record.change
  set(fold, {
    readSeq: isSame && isCurrent ? readSeq : Math.max(record.readSeq, readSeq),
    deliveredSeq: Math.max(record.deliveredSeq, deliveredSeq),
    peerReadSeq: Math.max(record.peerReadSeq, peerReadSeq),
    peerDeliveredSeq: Math.max(record.peerDeliveredSeq, peerDeliveredSeq),
  })
  if (isSame) {
    set(fold, { seq: head.seq })
    takeLast(fold, head)
  }
  if (isSame && isCurrent) {
    set(fold, { unread: head.unread, isHeadNeeded: false })
    const { pendingReadMsgId = -1 } = fold.record
    if (head.unread === 0 && head.latestMsgId <= pendingReadMsgId) confirmRead(fold)
    return
  }
  // The numbers are of another moment than the log. When they tell something new, they are needed again.
  const { muteMode, pushMode, status } = { ...fold.record, ...head.state }
  const isNew =
    readSeq > before.readSeq ||
    head.hiddenMsgId !== before.hiddenMsgId ||
    (isSame && head.unread !== record.unread) ||
    muteMode !== record.muteMode ||
    pushMode !== record.pushMode ||
    status !== record.status
  if (isNew) needHead(fold)
}

/** Takes the newest visible message of a head, which has no change that the log has not. */
function takeLast(fold: Fold, { latestMsgId }: Head): void {
  const { last } = fold.record
  if (latestMsgId === 0) set(fold, { last: null })
  else if (last?.msgId !== latestMsgId) {
    const found = [...fold.messages.values()].find((each) => each?.msgId === latestMsgId)
    fold.record = without(fold.record, 'last')
    if (found) set(fold, { last: found })
  }
}

/**
 * Applies a page of message.changes.
 * @param after the number of the log when the page was requested
 */
export function foldChangesPage(
  fold: Fold,
  page: ChangesPage,
  { after, ...reader }: Reader & { readonly after: number },
): void {
  if (page.from === undefined) {
    // The log has moved since, by a newer answer.
    if (fold.record.change !== after) return
    emptyFold(fold)
    set(fold, { change: page.next })
    needHead(fold)
    return
  }
  hide(fold, page.hiddenMsgId)
  foldAll(fold, page.changes, reader)
}

/** Applies a page of message.history; alterations that came while it was read are laid over it. */
export function foldHistory(
  fold: Fold,
  page: HistoryPage,
  altered: ReadonlyMap<number, MessageRecord | null>,
): void {
  const { seq, last, ranges, hiddenMsgId } = fold.record
  const end = Math.min(page.beforeSeq - 1, seq)
  for (const message of page.messages) {
    const { seq: at } = message
    const shown = altered.has(at) ? altered.get(at) : message
    // A stored message is at least as new.
    if (at > end || covers(ranges, at, at) || !shown || shown.msgId <= hiddenMsgId) continue
    fold.messages.set(at, shown)
  }
  set(fold, { ranges: addRange(ranges, page.fromSeq, end) })
  const isNewest = end === seq && coveredFrom(ranges, seq + 1) > seq
  const newest = page.messages[0]
  if (last !== undefined || !isNewest) return
  const found = newest && fold.messages.get(newest.seq)
  if (found) set(fold, { last: found })
  else if (!newest && page.fromSeq === 1) set(fold, { last: null })
}

/** Applies changes of an answer, whose unknown kinds are counted: to ask again would bring the same. */
function foldAll(fold: Fold, changes: readonly LogChange[], reader: Reader): void {
  for (const change of changes) {
    const isUnknown = change.kind === 'unknown' && change.change === fold.record.change + 1
    if (isUnknown) {
      set(fold, { change: change.change })
      needHead(fold)
    } else if (foldChange(fold, change, reader) === 'gap') return
  }
}

function store(fold: Fold, message: MessageRecord, { me, answeredMsgId }: Reader): void {
  const { record } = fold
  const { seq, msgId, senderId, isSystem } = message
  set(fold, { seq: Math.max(record.seq, seq) })
  put(fold, message)
  if (senderId === me) {
    if (isSystem) {
      if (record.unread > 0) needHead(fold)
      return
    }
    if (record.kind === 'direct') fold.answeredMsgId = Math.max(fold.answeredMsgId, msgId)
    if (msgId >= (record.pendingReadMsgId ?? Number.POSITIVE_INFINITY)) confirmRead(fold)
    readUpTo(fold, seq)
    if (record.kind === 'direct' && record.conversationId === me)
      set(fold, { peerReadSeq: Math.max(record.peerReadSeq, seq) })
    return
  }
  if (record.kind === 'direct' && !isSystem)
    set(fold, { peerReadSeq: Math.max(record.peerReadSeq, seq) })
  if (msgId <= answeredMsgId) set(fold, { readSeq: Math.max(record.readSeq, seq) })
  else if (seq > record.readSeq && msgId > record.hiddenMsgId && countsUnread(record))
    set(fold, { unread: record.unread + 1 })
}

function countsUnread({ groupType, status, muteMode }: LogRecord): boolean {
  return groupType !== chatroom && status !== dissolved && muteMode !== nothingReceived
}

function edit(fold: Fold, message: MessageRecord): void {
  const { seq, msgId } = message
  const { ranges, hiddenMsgId, last } = fold.record
  fold.altered.set(seq, message)
  if (!covers(ranges, seq, seq) || msgId <= hiddenMsgId) return
  fold.messages.set(seq, message)
  if (last?.seq === seq) set(fold, { last: message })
}

/** Puts a message that is one of the newest. */
function put(fold: Fold, message: MessageRecord): void {
  const { ranges, hiddenMsgId, last } = fold.record
  const { seq, msgId } = message
  set(fold, { ranges: addRange(ranges, seq, seq) })
  if (msgId <= hiddenMsgId) return
  fold.messages.set(seq, message)
  if (seq >= fold.record.seq || (last && seq >= last.seq)) set(fold, { last: message })
}

/** A position has no message any more; it counts as present. */
function remove(fold: Fold, seq: number): void {
  const { ranges, last } = fold.record
  fold.altered.set(seq, null)
  fold.messages.set(seq, null)
  set(fold, { ranges: addRange(ranges, seq, seq), seq: Math.max(fold.record.seq, seq) })
  if (last?.seq === seq) fold.record = without(fold.record, 'last')
}

function hide(fold: Fold, msgId: number): void {
  const { record } = fold
  if (msgId <= record.hiddenMsgId) return
  fold.hiddenMsgId = msgId
  for (const [seq, message] of fold.messages)
    if (message && message.msgId <= msgId) fold.messages.set(seq, null)
  set(fold, { hiddenMsgId: msgId })
  if (record.last && record.last.msgId <= msgId) set(fold, { last: null })
  if ((record.pendingReadMsgId ?? Number.POSITIVE_INFINITY) <= msgId) confirmRead(fold)
}

function pick<T extends object, K extends keyof T>(value: T, names: readonly K[]): Partial<T> {
  const entries = names.flatMap((name) => (value[name] === undefined ? [] : [[name, value[name]]]))
  return Object.fromEntries(entries) as Partial<T>
}

function without(record: LogRecord, name: 'last' | 'pendingReadMsgId'): LogRecord {
  const { [name]: _left, ...rest } = record
  return rest as LogRecord
}
