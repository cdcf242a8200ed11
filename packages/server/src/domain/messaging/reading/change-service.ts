import { alterationKind } from '@hermod/protocol'
import type { Database, Queryable } from '../../../db/database.js'
import { jsonTextBytes } from '../../../lib/json.js'
import type { UserKey } from '../../users/user-model.js'
import type { ConversationFinder } from '../conversations/conversation-finder.js'
import type { ReadableLog } from '../conversations/readable-log.js'
import type { ChangeStore } from '../log/change-store.js'
import type { HistoryStore } from '../log/history-store.js'
import {
  type Alteration,
  type Change,
  type ChangeState,
  joinSkipped,
} from '../model/change-model.js'
import type { Conversation } from '../model/conversation-model.js'
import type { MessageContent } from '../model/message-content.js'
import type { HistoryMessage, MessageSize } from '../model/message-model.js'
import { quoteBytes } from '../model/quote-model.js'
import { messageFrameBytes, type PageReads } from './page-reads.js'

export interface ChangeServiceOptions {
  readonly database: Database
  readonly store: ChangeStore
  readonly messageLog: HistoryStore
  readonly finder: Pick<ConversationFinder, 'requireReader' | 'requirePeer'>
  readonly pages: PageReads
}

/** A page of the changes of a conversation. */
export interface ChangesOfLog {
  /**
   * By number, for each number of the page. null when the following changes are no longer
   * stored, or the reader's position is above the end. Then the reader takes `end` as its position
   * and reads the history again.
   */
  readonly changes: readonly Change[] | null
  /** The position after which the next page begins. */
  readonly next: number
  /** The number of the latest change. */
  readonly end: number
  /**
   * Messages up to and including this one are hidden from the reader, who drops them. When it
   * decreases (history_visible of a group), the reader fetches older messages from the history.
   */
  readonly hiddenMessageId: number
}

/** The numbers of a page: above `after` and up to `upTo`. It may end before, at the bound of its bytes. */
export interface ChangeSpan {
  readonly after: number
  readonly upTo: number
  /** The page ends when it has more entries. */
  readonly maxEntries: number
  /** True: skipped numbers in a row are one entry. */
  readonly joinsSkipped: boolean
  /** The page ends when its messages have more; it holds at least one change. */
  readonly maxBytes: number
}

/** The changes that were read of a span. */
export interface ReadChanges {
  readonly changes: readonly Change[]
  /** The last number that was read. */
  readonly next: number
  /** Bytes of the changes as JSON, roughly. */
  readonly bytes: number
}

/** The part of a span that fits in a page by the sizes of its messages. */
export interface PlannedChanges {
  readonly span: ChangeSpan
  /** The last number of the part. */
  readonly next: number
  /** Bytes of its texts. */
  readonly bytes: number
  /** The stored messages of the part, by position. */
  readonly stored: readonly MessageSize[]
  /** The position before the first message of the part. */
  readonly seqFrom: number
  /** By number. */
  readonly altered: ReadonlyMap<number, Alteration>
}

/** The entries of a page. */
export const maxChanges = 100
/** The numbers of a page whose skipped numbers are joined. */
export const maxJoinedNumbers = 500
/** The bytes that a number counts which another entry stands for, because its row is read. */
const joinedNumberBytes = 50

/** Reads the changes of a conversation after a reader's position (decision page 027). */
export class ChangeService {
  constructor(private readonly options: ChangeServiceOptions) {}

  /**
   * Reads changes after a position, with all their numbers. Broadcasts are numbered separately;
   * those before the reader's registration have numbers too, and are hidden.
   *
   * @param page.after the number of the latest change that the reader knows; 0 = none
   * @param page.limit entries, clamped to 100
   * @param page.joinsSkipped true: skipped numbers in a row are one entry
   * @throws AppError conversation_not_found when the reader is no party, or there is no such user
   * or group; member_required for a
   *   group that the reader is no member of
   */
  async changesAfter(
    reader: UserKey,
    named: Conversation,
    {
      after,
      limit,
      maxBytes,
      joinsSkipped = false,
    }: {
      readonly after: number
      readonly limit: number
      readonly maxBytes: number
      readonly joinsSkipped?: boolean
    },
  ): Promise<ChangesOfLog> {
    const { database, store, finder } = this.options
    const log = await database.read((db) => finder.requireReader(db, reader, named))
    const state = await database.read((db) => store.findState(db, log))
    if (!state) await database.read((db) => finder.requirePeer(db, log))
    const { seq, alterations, keptFrom, hiddenMessageId } = state ?? notBegun
    const end = seq + alterations
    const refetch = { changes: null, next: end, end, hiddenMessageId }
    if (after < keptFrom || after > end) return refetch
    const maxEntries = Math.min(limit, maxChanges)
    const upTo = Math.min(after + (joinsSkipped ? maxJoinedNumbers : maxEntries), end)
    if (!state || upTo === after) return { changes: [], next: after, end, hiddenMessageId }
    const span = { after, upTo, maxEntries, joinsSkipped, maxBytes }
    const read = await this.read(log, { state, plan: await this.plan(log, { state, span }) })
    return read ? { changes: read.changes, next: read.next, end, hiddenMessageId } : refetch
  }

