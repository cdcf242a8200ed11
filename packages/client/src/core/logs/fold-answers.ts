/** Answers of the server about a log, as functions on its record. An answer may be older than the log. */
import { addRange, coveredFrom, covers } from '../ranges.js'
import { type Alteration, combined, isWhole } from '../../model/message-fields.js'
import type { LogRecord } from '../../model/records.js'
import {
  confirmRead,
  draftOf,
  emptyFold,
  type Fold,
  foldChange,
  forgetLast,
  hide,
  needHead,
  put,
  raise,
  type FoldReader,
  readAll,
  set,
} from './log-fold.js'
import type { Moved } from './logs.js'
import type { ChangesPage, Head, HistoryPage, FoldedChange } from './wire.js'

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
export interface HeadRequest extends FoldReader {
  /** Moves of the log since the request. */
  readonly moved: Moved
  /**
   * The request had the number of the log (`named`), or was for a page of all logs (`list`) or of
   * those that have changed.
   */
  readonly asked: 'named' | 'list' | 'delta'
  /** Number of newest messages that were requested. */
  readonly window: number
}

/**
 * Relation of a head to the log; the README of the core has the table.
 * - `lost`: the server has lost changes, without a new epoch
 * - `shown`: the history of a group has become visible, so what was hidden is a hole
 * - `changes`: the head has all changes that the log misses
 * - `older`: the log has changes that the head has not
 * - `same`: both have the same changes
 * - `whole`: the number of the head and its newest messages take the place of the log's
 * - `missing`, `behind`: nothing is taken, as in {@link HeadResult}
 */
export type HeadCase =
  | 'lost'
  | 'shown'
  | 'changes'
  | 'older'
  | 'same'
  | 'whole'
  | 'missing'
  | 'behind'

type ContentCase = Exclude<HeadCase, 'lost' | 'shown'>

/** Returns how a head stands to a log. */
export function headCaseOf(log: LogRecord, head: Head, { moved, asked }: HeadRequest): HeadCase {
  const hasChanges = moved === 'changes' || moved === 'both'
  const holdsNothing = log.ranges.length === 0
  if (head.change < log.change && !hasChanges) return 'lost'
  if (log.kind === 'group' && head.hiddenMsgId < log.hiddenMsgId && isCurrent(moved)) return 'shown'
  if (head.from !== undefined)
    return holdsNothing || head.from <= log.change ? 'changes' : 'missing'
  if (head.change < log.change) return 'older'
  if (head.change === log.change) return 'same'
  if (holdsNothing) return 'whole'
  if (asked === 'named') return head.messages ? 'whole' : 'missing'
  const mayBeFew = asked === 'list' && head.change - log.change <= maxChanges
  return head.messages && !mayBeFew ? 'whole' : 'behind'
}

/** Tests for a log that has had nothing but changes since a request: the server knew its positions. */
const isCurrent = (moved: Moved) => moved === 'nothing' || moved === 'changes'

/** Applies a head. */
export function foldHead(fold: Fold, head: Head, request: HeadRequest): HeadResult {
  const { readSeq, hiddenMsgId } = fold.record
  takeState(fold, head, request)
  const found = emptyFor(fold, head, request)
  hide(fold, head.hiddenMsgId)
  const result = takeContent(fold, head, { ...request, found })
  const isNews = head.positions.readSeq > readSeq || head.hiddenMsgId !== hiddenMsgId
  takeNumbers(fold, head, { isNews, moved: request.moved })
  if (result !== 'taken') needHead(fold)
  return result
}

/** Takes the fields that a head has, unless the log has newer ones. */
function takeState(fold: Fold, { state }: Head, { moved }: HeadRequest): void {
  const { version = 0 } = fold.record
  const kept = isCurrent(moved) ? {} : pick(fold.record, modes)
  set(fold, { ...state, ...kept, ...(version > (state.version ?? 0) && { version }) })
}

/** Empties a log of which the head says that it is another. @returns the case that is left */
function emptyFor(fold: Fold, head: Head, request: HeadRequest): ContentCase {
  const found = headCaseOf(fold.record, head, request)
  if (found !== 'lost' && found !== 'shown') return found
  emptyFold(fold)
  if (found === 'lost') set(fold, { change: 0, seq: 0, ...head.positions })
  else draftOf(fold).hiddenMsgId = head.hiddenMsgId
  return emptyFor(fold, head, request)
}

