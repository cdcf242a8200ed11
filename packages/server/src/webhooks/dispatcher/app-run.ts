import { type LoggedEvent, sizeOf } from '../../domain/events/logged-event.js'
import type { Slots } from '../../lib/concurrency/slots.js'
import { appOutbox, type MissedRows, pageAfter } from '../../outbox/outbox-page.js'
import type { OutboxRow, OutboxStore } from '../../outbox/outbox-store.js'
import type { EndpointRun, EndpointRunOptions, EventPage } from './endpoint-run.js'

const rowsPerPage = 100

/** Bytes of the events of a page, roughly; a page has at least the events of the rows read together. */
const bytesPerPage = 1024 * 1024
/** Rows whose messages are read together. */
const rowsTogether = 20

export interface AppRunOptions
  extends Pick<EndpointRunOptions, 'database' | 'events' | 'observer'> {
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
export class AppRun {
  /** By endpoint ID. */
  readonly runs = new Map<number, EndpointRun>()
  #reading: Promise<void> | null = null
  #isWanted = false
  readonly #catchingUp = new Map<EndpointRun, Promise<void>>()
  #isStopped = false

  constructor(
    readonly appId: string,
    private readonly options: AppRunOptions,
  ) {}

  /** Reads what is new, and sends what is due. */
  run(): void {
    if (this.#isStopped) return
    for (const run of this.runs.values()) {
      if (!run.runner.isIdle) run.runner.tick()
      if (run.isReplaying) this.#readFor(run, () => run.replay((after) => this.#pageAfter(after)))
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
    await Promise.all([...this.runs.values()].map((run) => run.stop(graceMs)))
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
    const ready = [...this.runs.values()].filter(({ runner }) => runner.wantsEvents)
    const readTo = Math.max(...ready.map(({ runner }) => runner.readTo))
    if (ready.length === 0 || this.#isStopped) return false
    const front = ready.filter(({ runner }) => runner.readTo === readTo)
    for (const run of ready) if (!front.includes(run)) this.#readFor(run, () => this.#catchUp(run))
    return this.#offerPage(front, readTo)
  }

  /** Reads for one endpoint, if that is not done already. A few endpoints of a node do so at once. */
  #readFor(run: EndpointRun, read: () => Promise<void>): void {
    if (this.#catchingUp.has(run)) return
    const { catchUps, observer } = this.options
    const reading = catchUps
      .run(read)
      .catch((error: unknown) => observer.failed(this.appId, error))
      .finally(() => this.#catchingUp.delete(run))
    this.#catchingUp.set(run, reading)
  }

  /** Reads until the endpoint has reached another one, or wants no more. */
  async #catchUp(run: EndpointRun): Promise<void> {
    while (this.#isBehind(run)) if (!(await this.#offerPage([run], run.runner.readTo))) return
  }

  #isBehind({ endpoint, runner }: EndpointRun): boolean {
    const isCurrent = this.runs.get(Number(endpoint.endpointId))?.runner === runner
    const others = [...this.runs.values()].filter((other) => other.runner !== runner)
    const farthest = Math.max(0, ...others.map((other) => other.runner.readTo))
    return !this.#isStopped && isCurrent && runner.wantsEvents && runner.readTo < farthest
  }

  /** @returns whether there may be more */
  async #offerPage(runs: readonly EndpointRun[], after: number): Promise<boolean> {
    const page = await this.#pageAfter(after)
    if (page === null || this.#isStopped) return false
    const [first] = page.events
    for (const run of runs) {
      // One that went down in the meantime goes on from another place.
      if (run.runner.readTo !== after || !run.runner.wantsEvents) continue
      if (first?.kind === 'events.missed')
        this.options.observer.missed(run.endpoint, Number(first.payload.positions))
      run.offer(page.events, page.readTo)
    }
    return page.hasMore
  }

  /** @returns null at the end of the log */
  async #pageAfter(after: number): Promise<AppPage | null> {
    const { database, outbox } = this.options
    const { appId } = this
    const log = appOutbox(database, outbox, appId)
    const { rows, missed } = await pageAfter(log, after, rowsPerPage)
    if (missed) return missedPage(appId, missed)
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
}

/** A page about rows that were deleted before they were read; the rows that follow are other pages. */
function missedPage(appId: string, missed: MissedRows): AppPage {
  return { events: [missedEvent(appId, missed)], readTo: missed.last, hasMore: true }
}

/** The event about rows that were deleted before they were read. */
function missedEvent(appId: string, { first, last, until }: MissedRows): LoggedEvent {
  return {
    id: `evt_${appId}_${first}_missed`,
    kind: 'events.missed',
    appId,
    position: first,
    place: 0,
    name: 'missed',
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
