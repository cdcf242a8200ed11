import { AppError } from '@hermod/protocol'
import type { EventKind } from '@hermod/protocol/events'
import type { Database } from '../../db/database.js'
import type { EventLoopBudget } from '../../lib/concurrency/event-loop-budget.js'
import { stringifyJson } from '../../lib/json.js'
import { type AppOutbox, appOutbox, type MissedRows, pageAfter } from '../../outbox/outbox-page.js'
import type { OutboxReader, OutboxRow } from '../../outbox/outbox-reader.js'
import { maxPageBytes } from '../paging.js'
import { lastRow, type LogPosition, positionAfter } from './event-cursor.js'
import type { LoggedEvent } from './logged-event.js'
import type { LoggedEvents } from './logged-events.js'

/** Choice of the events of a page. */
export interface LogFilter {
  /** Empty: all. */
  readonly kinds: ReadonlySet<EventKind>
  /** "" = all. */
  readonly key: string
  readonly limit: number
}

/** A part of the log. */
export interface EventSlice {
  readonly events: readonly LoggedEvent[]
  /** The place after everything that the page has or leaves out. */
  readonly next: LogPosition
  readonly hasMore: boolean
  /** They come before the events. */
  readonly missed: MissedRows | null
}

const maxRows = 10_000
const rowsPerRead = 500
/** Messages that are read at once: a bound on memory. */
const messagesPerRead = 100
/** Bytes of an event around its payload, at most. */
const frameBytes = 512

/** Tests whether a row may have events of a page. */
type RowTest = (row: OutboxRow) => boolean

/** Reads pages of the log. */
export class LogReader {
  constructor(
    private readonly options: {
      readonly database: Database
      readonly outbox: Pick<OutboxReader, 'head' | 'listAfter' | 'listOldest'>
      readonly events: Pick<LoggedEvents, 'count' | 'keyTest' | 'ofRow'>
      /** Shared by all reads of the service. */
      readonly budget: Pick<EventLoopBudget, 'begin'>
    },
  ) {}

  /** Returns the place before the oldest row that is kept. */
  async oldest(appId: string): Promise<LogPosition> {
    const { database, outbox } = this.options
    // The head is read first: rows that it does not count come after it.
    const head = await this.head(appId)
    const [row] = await database.read((db) => outbox.listOldest(db, appId, 1))
    return { position: row ? row.position - 1 : head, place: 0 }
  }

  /** Returns the position of the last row; 0: none. */
  async head(appId: string): Promise<number> {
    const { database, outbox } = this.options
    return database.read((db) => outbox.head(db, appId))
  }

  /** @throws AppError event_cursor_invalid for a place after the end of the log */
  async requireReached(appId: string, place: LogPosition): Promise<number> {
    const head = await this.head(appId)
    if (lastRow(place) <= head) return head
    throw new AppError(
      'event_cursor_invalid',
      'it is after the end of the log: an older state of the database was restored without a new epoch; read from the start',
    )
  }

  /**
   * Looks at 10,000 rows at most. Other work runs between its steps.
   *
   * @throws AppError event_cursor_invalid for a place after the end of the log
   */
  async read(appId: string, from: LogPosition, filter: LogFilter): Promise<EventSlice> {
    const { database, outbox, budget } = this.options
    const log: AppOutbox = {
      ...appOutbox(database, outbox, appId),
      head: () => this.requireReached(appId, from),
    }
    const page = new PageBuilder(from, filter)
    const matches = this.#testOf(filter)
    const isFiltered = filter.kinds.size > 0 || filter.key !== ''
    const perRead = isFiltered ? rowsPerRead : Math.min(rowsPerRead, filter.limit + 1)
    for (let rowsLeft = maxRows; rowsLeft > 0; ) {
      await budget.begin()
      const count = Math.min(perRead, rowsLeft)
      const { rows, missed } = await pageAfter(log, page.next.position, count)
      if (missed) {
        // Rows were deleted during the call; the next one reports them.
        if (page.next !== from) return page.end(true)
        page.skip(missed)
      }
      if (!(await this.#addRows(appId, rows, page, matches))) return page.end(true)
      if (rows.length < count) return page.end(false)
      rowsLeft -= rows.length
    }
    return page.end((await this.head(appId)) > page.next.position)
  }

  #testOf({ kinds, key }: LogFilter): RowTest {
    const hasKey = key === '' ? null : this.options.events.keyTest(key)
    return (row) => (kinds.size === 0 || kinds.has(row.kind)) && (hasKey?.(row) ?? true)
  }

  /** @returns false when the page is full */
  async #addRows(
    appId: string,
    rows: readonly OutboxRow[],
    page: PageBuilder,
    matches: RowTest,
  ): Promise<boolean> {
    const { budget, events } = this.options
    for (const [number, group] of [...this.#groups(rows, page.filter.limit, matches)].entries()) {
      if (number > 0) await budget.begin()
      const read = await Promise.all(
        group.map(({ row, isWanted }) => (isWanted ? events.ofRow(appId, row) : [])),
      )
      for (const [index, { row }] of group.entries())
        if (!page.add(row.position, read[index] ?? [])) return false
    }
    return true
  }

  /** Divides rows so that few messages are read at once. */
  *#groups(rows: readonly OutboxRow[], limit: number, matches: RowTest) {
    const { events } = this.options
    const maxMessages = Math.min(messagesPerRead, limit + 1)
    let group: { readonly row: OutboxRow; readonly isWanted: boolean }[] = []
    let messages = 0
    for (const row of rows) {
      const isWanted = matches(row)
      const count = isWanted ? events.count(row) : 0
      if (messages > 0 && messages + count > maxMessages) {
        yield group
        group = []
        messages = 0
      }
      group.push({ row, isWanted })
      messages += count
    }
    if (group.length > 0) yield group
  }
}

/** Collects the events of a page until it is full. */
class PageBuilder {
  next: LogPosition
  readonly #events: LoggedEvent[] = []
  #bytes = 0
  #missed: MissedRows | null = null

  constructor(
    from: LogPosition,
    readonly filter: LogFilter,
  ) {
    this.next = from
  }

  /** Passes rows that are gone. */
  skip(missed: MissedRows): void {
    this.#missed = missed
    this.next = { position: missed.last, place: 0 }
  }

  /** Adds the events of the next row. @returns false when the page is full before its end */
  add(position: number, events: readonly LoggedEvent[]): boolean {
    const { kinds, key, limit } = this.filter
    const { place: readPlace } = this.next
    for (const event of events) {
      if (event.place <= readPlace) continue
      if (kinds.size > 0 && !kinds.has(event.kind as EventKind)) continue
      if (key !== '' && event.key !== key) continue
      if (this.#events.length === limit) return false
      this.#bytes += Buffer.byteLength(stringifyJson(event.payload)) + frameBytes
      if (this.#bytes > maxPageBytes && this.#events.length > 0) return false
      this.#events.push(event)
      this.next = positionAfter(event)
    }
    this.next = { position, place: 0 }
    return true
  }

  end(hasMore: boolean): EventSlice {
    return { events: this.#events, next: this.next, hasMore, missed: this.#missed }
  }
}
