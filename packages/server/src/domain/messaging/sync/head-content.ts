import type { Database, Queryable } from '../../../db/database.js'
import { EventLoopBudget } from '../../../lib/concurrency/event-loop-budget.js'
import { maxPageBytes } from '../../paging.js'
import type { HistoryStore } from '../log/history-store.js'
import type { Change } from '../model/change-model.js'
import { textUnits } from '../model/message-content.js'
import type { HistoryMessage } from '../model/message-model.js'
import {
  bytesOfChange,
  bytesOfMessage,
  type ChangeService,
  maxChanges,
} from '../reading/change-service.js'
import { type Head, lastChange } from './head-model.js'

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
  readonly head: Head
  /** All changes above this number are wanted; null = the newest messages. */
  readonly known: number | null
}

interface PageBounds {
  /** Newest messages of a log. */
  readonly window: number
  /** Bytes of the page without its heads. */
  readonly maxBytes: number
}

const nothing: HeadContent = { kind: 'none' }
/** Heads that are filled in one turn of the event loop. */
const headsPerStep = 8
const messagesPerStep = 25
/** Bounds on reads in parallel, as for pages of history. */
const budget = { maxRunning: 64, perTurn: maxPageBytes }

/** Fills a page of heads with changes and messages, in their order, as long as they fit. */
export class HeadContents {
  readonly #budget = new EventLoopBudget(budget)
  readonly #steps = new EventLoopBudget({ perTurn: 1 })

  constructor(
    private readonly options: {
      readonly database: Database
      readonly changes: Pick<ChangeService, 'read'>
      readonly messageLog: Pick<HistoryStore, 'page'>
    },
  ) {}

  /** @returns the content of each head, in their order */
  async fill(
    heads: readonly KnownHead[],
    { window, maxBytes }: PageBounds,
  ): Promise<HeadContent[]> {
    const contents: HeadContent[] = []
    let left = maxBytes
    // The fewest changes or messages that did not fit; as many will hardly fit later.
    let tooMany = Number.POSITIVE_INFINITY
    for await (const step of this.#steps.chunks(heads, headsPerStep)) {
      const bounds = { window, maxBytes: left }
      const mayFit = (each: KnownHead) => {
        const count = countOf(each, window)
        return count === 0 || count < tooMany
      }
      const found = await Promise.all(
        step.map((each) => (mayFit(each) ? this.#read(each, bounds) : null)),
      )
      for (const [index, content] of found.entries()) {
        const bytes = content ? bytesOf(content) : Number.POSITIVE_INFINITY
        if (content && bytes <= left) {
          contents.push(content)
          left -= bytes
        } else {
          contents.push(nothing)
          tooMany = Math.min(tooMany, countOf(step[index] as KnownHead, window))
        }
      }
    }
    return contents
  }

  /** @returns null when it does not fit */
  async #read(
    { head, known }: KnownHead,
    { window, maxBytes }: PageBounds,
  ): Promise<HeadContent | null> {
    const upTo = lastChange(head)
    if (known !== null && hasChangesAbove(head, known)) {
      if (known === upTo) return { kind: 'changes', from: known, changes: [] }
      if (maxBytes <= 0) return null
      const span = { after: known, upTo, maxBytes }
      const read = await this.options.changes.read(head.log, { state: head, span })
      if (read)
        return read.next === upTo ? { kind: 'changes', from: known, changes: read.changes } : null
    }
    if (window === 0) return nothing
    if (maxBytes <= 0) return null
    return { kind: 'messages', messages: await this.#newest(head, { window, maxBytes }) }
  }

  /** Reads in steps, and stops when the messages do not fit. */
  async #newest(head: Head, { window, maxBytes }: PageBounds) {
    const messages: HistoryMessage[] = []
    if (head.latestMessageId === 0) return messages
    for (let upToId = Number.MAX_SAFE_INTEGER; messages.length < window; ) {
      const limit = Math.min(window - messages.length, messagesPerStep)
      const found = await this.#budget.run(
        () => this.options.database.read((db) => this.#page(db, head, { upToId, limit })),
        textUnits,
      )
      // Messages that came after the head are in the changes above it.
      messages.push(...found.filter(({ seq }) => seq <= head.seq))
      if (found.length < limit || textUnits(messages) > maxBytes) break
      upToId = (found.at(-1)?.messageId ?? 0) - 1
    }
    return messages
  }

  #page(
    db: Queryable,
    { log }: Head,
    page: { readonly upToId: number; readonly limit: number },
  ): Promise<HistoryMessage[]> {
    return this.options.messageLog.page(db, log, page)
  }
}

/** Tests whether the changes above a number are stored, and few. */
function hasChangesAbove(head: Head, known: number): boolean {
  const end = lastChange(head)
  return known >= head.keptFrom && known <= end && end - known <= maxChanges
}

/** The number of changes or messages that the content of a head may have. */
function countOf({ head, known }: KnownHead, window: number): number {
  if (known !== null && hasChangesAbove(head, known)) return lastChange(head) - known
  return head.latestMessageId === 0 ? 0 : Math.min(window, head.seq)
}

function bytesOf(content: HeadContent): number {
  switch (content.kind) {
    case 'changes':
      return content.changes.reduce((sum, change) => sum + bytesOfChange(change), 0)
    case 'messages':
      return content.messages.reduce((sum, message) => sum + bytesOfMessage(message), 0)
    case 'none':
      return 0
  }
}