function takeContent(
  fold: Fold,
  head: Head,
  { found, ...request }: HeadRequest & { readonly found: ContentCase },
): HeadResult {
  const { change, seq, from = 0 } = head
  const log = draftOf(fold)
  if (found === 'missing' || found === 'behind') return found
  if (found === 'changes') {
    if (log.change < from) {
      log.change = from
      forgetLast(fold)
    }
    foldAll(fold, head.changes, request)
    return log.change < change ? 'missing' : 'taken'
  }
  if (found === 'whole') {
    if (log.ranges.length > 0) emptyFold(fold)
    log.change = change
    log.seq = seq
  }
  if (found === 'whole' || (found === 'same' && isCurrent(request.moved)))
    putNewest(fold, head, request)
  return 'taken'
}

/**
 * Puts the newest messages, if they have come. Positions between them, and below fewer than were
 * requested, have none.
 */
function putNewest(fold: Fold, { messages, seq }: Head, { window }: HeadRequest): void {
  if (!messages) return
  for (const message of messages) put(fold, message)
  const first = messages.length < window ? 1 : (messages.at(-1)?.seq ?? seq + 1)
  const draft = draftOf(fold)
  draft.ranges = addRange(draft.ranges, first, seq)
}

function takeNumbers(
  fold: Fold,
  head: Head,
  { isNews, moved }: { readonly isNews: boolean; readonly moved: Moved },
): void {
  const isSame = head.change === fold.record.change
  raise(fold, head.positions)
  if (isSame) {
    set(fold, { seq: head.seq })
    takeLast(fold, head)
  }
  if (isSame && isCurrent(moved)) {
    // The number stands for all messages so far; those of later changes are counted here again.
    readAll(fold)
    set(fold, { readSeq: head.positions.readSeq, unread: head.unread, isHeadNeeded: false })
    const { pendingReadMsgId = -1 } = fold.record
    if (head.unread === 0 && head.latestMsgId <= pendingReadMsgId) confirmRead(fold)
    return
  }
  // The numbers are of another moment than the log. When they say something new, they are needed again.
  const { record } = fold
  if (
    isNews ||
    (isSame && head.unread !== record.unread) ||
    modes.some((name) => (head.state[name] ?? record[name]) !== record[name])
  )
    needHead(fold)
}

/** Takes the newest visible message of a head, which has no change that the log has not. */
function takeLast(fold: Fold, { latestMsgId }: Head): void {
  const { last } = fold.record
  if (latestMsgId === 0) set(fold, { last: null })
  else if (last?.msgId !== latestMsgId) {
    const found = [...fold.messages.values()]
      .filter(isWhole)
      .find(({ msgId }) => msgId === latestMsgId)
    if (found) set(fold, { last: found })
    else forgetLast(fold)
  }
}

/**
 * Applies a page of message.changes.
 * @param after the number of the log when the page was requested
 */
export function foldChangesPage(
  fold: Fold,
  page: ChangesPage,
  { after, ...reader }: FoldReader & { readonly after: number },
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
  alterations: ReadonlyMap<number, Alteration>,
): void {
  const { seq, last, ranges, hiddenMsgId } = fold.record
  const end = Math.min(page.beforeSeq - 1, seq)
  for (const message of page.messages) {
    const { seq: at } = message
    const alteration = alterations.get(at)
    const shown = alteration === undefined ? message : combined(message, alteration)
    // A stored message is at least as new.
    if (at > end || covers(ranges, at, at) || !isWhole(shown) || shown.msgId <= hiddenMsgId)
      continue
    fold.messages.set(at, shown)
  }
  set(fold, { ranges: addRange(ranges, page.fromSeq, end) })
  const isNewest = end === seq && coveredFrom(ranges, seq + 1) > seq
  const newest = page.messages[0]
  if (last !== undefined || !isNewest) return
  const found = newest && fold.messages.get(newest.seq)
  if (isWhole(found)) set(fold, { last: found })
  else if (!newest && page.fromSeq === 1) set(fold, { last: null })
}

/** Applies changes of an answer, whose unknown kinds are counted: to ask again would give the same. */
function foldAll(fold: Fold, changes: readonly FoldedChange[], reader: FoldReader): void {
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
