import { alterationKind } from '@hermod/protocol'
import type { Database, Queryable } from '../../../db/database.js'
import { EventLoopBudget } from '../../../lib/concurrency/event-loop-budget.js'
import { maxPageBytes } from '../../paging.js'
import type { UserKey } from '../../users/user-model.js'
import type { ConversationFinder } from '../conversations/conversation-finder.js'
import type { ReadableLog } from '../conversations/readable-log.js'
import type { ChangeStore } from '../log/change-store.js'
import type { HistoryStore } from '../log/history-store.js'
import type { Alteration, Change, ChangeState } from '../model/change-model.js'
import type { Conversation } from '../model/conversation-model.js'
import { type MessageContent, textUnits } from '../model/message-content.js'
import type { HistoryMessage } from '../model/message-model.js'

export interface ChangeServiceOptions {
  readonly database: Database
  readonly store: ChangeStore
  readonly messageLog: HistoryStore
  readonly finder: Pick<ConversationFinder, 'requireReader' | 'requirePeer'>
}

/** A page of the changes of a conversation. */
export interface ChangePage {
  /**
   * By number, one for each number of the page. null when the following changes are no longer stored, or the reader's position is above
   * the end. Then the reader takes `end` as its position and reads the history again.
   */
  readonly changes: readonly Change[] | null
  /** The position after which the next page begins. */
  readonly next: number
  /** The number of the latest change. */
  readonly end: number
  /**
   * Messages up to and including this one are hidden from the reader, who drops them. When it decreases (history_visible of a group), the
   * reader fetches older messages from the history.
   */
  readonly hiddenMessageId: number
}

/** The numbers of a page: above `after` and up to `upTo`. It may end before, at the bound of its bytes. */
export interface ChangeSpan {
  readonly after: number
  readonly upTo: number
  /** The page ends when its messages have more; it holds at least one change. */
  readonly maxBytes: number
}

/** The changes that were read of a span. */
export interface ReadChanges {
  readonly changes: readonly Change[]
  /** The last number that was read. */
  readonly next: number
}

/** The length of a page. */
export const maxChanges = 100
/** Changes per step, since a step reads all of its messages before their bytes are known. */
const changesPerStep = 25
/** Bytes of a change as JSON without its texts, roughly. */
const frameBytes = 400
/** Bounds on reads in parallel, as for pages of history. */
const budget = { maxRunning: 64, perTurn: maxPageBytes }

/** Reads the changes of a conversation after a reader's position (decision page 027). */
export class ChangeService {
  readonly #budget = new EventLoopBudget(budget)

  constructor(private readonly options: ChangeServiceOptions) {}

  /**
   * Reads changes after a position: an entry for each number. Broadcasts are numbered separately; those before the reader's registration
   * have numbers too, and are hidden.
   *
   * @param page.after the number of the latest change that the reader knows; 0 = none
   * @param page.limit clamped to 100
   * @throws AppError conversation_not_found when the reader is no party, or there is no such user or group; member_required for a
   *   group that the reader is no member of
   */
  async changesAfter(
    reader: UserKey,
    named: Conversation,
    page: { readonly after: number; readonly limit: number; readonly maxBytes: number },
  ): Promise<ChangePage> {
    const { database, store, finder } = this.options
    const { after } = page
    const log = await database.read((db) => finder.requireReader(db, reader, named))
    const state = await database.read((db) => store.findState(db, log))
    if (!state) await database.read((db) => finder.requirePeer(db, log))
    const { seq, alterations, keptFrom, hiddenMessageId } = state ?? notBegun
    const end = seq + alterations
    const refetch = { changes: null, next: end, end, hiddenMessageId }
    if (after < keptFrom || after > end) return refetch
    const upTo = Math.min(after + Math.min(page.limit, maxChanges), end)
    if (!state || upTo === after) return { changes: [], next: after, end, hiddenMessageId }
    const span = { after, upTo, maxBytes: page.maxBytes }
    const read = await this.read(log, { state, span })
    return read ? { ...read, end, hiddenMessageId } : refetch
  }

  /**
   * Reads the changes of a span, whose numbers are stored and not above the end.
   * @returns null when changes of the span were removed since
   */
  async read(
    log: ReadableLog,
    { state, span }: { readonly state: ChangeState; readonly span: ChangeSpan },
  ): Promise<ReadChanges | null> {
    const { database, store } = this.options
    const { after, upTo, maxBytes } = span
    const changes: Change[] = []
    let bytes = 0
    let afterId: number | null = null
    for (let next = after; next < upTo && bytes <= maxBytes; ) {
      const step: Step = { after: next, next: Math.min(next + changesPerStep, upTo), afterId }
      const found = await this.#budget.run(
        () => database.read((db) => this.#readStep(db, log, { state, step })),
        (each) => textUnits(messagesOf(each)),
      )
      for (const change of found) {
        bytes += bytesOfChange(change)
        if (bytes > maxBytes && changes.length > 0) break
        changes.push(change)
      }
      next = step.next
      const last = found.findLast((change) => change.kind === 'stored')
      if (last?.kind === 'stored') afterId = last.message.messageId
    }
    const read = { changes, next: after + changes.length }
    if (state.alterations === 0) return read
    // Alterations, which number the messages, may have been removed while the page was read.
    const now = await database.read((db) => store.findState(db, log))
    return now && now.keptFrom <= after ? read : null
  }

