import { AppError } from '@hermod/protocol'
import type { Histories } from '../../db/identity/histories.js'
import { pause } from '../../lib/concurrency/pause.js'
import { KeyedSlots } from '../../lib/concurrency/slots.js'
import type { ConsumerService, ConsumerSummary } from './consumer-service.js'
import { decodeCursor, encodeCursor, type LogPosition } from './event-cursor.js'
import type { EventWaits } from './event-waits.js'
import type { LogFilter, EventSlice, LogReader } from './log-reader.js'

/** The place where a call begins to read. */
export type LogStart =
  | { readonly kind: 'cursor'; readonly cursor: string }
  | { readonly kind: 'oldest' }
  | { readonly kind: 'end' }
  | { readonly kind: 'consumer'; readonly name: string }

/** A read of the event log by an app. */
export interface ReadRequest extends LogFilter {
  readonly start: LogStart
  /** The time to wait for an event while there is none. */
  readonly waitMs: number
}

/** A page as callers read on from it. */
export interface EventLogPage extends Omit<EventSlice, 'next'> {
  readonly cursor: string
}

/** A reader is woken by every commit; one that gets nothing of it reads again after this time. */
const quietMs = 100
/** Reads of an application that run at once, and further ones that wait for them. */
const parallelReads = 2
const waitingReads = 20

/** The log of events of applications, for their readers. */
export class EventLogService {
  /** By application. */
  readonly #reads = new KeyedSlots(() => ({
    parallel: parallelReads,
    maxWaiting: waitingReads,
    full: () =>
      new AppError(
        'too_many_event_readers',
        `${parallelReads} calls read and ${waitingReads} wait for their turn`,
        { retryAfterSeconds: 1 },
      ),
  }))

  constructor(
    private readonly options: {
      readonly reader: LogReader
      readonly waits: EventWaits
      readonly consumers: ConsumerService
      readonly histories: Pick<Histories, 'current' | 'lastPosition'>
    },
  ) {}

  /** The epoch of the cursors. */
  get epoch(): string {
    return this.options.histories.current
  }

  /**
   * Reads a page; waits for an event when there is none.
   *
   * @param signal ends the wait; the page is empty then
   * @throws AppError event_cursor_invalid, event_consumer_limit_reached, too_many_event_readers
   */
  async read(
    appId: string,
    { start, waitMs, ...filter }: ReadRequest,
    signal: AbortSignal,
  ): Promise<EventLogPage> {
    using wait = waitMs > 0 ? this.options.waits.enter(appId) : null
    const endsAt = performance.now() + waitMs
    let from = await this.#positionOf(appId, start)
    for (let reads = 1; ; reads++) {
      wait?.arm()
      const { next, ...page } = await this.#readSlice(appId, from, filter, signal)
      const isEmpty = page.events.length === 0 && page.missed === null && !page.hasMore
      const leftMs = endsAt - performance.now()
      if (!isEmpty || wait === null || leftMs <= 0 || signal.aborted)
        return { ...page, cursor: this.#cursor(appId, next) }
      from = next
      if (reads > 1) await pause(Math.min(quietMs, leftMs), signal)
      await wait.woken(leftMs, signal)
    }
  }

  /**
   * Moves a consumer to a cursor; one before its place changes nothing.
   *
   * @throws AppError event_cursor_invalid, event_consumer_not_found
   */
  async acknowledge(appId: string, name: string, cursor: string): Promise<void> {
    const place = decodeCursor(cursor, { appId, histories: this.options.histories })
    await this.options.consumers.acknowledge({ appId, name }, place)
  }

  /** Lists consumers by name, with their cursors. */
  async listConsumers(appId: string): Promise<(ConsumerSummary & { readonly cursor: string })[]> {
    const consumers = await this.options.consumers.list(appId)
    return consumers.map((each) => ({ ...each, cursor: this.#cursor(appId, each.consumer) }))
  }

  /** @throws AppError event_consumer_not_found */
  deleteConsumer(appId: string, name: string): Promise<void> {
    return this.options.consumers.delete({ appId, name })
  }

  /** @throws AppError event_cursor_invalid, too_many_event_readers */
  #readSlice(
    appId: string,
    from: LogPosition,
    filter: LogFilter,
    signal: AbortSignal,
  ): Promise<EventSlice> {
    return this.#reads.run(appId, async () =>
      signal.aborted
        ? { events: [], next: from, hasMore: false, missed: null }
        : this.options.reader.read(appId, from, filter),
    )
  }

  async #positionOf(appId: string, start: LogStart): Promise<LogPosition> {
    const { reader, consumers, histories } = this.options
    switch (start.kind) {
      case 'oldest':
        return reader.oldest(appId)
      case 'end':
        return { position: await reader.head(appId), place: 0 }
      case 'consumer':
        return consumers.place({ appId, name: start.name })
      case 'cursor':
        return decodeCursor(start.cursor, { appId, histories })
    }
  }

  #cursor(appId: string, place: LogPosition): string {
    return encodeCursor({ appId, epoch: this.epoch }, place)
  }
}
