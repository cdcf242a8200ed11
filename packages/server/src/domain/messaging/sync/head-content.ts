import type { Database } from '../../../db/database.js'
import { EventLoopBudget } from '../../../lib/concurrency/event-loop-budget.js'
import type { HistoryStore } from '../log/history-store.js'
import type { Change } from '../model/change-model.js'
import type { HistoryMessage } from '../model/message-model.js'
import {
  bytesOfMessage,
  type ChangeService,
  maxChanges,
  maxJoinedNumbers,
  type PlannedChanges,
} from '../reading/change-service.js'
import { fitting, type PageReads } from '../reading/page-reads.js'
import { type StoredHead, lastChange } from './head-model.js'

/** The changes or messages of a log with its head. */
export type HeadContent =
  /** All changes above `from`, up to the head. */
  | { readonly kind: 'changes'; readonly from: number; readonly changes: readonly Change[] }
  /** The newest messages, newest first. */
  | { readonly kind: 'messages'; readonly messages: readonly HistoryMessage[] }
  /** They do not fit in the page, or none were requested. */
  | { readonly kind: 'none' }

/** A head with the number of the client, as far as it is known. */
export interface KnownHead {
  readonly head: StoredHead
  /** All changes above this number are wanted; null = the newest messages. */
  readonly known: number | null
}

interface PageBounds {
  /** Newest messages of a log. */
  readonly window: number
  /** Bytes of the page without its heads. */
  readonly maxBytes: number
  /** True: skipped numbers in a row are one entry of the changes. */
  readonly joinsSkipped: boolean
}

const nothing: HeadContent = { kind: 'none' }
/** Heads that are filled in one turn of the event loop. */
const headsPerStep = 8

/** The content of a head by the sizes of its messages, before it is read. */
type HeadPlan =
  | { readonly kind: 'changes'; readonly bytes: number; readonly plan: PlannedChanges }
  | {
      readonly kind: 'messages'
      readonly bytes: number
      readonly upToId: number
      readonly count: number
    }
  | { readonly kind: 'known'; readonly bytes: 0; readonly content: HeadContent }

/** A content and its bytes as JSON. */
interface SizedContent {
  readonly content: HeadContent
  readonly bytes: number
}

/** Fills a page of heads with changes and messages, in their order, as long as they fit. */
export class HeadContents {
  readonly #steps = new EventLoopBudget({ perTurn: 1 })

  constructor(
    private readonly options: {
      readonly database: Database
      readonly changes: Pick<ChangeService, 'plan' | 'read'>
      readonly messageLog: Pick<HistoryStore, 'listSizes' | 'page'>
      readonly pages: PageReads
    },
  ) {}

