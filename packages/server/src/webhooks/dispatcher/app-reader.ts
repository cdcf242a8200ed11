import { type LoggedEvent, sizeOf } from '../../domain/events/logged-event.js'
import type { Slots } from '../../lib/concurrency/slots.js'
import { appOutbox, type MissedRows, pageAfter } from '../../outbox/outbox-page.js'
import type { OutboxRow, OutboxStore } from '../../outbox/outbox-store.js'
import type { EndpointWorker, EndpointWorkerOptions, EventPage } from './endpoint-worker.js'

const rowsPerPage = 100

/** Bytes of the events of a page, roughly; a page has at least the events of the rows read together. */
const bytesPerPage = 1024 * 1024
/** Rows whose messages are read together. */
const rowsTogether = 20

export interface AppReaderOptions
  extends Pick<EndpointWorkerOptions, 'database' | 'events' | 'observer'> {
  readonly outbox: Pick<OutboxStore, 'head' | 'listAfter'>
  /** Readers of endpoints that are behind, on this node together. */
  readonly catchUps: Slots
}

/** Some rows of the log, and whether there may be more. */
interface AppPage extends EventPage {
  readonly hasMore: boolean
}

/**
 * The endpoints of one application on this node. The log is read once for all endpoints that are at
 * the same place; those that are behind are read for on their own until they reach the others.
 */
export class AppReader {
  /** By endpoint ID. */
  readonly workers = new Map<number, EndpointWorker>()
  #reading: Promise<void> | null = null
  #isWanted = false
  readonly #catchingUp = new Map<EndpointWorker, Promise<void>>()
  #isStopped = false

  constructor(
    readonly appId: string,
    private readonly options: AppReaderOptions,
  ) {}

  /** Reads what is new, and sends what is due. */
  run(): void {
    if (this.#isStopped) return
    for (const worker of this.workers.values()) {
      if (!worker.queue.isIdle) worker.queue.tick()
      if (worker.isReplaying)
        this.#readFor(worker, () => worker.replay((after) => this.#pageAfter(after)))
    }
    this.#isWanted = true
    this.#reading ??= this.#readWhileWanted().finally(() => {
      this.#reading = null
      if (this.#isWanted) this.run()
    })
  }

  /**
   * Ends all endpoints. Resolves when nothing is sent, read or stored any more.
   * @param graceMs time in which requests in flight may end
   */
  async stop(graceMs = 0): Promise<void> {
    this.#isStopped = true
    await Promise.all([...this.workers.values()].map((worker) => worker.stop(graceMs)))
    await Promise.all([this.#reading, ...this.#catchingUp.values()])
  }

  async #readWhileWanted(): Promise<void> {
    try {
      while (this.#isWanted && !this.#isStopped) {
        this.#isWanted = false
        while (await this.#readPage());
      }
    } catch (error) {
      // The next poll tries again.
      this.#isWanted = false
      this.options.observer.failed(this.appId, error)
    }
  }

  /** Reads a page for the endpoints that are farthest. @returns whether there may be more */
  async #readPage(): Promise<boolean> {
    const ready = [...this.workers.values()].filter(({ queue }) => queue.wantsEvents)
    const readTo = Math.max(...ready.map(({ queue }) => queue.readTo))
    if (ready.length === 0 || this.#isStopped) return false
    const front = ready.filter(({ queue }) => queue.readTo === readTo)
    for (const worker of ready)
      if (!front.includes(worker)) this.#readFor(worker, () => this.#catchUp(worker))
    return this.#offerPage(front, readTo)
  }

  /** Reads for one endpoint, if that is not done already. A few endpoints of a node do so at once. */
  #readFor(worker: EndpointWorker, read: () => Promise<void>): void {
    if (this.#catchingUp.has(worker)) return
    const { catchUps, observer } = this.options
    const reading = catchUps
      .run(read)
      .catch((error: unknown) => observer.failed(this.appId, error))
      .finally(() => this.#catchingUp.delete(worker))
    this.#catchingUp.set(worker, reading)
  }

  /** Reads until the endpoint has reached another one, or wants no more. */
  async #catchUp(worker: EndpointWorker): Promise<void> {
    while (this.#isBehind(worker))
      if (!(await this.#offerPage([worker], worker.queue.readTo))) return
  }

  #isBehind({ endpoint, queue }: EndpointWorker): boolean {
    const isCurrent = this.workers.get(Number(endpoint.endpointId))?.queue === queue
    const others = [...this.workers.values()].filter((other) => other.queue !== queue)
    const farthest = Math.max(0, ...others.map((other) => other.queue.readTo))
    return !this.#isStopped && isCurrent && queue.wantsEvents && queue.readTo < farthest
  }

  /** @returns whether there may be more */
  async #offerPage(workers: readonly EndpointWorker[], after: number): Promise<boolean> {
    const page = await this.#pageAfter(after)
    if (page === null || this.#isStopped) return false
    const [first] = page.events
    for (const worker of workers) {
      // One that went down in the meantime continues from another position.
      if (worker.queue.readTo !== after || !worker.queue.wantsEvents) continue
      if (first?.kind === 'events.missed')
        this.options.observer.missed(worker.endpoint, Number(first.payload.positions))
      worker.offer(page.events, page.readTo)
    }
    return page.hasMore
  }

  /** @returns null at the end of the log */
  async #pageAfter(after: number): Promise<AppPage | null> {
    const { database, outbox } = this.options
    const { appId } = this
    const log = appOutbox(database, outbox, appId)
    const { rows, missed } = await pageAfter(log, after, rowsPerPage)
    if (missed) return this.#missedPage(missed)
    return rows.length === 0 ? null : this.#pageOf(rows)
  }

  async #pageOf(rows: readonly OutboxRow[]): Promise<AppPage> {
    const { events: log } = this.options
    const events: LoggedEvent[] = []
    let bytes = 0
    let read = 0
    while (read < rows.length && bytes < bytesPerPage) {
      const part = rows.slice(read, read + rowsTogether)
      const found = await Promise.all(part.map((row) => log.ofRow(this.appId, row)))
      for (const event of found.flat()) {
        events.push(event)
        bytes += sizeOf(event)
      }
      read += part.length
    }
    const readTo = rows[read - 1]?.position ?? 0
    return { events, readTo, hasMore: read < rows.length || rows.length === rowsPerPage }
  }

  /** A page about rows that were deleted before they were read; the rows that follow are other pages. */
  #missedPage(missed: MissedRows): AppPage {
    return { events: [this.#missedEvent(missed)], readTo: missed.last, hasMore: true }
  }

  /** The event about rows that were deleted before they were read. */
  #missedEvent({ first, last, until }: MissedRows): LoggedEvent {
    const { appId } = this
    const place = { position: first, name: 'missed' }
    return {
      ...place,
      id: this.options.events.idOf(appId, place),
      kind: 'events.missed',
      appId,
      place: 0,
      key: 'app',
      createdAt: until,
      payload: {
        from_position: first,
        to_position: last,
        positions: last - first + 1,
        from: 0,
        to: until,
      },
    }
  }
}