  /**
   * Needs no common snapshot: numbers up to the end are final, and a message changed between the statements has its latest change above the
   * end, so it is in a later page. The caller checks for removals afterwards.
   */
  async #readStep(
    db: Queryable,
    log: ReadableLog,
    { state, step }: { readonly state: ChangeState; readonly step: Step },
  ): Promise<Change[]> {
    const { store, messageLog } = this.options
    const { hiddenMessageId } = state
    const { after, next } = step
    const limit = next - after
    const following =
      state.alterations === 0 ? [] : await store.listAlterations(db, log, { after, limit })
    const alterationsBefore = (following[0]?.alteration ?? state.alterations + 1) - 1
    const altered = new Map(
      following.filter(({ change }) => change <= next).map((each) => [each.change, each]),
    )
    const seqFrom = after - alterationsBefore
    const seqTo = next - alterationsBefore - altered.size
    const page = { seq: seqFrom, hiddenMessageId, limit, afterId: step.afterId }
    const stored =
      seqTo === seqFrom ? [] : await this.#listStored(db, log, { ...page, end: state.seq })
    const bySeq = new Map(stored.map((message) => [message.seq, message]))
    const isPartial = [...range(seqFrom + 1, seqTo)].some((each) => !bySeq.has(each))
    const gone = isPartial ? await messageLog.listRecalledAfter(db, log, page) : []
    const recalledBySeq = new Map(gone.map((each) => [each.seq, each]))
    let seq = seqFrom
    const changes: (Change | Promise<Change>)[] = []
    for (const change of range(after + 1, next)) {
      const alteration = altered.get(change)
      if (alteration) {
        const isSeen = alteration.isLatest === 1 && alteration.messageId > hiddenMessageId
        changes.push(isSeen ? this.#alteredBy(db, log, alteration) : { change, kind: 'skipped' })
        continue
      }
      seq++
      const message = bySeq.get(seq)
      const recalled = recalledBySeq.get(seq)
      changes.push(
        message
          ? { change, kind: 'stored', message }
          : { change, kind: 'skipped', ...(recalled && { recalled }) },
      )
    }
    return Promise.all(changes)
  }

  /** Lists messages above a position. The newest ones are found without a search for that position. */
  async #listStored(
    db: Queryable,
    log: ReadableLog,
    { end, ...page }: StoredPage & { readonly end: number },
  ): Promise<HistoryMessage[]> {
    const { messageLog } = this.options
    const { seq, limit, afterId } = page
    const count = end - seq
    if (afterId === null && count <= limit) {
      const newest = await messageLog.page(db, log, {
        upToId: Number.MAX_SAFE_INTEGER,
        limit: count,
      })
      // Messages that came since would take the places of others.
      if (newest.every((message) => message.seq <= end)) return newest
    }
    return messageLog.listAfter(db, log, page)
  }

  async #alteredBy(
    db: Queryable,
    log: ReadableLog,
    { change, kind, messageId, tombstone }: Alteration,
  ): Promise<Change> {
    // The message was altered again after the page was read.
    const skipped = { change, kind: 'skipped' } as const
    if (kind === alterationKind.recalled)
      return tombstone ? { change, kind: 'recalled', tombstone } : skipped
    const message = await this.options.messageLog.find(db, log, messageId)
    return message ? { change, kind: 'edited', message } : skipped
  }
}

interface Step {
  readonly after: number
  readonly next: number
  /** The last message of the step before; null = not known */
  readonly afterId: number | null
}

type StoredPage = Parameters<HistoryStore['listAfter']>[2]

const notBegun: ChangeState = { seq: 0, alterations: 0, keptFrom: 0, hiddenMessageId: 0 }

function* range(first: number, last: number): Generator<number> {
  for (let number = first; number <= last; number++) yield number
}

function messagesOf(changes: readonly Change[]): HistoryMessage[] {
  return changes.flatMap((each) => ('message' in each ? [each.message] : []))
}

/** @returns approximate bytes of a change as JSON */
export function bytesOfChange(change: Change): number {
  return 'message' in change ? bytesOfMessage(change.message) : frameBytes
}

/** @returns approximate bytes of a message as JSON */
export function bytesOfMessage({ content, attachment, config, ext }: MessageContent): number {
  return (
    frameBytes + jsonBytes(content) + jsonBytes(attachment) + jsonBytes(config) + jsonBytes(ext)
  )
}

function jsonBytes(text: string): number {
  return text === '' ? 0 : Buffer.byteLength(JSON.stringify(text))
}