  /** @returns the content of each head, in their order */
  async fill(heads: readonly KnownHead[], page: PageBounds): Promise<HeadContent[]> {
    const { maxBytes } = page
    const contents: HeadContent[] = []
    let left = maxBytes
    // The fewest changes or messages that did not fit; as many will hardly fit later.
    let tooMany = Number.POSITIVE_INFINITY
    for await (const step of this.#steps.chunks(heads, headsPerStep)) {
      const bounds = { ...page, maxBytes: left }
      const mayFit = (each: KnownHead) => {
        const count = wantedCount(each, page)
        return count === 0 || count < tooMany
      }
      const plans = await Promise.all(
        step.map((each) => (mayFit(each) ? this.#plan(each, bounds) : null)),
      )
      let unplanned = left
      const found = await Promise.all(
        plans.map((plan, index) => {
          if (plan === null || plan.bytes > unplanned) return null
          unplanned -= plan.bytes
          return this.#read(step[index] as KnownHead, plan, bounds)
        }),
      )
      for (const [index, read] of found.entries()) {
        if (read && read.bytes <= left) {
          contents.push(read.content)
          left -= read.bytes
        } else {
          contents.push(nothing)
          tooMany = Math.min(tooMany, wantedCount(step[index] as KnownHead, page))
        }
      }
    }
    return contents
  }

  /** Reads the sizes of the messages of a head. @returns null when they do not fit */
  async #plan({ head, known }: KnownHead, bounds: PageBounds): Promise<HeadPlan | null> {
    const { maxBytes, joinsSkipped } = bounds
    if (known === null || !hasChangesAbove(head, known, joinsSkipped))
      return this.#planNewest(head, bounds)
    const upTo = lastChange(head)
    if (known === upTo)
      return { kind: 'known', bytes: 0, content: { kind: 'changes', from: known, changes: [] } }
    if (maxBytes <= 0) return null
    const span = { after: known, upTo, maxEntries: maxChanges, joinsSkipped, maxBytes }
    const plan = await this.options.changes.plan(head.log, { state: head, span })
    if (plan.next === upTo) return { kind: 'changes', bytes: plan.bytes, plan }
    // So many numbers are few entries only when most of them are skipped.
    return upTo - known > maxChanges ? this.#planNewest(head, bounds) : null
  }

  /** Reads the sizes of the newest messages. @returns null when they do not fit */
  async #planNewest(head: StoredHead, { window, maxBytes }: PageBounds): Promise<HeadPlan | null> {
    const { database, messageLog, pages } = this.options
    if (window === 0) return { kind: 'known', bytes: 0, content: nothing }
    if (maxBytes <= 0) return null
    // Messages that came after the head are in the changes above it. Here they would take the
    // places of older ones, and clients take fewer messages than `window` for all that there are.
    const page = { upToId: head.latestMessageId, limit: window }
    const sizes =
      head.latestMessageId === 0
        ? []
        : await pages.sizes(() => database.read((db) => messageLog.listSizes(db, head.log, page)))
    const shown = sizes.filter(({ messageId }) => messageId > head.hiddenMessageId)
    const { count, bytes } = fitting(shown, maxBytes)
    if (count < shown.length || bytes > maxBytes) return null
    return { kind: 'messages', bytes, count, upToId: shown[0]?.messageId ?? 0 }
  }

  async #read(
    { head }: KnownHead,
    plan: HeadPlan,
    bounds: PageBounds,
  ): Promise<SizedContent | null> {
    switch (plan.kind) {
      case 'known':
        return plan
      case 'changes': {
        const read = await this.options.changes.read(head.log, { state: head, plan: plan.plan })
        if (read === null) return this.#readNewest(head, bounds)
        const { span, next } = plan.plan
        const content = { kind: 'changes', from: span.after, changes: read.changes } as const
        return read.next === next ? { content, bytes: read.bytes } : null
      }
      case 'messages':
        return this.#readMessages(head, plan)
    }
  }

  /** Reads the newest messages in place of changes that were removed since. */
  async #readNewest(head: StoredHead, bounds: PageBounds): Promise<SizedContent | null> {
    const plan = await this.#planNewest(head, bounds)
    return plan && this.#read({ head, known: null }, plan, bounds)
  }

  async #readMessages(
    { log }: StoredHead,
    { bytes, upToId, count: limit }: HeadPlan & { readonly kind: 'messages' },
  ): Promise<SizedContent> {
    const { database, messageLog, pages } = this.options
    if (limit === 0) return { content: { kind: 'messages', messages: [] }, bytes: 0 }
    const messages = await pages.run(bytes, () =>
      database.read((db) => messageLog.page(db, log, { upToId, limit })),
    )
    return {
      content: { kind: 'messages', messages },
      bytes: messages.reduce((sum, message) => sum + bytesOfMessage(message), 0),
    }
  }
}

/** Tests whether the changes above a number are stored, and may be few. */
function hasChangesAbove(head: StoredHead, known: number, joinsSkipped: boolean): boolean {
  const end = lastChange(head)
  const most = joinsSkipped ? maxJoinedNumbers : maxChanges
  return known >= head.keptFrom && known <= end && end - known <= most
}

/** The number of changes or messages that the content of a head may have. */
function wantedCount(
  { head, known }: KnownHead,
  { window, joinsSkipped }: Pick<PageBounds, 'window' | 'joinsSkipped'>,
): number {
  if (known !== null && hasChangesAbove(head, known, joinsSkipped))
    return Math.min(lastChange(head) - known, maxChanges)
  return head.latestMessageId === 0 ? 0 : Math.min(window, head.seq)
}
