/** Answers of the server about a log, as functions on its record. An answer may be older than the log. */
import { addRange, coveredFrom, covers } from '../ranges.js'
import type { LogRecord, MessageRecord } from '../records.js'
import {
  confirmRead,
  emptyFold,
  type Fold,
  foldChange,
  hide,
  needHead,
  put,
  raise,
  type Reader,
  readAll,
  set,
  without,
} from './log-fold.js'
import type { ChangesPage, Head, HistoryPage, LogChange } from './wire.js'

/**
 * - `taken`: the log has all changes of the head
 * - `behind`: it does not; the head must be requested by `have`
 * - `missing`: it does not; `message.changes` has the rest
 */
export type HeadResult = 'taken' | 'behind' | 'missing'

/** Fields that events change without a number. */
const modes = ['muteMode', 'pushMode', 'status'] as const
/** The most changes that a head brings. */
const maxChanges = 100

/** The request of a head, as far as it decides what the head means. */
export interface HeadRequest extends Reader {
  /** The log has had nothing but changes since the request, so the server knew the marks. */
  readonly isCurrent: boolean
  /** Changes have been applied since the request. */
  readonly hasMoved: boolean
  /** The request had the client's number. */
  readonly isNamed: boolean
  /** The head is of the list of all logs. */
  readonly isList: boolean
  /** Number of newest messages that were requested. */
  readonly window: number
}

/** Applies a head. */
export function foldHead(fold: Fold, head: Head, request: HeadRequest): HeadResult {
  const { isCurrent } = request
  const before = fold.record
  const kept = isCurrent ? {} : pick(before, modes)
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
  const { readSeq } = head.marks
  const { record } = fold
  const isSame = head.change === record.change
  raise(fold, head.marks)
  if (isSame) {
    set(fold, { seq: head.seq })
    takeLast(fold, head)
  }
  if (isSame && isCurrent) {
    // The number stands for all messages so far; those of later changes are counted here again.
    readAll(fold)
    set(fold, { readSeq, unread: head.unread, isHeadNeeded: false })
    const { pendingReadMsgId = -1 } = fold.record
    if (head.unread === 0 && head.latestMsgId <= pendingReadMsgId) confirmRead(fold)
    return
  }
  // The numbers are of another moment than the log. When they tell something new, they are needed again.
  const isNew =
    readSeq > before.readSeq ||
    head.hiddenMsgId !== before.hiddenMsgId ||
    (isSame && head.unread !== record.unread) ||
    modes.some((name) => (head.state[name] ?? record[name]) !== record[name])
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

function pick<T extends object, K extends keyof T>(value: T, names: readonly K[]): Partial<T> {
  const entries = names.flatMap((name) => (value[name] === undefined ? [] : [[name, value[name]]]))
  return Object.fromEntries(entries) as Partial<T>
}
