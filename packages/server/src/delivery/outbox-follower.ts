import { AppError } from '@hermod/protocol'
import type { DeliveredEvent } from '../outbox/consumer.js'
import { type AppOutbox, pageAfter } from '../outbox/outbox-page.js'
import type { OutboxRow } from '../outbox/outbox-store.js'
import type { ChangedLog } from '../outbox/rows/log-key.js'
import { RecentRows } from '../outbox/rows/recent-rows.js'
import type { RowKeys } from '../outbox/rows/row-keys.js'

/** The outbox of one app, and what its rows are about. */
export interface FollowedOutbox extends AppOutbox {
  eventsOf(row: OutboxRow): Promise<readonly DeliveredEvent[]>
  keysOfRow(row: OutboxRow): RowKeys
}

/** The turns and timers of the event loop; tests replace them. */
export interface Timers {
  nextTurn(run: () => void): void
  after(ms: number, run: () => void): void
}

interface OutboxFollowerOptions {
  readonly outbox: FollowedOutbox
  readonly timers: Timers
  /** Milliseconds since 1970. */
  now(): number
  /** The next row in the order of positions. */
  begin(row: RowKeys, events: readonly DeliveredEvent[]): void
  /** The rows up to this position were purged before they were begun. */
  missed(upTo: number): void
  failed(error: unknown): void
  /** Returns a promise while no more rows should be begun. */
  room(): Promise<void> | null
}

/** A row that can be begun once the row before it is. */
interface ReadyRow {
  readonly row: RowKeys
  readonly events: readonly DeliveredEvent[]
}

interface Waiter {
  readonly position: number
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Rows whose keys are read at the start. */
const recentAtStart = 20_000
const rowsPerRecentPage = 500
const rowsPerPage = 100
/** Rows whose events are read at once. */
const rowsAtOnce = 8
/** Rows that are ready, above which none are handed over. */
const maxReady = 1_000
/** The time of the event loop that rows are begun for without a pause. */
const turnMs = 2
/** The time in which a wake is answered by rows that are handed over. */
const handOverMs = 5

/**
 * Follows the outbox of one app from its end. Rows become ready when they are handed over in memory or
 * read, and are begun when they come next. Positions are dense, so the order is exact.
 */
export class OutboxFollower {
  /** By position. */
  readonly #ready = new Map<number, ReadyRow>()
  readonly #waiters: Waiter[] = []
  #recent = new RecentRows(0)
  #position = 0
  #isStarted = false
  #isStopped = false
  #isReading = false
  #mustRead = false
  /** True while rows wait for room, or for the next turn of the event loop. */
  #isPaused = false
  #isWoken = false
  /**
   * The time until which rows are begun in this turn of the event loop, as performance.now(); 0 =
   * none was begun yet.
   */
  #turnEnd = 0

  constructor(private readonly options: OutboxFollowerOptions) {}

  /** The position that was begun last. */
  get position(): number {
    return this.#position
  }

  /** The keys of the newest rows that were begun. */
  get recent(): RecentRows {
    return this.#recent
  }

  get isStarted(): boolean {
    return this.#isStarted
  }

  /**
   * Reads the keys of the newest rows, and follows the outbox from its end.
   * @returns the time of the last row; 0 = not known
   */
  async start(): Promise<number> {
    const { outbox, timers } = this.options
    const head = await outbox.head()
    let after = Math.max(0, head - recentAtStart)
    const recent = new RecentRows(after)
    while (after < head) {
      const rows = await outbox.listAfter(after, rowsPerRecentPage)
      for (const row of rows) if (row.position <= head) recent.add(outbox.keysOfRow(row))
      after = rows.at(-1)?.position ?? head
      await new Promise<void>((resolve) => timers.nextTurn(resolve))
    }
    const last = recent.at(head)
    if (!last) recent.clear(head)
    this.#recent = recent
    this.#position = head
    this.#isStarted = true
    return last?.createdAt ?? 0
  }

  stop(): void {
    this.#isStopped = true
    this.#rejectAll(new AppError('unavailable'))
  }

