import type { Int64 } from '@hermod/protocol'
import type { Database, Queryable } from '../../../db/database.js'
import { EventLoopBudget } from '../../../lib/concurrency/event-loop-budget.js'
import { maxPageBytes, textsBytes } from '../../paging.js'
import type { HistoryStore } from '../log/history-store.js'
import type { Change } from '../model/change-model.js'
import { textUnits } from '../model/message-content.js'
import type { HistoryMessage } from '../model/message-model.js'
import {
  bytesOfChange,
  type ChangeService,
  maxChanges,
  textsOf,
} from '../reading/change-service.js'
import { type Head, lastChange } from './head-model.js'

/** The changes or messages of a log beside its head. */
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
/** Heads that are filled at once. */
const headsPerStep = 8
const messagesPerStep = 25
/** Bounds on reads in parallel, as for pages of history. */
const budget = { maxRunning: 64, perTurn: maxPageBytes }

/** Fills a page of heads with changes and messages, in their order, as long as they fit. */
export class HeadContents {
  readonly #budget = new EventLoopBudget(budget)

  constructor(
    private readonly options: {
      readonly database: Database
      readonly changes: Pick<ChangeService, 'read'>
      readonly messageLog: Pick<HistoryStore, 'page'>
    },
  ) {}

  /** @returns the content of each head, in their order */
  async fill(
    userId: Int64,
    heads: readonly KnownHead[],
    { window, maxBytes }: PageBounds,
  ): Promise<HeadContent[]> {
    const contents: HeadContent[] = []
    let left = maxBytes
    for (let first = 0; first < heads.length; first += headsPerStep) {
      const step = heads.slice(first, first + headsPerStep)
      const bounds = { window, maxBytes: left }
      const found = await Promise.all(step.map((each) => this.#read(userId, each, bounds)))
      for (const content of found) {
        const bytes = bytesOf(content)
        const fits = bytes <= left
        contents.push(fits ? content : nothing)
        if (fits) left -= bytes
      }
    }
    return contents
  }

  async #read(
    userId: Int64,
    { head, known }: KnownHead,
    { window, maxBytes }: PageBounds,
  ): Promise<HeadContent> {
    const upTo = lastChange(head)
    if (known !== null && known >= head.keptFrom && known <= upTo && upTo - known <= maxChanges) {
      if (known === upTo) return { kind: 'changes', from: known, changes: [] }
      if (maxBytes <= 0) return nothing
      const span = { after: known, upTo, maxBytes }
      const read = await this.options.changes.read(head.conversation, userId, { state: head, span })
      if (read)
        return read.next === upTo
          ? { kind: 'changes', from: known, changes: read.changes }
          : nothing
    }
    if (window === 0 || maxBytes <= 0) return nothing
    return { kind: 'messages', messages: await this.#newest(userId, head, { window, maxBytes }) }
  }

  /** Reads in steps, and stops when the messages do not fit. */
  async #newest(userId: Int64, head: Head, { window, maxBytes }: PageBounds) {
    const messages: HistoryMessage[] = []
    if (head.latestMessageId === 0) return messages
    for (let upToId = Number.MAX_SAFE_INTEGER; messages.length < window; ) {
      const limit = Math.min(window - messages.length, messagesPerStep)
      const found = await this.#budget.run(
        () => this.options.database.read((db) => this.#page(db, userId, head, { upToId, limit })),
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
    userId: Int64,
    { conversation }: Head,
    page: { readonly upToId: number; readonly limit: number },
  ): Promise<HistoryMessage[]> {
    return this.options.messageLog.page(db, conversation, { userId, ...page })
  }
}

/** Bytes of a message without its texts, and of a list. */
const frameBytes = 350

function bytesOf(content: HeadContent): number {
  switch (content.kind) {
    case 'changes':
      return content.changes.reduce((sum, change) => sum + bytesOfChange(change), 0)
    case 'messages':
      return content.messages.reduce((sum, each) => sum + frameBytes + textsBytes(textsOf(each)), 0)
    case 'none':
      return 0
  }
}