  /**
   * Finds by the sizes of messages how many changes of a span fit: at least one. The numbers of the
   * span are stored and not above the end.
   */
  async plan(
    log: ReadableLog,
    { state, span }: { readonly state: ChangeState; readonly span: ChangeSpan },
  ): Promise<PlannedChanges> {
    const { database, store } = this.options
    const { after, upTo, maxEntries, joinsSkipped, maxBytes } = span
    const following =
      state.alterations === 0
        ? []
        : await database.read((db) =>
            store.listAlterations(db, log, { after, limit: upTo - after }),
          )
    const alterationsBefore = (following[0]?.alteration ?? state.alterations + 1) - 1
    const altered = new Map(
      following.filter(({ change }) => change <= upTo).map((each) => [each.change, each]),
    )
    const seqFrom = after - alterationsBefore
    // Each message is an entry.
    const seqTo = Math.min(upTo - alterationsBefore - altered.size, seqFrom + maxEntries)
    const sizes = seqTo === seqFrom ? [] : await this.#sizesOf(log, { state, seqFrom, seqTo })
    const bySeq = new Map(sizes.map((size) => [size.seq, size]))
    let [next, bytes, seq, entries, isSkipped] = [after, 0, seqFrom, 0, false]
    for (const change of range(after + 1, upTo)) {
      const alteration = altered.get(change)
      const wasSkipped = isSkipped
      isSkipped = alteration !== undefined && !isSeen(alteration, state)
      const joins = joinsSkipped && wasSkipped && isSkipped
      const size = alteration ? alteration.bytes : (bySeq.get(seq + 1)?.bytes ?? 0)
      const more = joins ? joinedNumberBytes : messageFrameBytes + (isSkipped ? 0 : size)
      if (!joins && entries === maxEntries) break
      if (bytes + more > maxBytes && next > after) break
      bytes += more
      if (!joins) entries++
      next = change
      if (!alteration) seq++
    }
    const stored = sizes.filter((size) => size.seq <= seq)
    return { span, next, bytes, stored, seqFrom, altered }
  }