  /**
   * Rows were appended. Rows that are handed over are waited for, so that they are not read.
   * @param position of the last one; undefined: not known
   */
  wake(position = Number.POSITIVE_INFINITY): void {
    if (!this.#isStarted || this.#isWoken) return
    // Begun, or to be begun; the rows before it are read where they are missing.
    if (position <= this.#position || this.#ready.has(position)) return
    this.#isWoken = true
    const { timers } = this.options
    const before = this.#position
    const read = () => {
      this.#isWoken = false
      void this.read()
    }
    timers.nextTurn(() => {
      if (before === this.#position) read()
      else timers.after(handOverMs, read)
    })
  }

  /** Takes the events of a row that was committed on this node. */
  handOver(position: number, events: readonly DeliveredEvent[]): void {
    if (!this.#isStarted || position <= this.#position) return
    if (events.length === 0 || this.#ready.size >= maxReady) return
    this.#ready.set(position, {
      row: handedKeys(position, events, this.options.now()),
      events,
    })
    this.#beginReady()
    this.#readGap()
  }

  /** Reads and begins the rows that are not handed over. */
  async read(): Promise<void> {
    this.#mustRead = true
    if (this.#isReading || !this.#isStarted) return
    this.#isReading = true
    try {
      while (this.#mustRead && !this.#isStopped) {
        this.#mustRead = false
        await this.#readPages()
      }
    } catch (error) {
      if (this.#isStopped) return
      this.#rejectAll(error)
      this.options.failed(error)
    } finally {
      this.#isReading = false
    }
  }

  /** Resolves once the position is begun. */
  reached(position: number): Promise<void> | undefined {
    if (this.#position >= position) return
    const reached = this.#begun(position)
    void this.read()
    return reached
  }

  /** Resolves once the position is begun by {@link #beginReady} or passed. */
  #begun(position: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiters.push({ position, resolve, reject })
    })
  }

  async #readPages(): Promise<void> {
    const { outbox } = this.options
    let rows: readonly OutboxRow[]
    do {
      const page = await pageAfter(outbox, this.#position, rowsPerPage, this.#committed())
      rows = page.rows
      // Rows may have been begun since.
      if (page.missed && page.missed.last > this.#position) this.#pass(page.missed.last)
      for (let start = 0; start < rows.length; start += rowsAtOnce)
        await this.#readEvents(rows.slice(start, start + rowsAtOnce))
    } while (rows.length === rowsPerPage && !this.#isStopped)
    this.#beginReady()
  }

  /** Returns the last position that is known to be committed. */
  #committed(): number {
    const waited = this.#waiters.map(({ position }) => position)
    return Math.max(this.#position, ...waited, ...this.#ready.keys())
  }

  /** Reads the events of rows that were not handed over. Resolves when all rows are begun. */
  async #readEvents(rows: readonly OutboxRow[]): Promise<void> {
    const { outbox } = this.options
    await Promise.all(
      rows.map(async (row) => {
        if (row.position <= this.#position || this.#ready.has(row.position)) return
        const events = await outbox.eventsOf(row)
        // It may have been handed over since.
        if (row.position > this.#position)
          this.#ready.set(row.position, { row: outbox.keysOfRow(row), events })
      }),
    )
    const last = rows.at(-1)?.position ?? 0
    const begun = last > this.#position ? this.#begun(last) : undefined
    this.#beginReady()
    await begun
  }

  /** Begins the rows that are ready and come next. */
  #beginReady(): void {
    if (this.#isPaused) return
    const { timers, room } = this.options
    for (;;) {
      const next = this.#ready.get(this.#position + 1)
      if (!next) return
      const noRoom = room()
      if (noRoom || this.#isTurnOver()) {
        this.#isPaused = true
        if (noRoom) void noRoom.then(() => this.#continue())
        else timers.nextTurn(() => this.#continue())
        return
      }
      this.#begin(next)
    }
  }

  #continue(): void {
    this.#isPaused = false
    this.#beginReady()
    this.#readGap()
  }

  /** Reads the rows before a ready one. They were committed before it, and nothing hands them over now. */
  #readGap(): void {
    if (this.#ready.size > 0 && !this.#isPaused) void this.read()
  }

  /** Tests whether beginning rows has taken its time of this turn of the event loop. */
  #isTurnOver(): boolean {
    const now = performance.now()
    if (this.#turnEnd > 0) return now > this.#turnEnd
    this.#turnEnd = now + turnMs
    this.options.timers.nextTurn(() => {
      this.#turnEnd = 0
    })
    return false
  }

  #begin({ row, events }: ReadyRow): void {
    this.#ready.delete(row.position)
    this.#position = row.position
    this.#recent.add(row)
    this.options.begin(row, events)
    this.#settle()
  }

  #pass(upTo: number): void {
    this.#position = upTo
    this.#recent.clear(upTo)
    for (const position of this.#ready.keys()) if (position <= upTo) this.#ready.delete(position)
    this.options.missed(upTo)
    this.#settle()
  }

  #settle(): void {
    if (this.#waiters.length === 0) return
    const all = this.#waiters.splice(0)
    for (const waiter of all)
      if (waiter.position <= this.#position) waiter.resolve()
      else this.#waiters.push(waiter)
  }

  #rejectAll(error: unknown): void {
    for (const { reject } of this.#waiters.splice(0)) reject(error)
  }
}

/** The keys of a row of messages that was handed over. */
function handedKeys(position: number, events: readonly DeliveredEvent[], now: number): RowKeys {
  const logs = new Map<string, ChangedLog>()
  for (const { payload, change = 0 } of events) {
    if (!('conversation' in payload)) continue
    const { low_id: lowId, high_id: highId, is_group: isGroup } = payload.conversation
    const key = `${lowId}/${highId}`
    if (!logs.has(key)) logs.set(key, { lowId, highId, isGroup, change })
  }
  return {
    position,
    createdAt: events[0]?.createdAt ?? now,
    logs: [...logs.values()],
    groupIds: [],
    userIds: [],
    isPrivate: false,
  }
}