  /**
   * Lists the sizes of the messages between two positions. The newest ones are found without a
   * search for the first position.
   */
  async #sizesOf(
    log: ReadableLog,
    {
      state: { seq: end, hiddenMessageId, newest = null },
      seqFrom,
      seqTo,
    }: { readonly state: ChangeState; readonly seqFrom: number; readonly seqTo: number },
  ): Promise<MessageSize[]> {
    const { database, messageLog, pages } = this.options
    const isInSpan = ({ seq, messageId }: MessageSize) =>
      seq > seqFrom && seq <= seqTo && messageId > hiddenMessageId
    const count = end - seqFrom
    if (count === 1 && newest !== null) return [newest].filter(isInSpan)
    if (count <= maxChanges) {
      const page = { upToId: Number.MAX_SAFE_INTEGER, limit: count }
      const newest = await pages.sizes(() =>
        database.read((db) => messageLog.listSizes(db, log, page)),
      )
      // Messages that came since would take the places of others.
      if (newest.every(({ seq }) => seq <= end)) return newest.filter(isInSpan).reverse()
    }
    const page = { seq: seqFrom, hiddenMessageId, limit: seqTo - seqFrom }
    const sizes = await pages.sizes(() =>
      database.read((db) => messageLog.listSizesAfter(db, log, page)),
    )
    return sizes.filter(isInSpan)
  }

  /**
   * Reads planned changes.
   * @returns null when changes of the span were removed since
   */
  async read(
    log: ReadableLog,
    { state, plan }: { readonly state: ChangeState; readonly plan: PlannedChanges },
  ): Promise<ReadChanges | null> {
    const { database, store, pages } = this.options
    const { after, joinsSkipped, maxBytes } = plan.span
    const found = await pages.run(plan.bytes, () =>
      database.read((db) => this.#readPlanned(db, log, { state, plan })),
    )
    const changes: Change[] = []
    let bytes = 0
    for (const change of joinsSkipped ? joinSkipped(found) : found) {
      const more = bytesOfChange(change)
      if (bytes + more > maxBytes && changes.length > 0) break
      bytes += more
      changes.push(change)
    }
    const read = { changes, next: changes.at(-1)?.change ?? after, bytes }
    if (state.alterations === 0) return read
    // Alterations, which number the messages, may have been removed while the page was read.
    const now = await database.read((db) => store.findState(db, log))
    return now && now.keptFrom <= after ? read : null
  }

  /**
   * Needs no common snapshot: numbers up to the end are final, and a message changed between the
   * statements has its latest change above the end, so it is in a later page. The caller checks for
   * removals afterwards.
   */
  async #readPlanned(
    db: Queryable,
    log: ReadableLog,
    { state, plan }: { readonly state: ChangeState; readonly plan: PlannedChanges },
  ): Promise<Change[]> {
    const { messageLog } = this.options
    const { span, next, stored, seqFrom, altered } = plan
    const { hiddenMessageId } = state
    const [first] = stored
    const messages = first
      ? await messageLog.listAfter(db, log, {
          afterId: first.messageId - 1,
          limit: stored.length,
        })
      : []
    const bySeq = new Map(messages.map((message) => [message.seq, message]))
    const numbers = [...range(span.after + 1, next)]
    const count = numbers.filter((change) => !altered.has(change)).length
    const isPartial = [...range(seqFrom + 1, seqFrom + count)].some((each) => !bySeq.has(each))
    const page = { seq: seqFrom, hiddenMessageId, limit: count }
    const gone = isPartial ? await messageLog.listRecalledAfter(db, log, page) : []
    const recalledBySeq = new Map(gone.map((each) => [each.seq, each]))
    const edited = [...altered.values()].filter(
      (each) => each.change <= next && isSeen(each, state) && !isRecall(each),
    )
    const editedIds = edited.map(({ messageId }) => messageId)
    const found = await messageLog.findMany(db, log, editedIds)
    const byId = new Map(found.map((message) => [message.messageId, message]))
    let seq = seqFrom
    return numbers.map((change): Change => {
      const alteration = altered.get(change)
      if (alteration)
        return isSeen(alteration, state)
          ? changeBy(alteration, byId.get(alteration.messageId))
          : { change, kind: 'skipped' }
      seq++
      const message = bySeq.get(seq)
      const recalled = recalledBySeq.get(seq)
      return message
        ? { change, kind: 'stored', message }
        : { change, kind: 'skipped', ...(recalled && { recalled }) }
    })
  }
}

function isRecall({ kind }: Alteration): boolean {
  return kind === alterationKind.recalled
}

/** A message that is missing was altered again after the page was read. */
function changeBy(alteration: Alteration, message: HistoryMessage | undefined): Change {
  const { change, tombstone } = alteration
  if (isRecall(alteration))
    return tombstone ? { change, kind: 'recalled', tombstone } : { change, kind: 'skipped' }
  return message ? { change, kind: 'edited', message } : { change, kind: 'skipped' }
}

/** Tests whether the reader sees the message of an alteration, and no later alteration of it follows. */
function isSeen({ isLatest, messageId }: Alteration, { hiddenMessageId }: ChangeState): boolean {
  return isLatest === 1 && messageId > hiddenMessageId
}

const notBegun: ChangeState = { seq: 0, alterations: 0, keptFrom: 0, hiddenMessageId: 0 }

function* range(first: number, last: number): Generator<number> {
  for (let number = first; number <= last; number++) yield number
}

/** @returns approximate bytes of a change as JSON */
function bytesOfChange(change: Change): number {
  if ('message' in change) return bytesOfMessage(change.message)
  const { count = 1 } = change.kind === 'skipped' ? change : {}
  return messageFrameBytes + (count - 1) * joinedNumberBytes
}

/** @returns approximate bytes of a message as JSON, and of the quote of a reply */
export function bytesOfMessage({
  content,
  attachment,
  config,
  ext,
  fields,
  replyToId,
}: MessageContent & Pick<HistoryMessage, 'fields' | 'replyToId'>): number {
  return (
    messageFrameBytes +
    jsonTextBytes(content) +
    jsonTextBytes(attachment) +
    jsonTextBytes(config) +
    jsonTextBytes(ext) +
    (fields === null ? 0 : Buffer.byteLength(fields)) +
    (replyToId === null ? 0 : quoteBytes)
  )
}
