import type { LoggedEvent } from '../../domain/events/logged-event.js'
import type { Slots } from '../../lib/concurrency/slots.js'
import type { OutboxStore } from '../../outbox/outbox-store.js'
import type { EndpointRun, EndpointRunOptions, EventPage } from './endpoint-run.js'

const rowsPerPage = 100

export interface AppRunOptions
  extends Pick<EndpointRunOptions, 'database' | 'events' | 'observer'> {
  readonly outbox: Pick<OutboxStore, 'head' | 'listAfter'>
  /** Readers of endpoints that are behind, on this node together. */
  readonly catchUps: Slots
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
  readonly #catchingUp = new Set<EndpointRun>()
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
      void this.#replay(run)
    }
    this.#isWanted = true
    this.#reading ??= this.#readWhileWanted().finally(() => {
      this.#reading = null
      if (this.#isWanted && !this.#isStopped) this.run()
    })
  }

  /** Sends nothing more. Resolves when nothing is read any more. */
  async stop(): Promise<void> {
    this.#isStopped = true
    for (const run of this.runs.values()) run.stop()
    await this.#reading
  }

  async #readWhileWanted(): Promise<void> {
    try {
      while (this.#isWanted && !this.#isStopped) {
        this.#isWanted = false
        while (await this.#readPage());
      }
    } catch (error) {
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
    for (const run of ready) if (!front.includes(run)) void this.#catchUp(run)
    return this.#offerPage(front, readTo)
  }

  /** Reads for one endpoint until it has reached another one, or wants no more. */
  async #catchUp(run: EndpointRun): Promise<void> {
    if (this.#catchingUp.has(run)) return
    this.#catchingUp.add(run)
    try {
      await this.options.catchUps.run(async () => {
        while (this.#isBehind(run)) {
          const hasMore = await this.#offerPage([run], run.runner.readTo)
          if (!hasMore) return
        }
      })
    } catch (error) {
      this.options.observer.failed(this.appId, error)
    } finally {
      this.#catchingUp.delete(run)
    }
  }

  async #replay(run: EndpointRun): Promise<void> {
    if (!run.isReplaying || this.#catchingUp.has(run)) return
    this.#catchingUp.add(run)
    try {
      await this.options.catchUps.run(() => run.replay((after) => this.#pageAfter(after)))
    } catch (error) {
      this.options.observer.failed(this.appId, error)
    } finally {
      this.#catchingUp.delete(run)
    }
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
    for (const run of runs) {
      // One that went down in the meantime goes on from another place.
      if (run.runner.readTo !== after) continue
      const [first] = page.events
      if (first?.kind === 'events.missed')
        this.options.observer.missed(run.endpoint, Number(first.payload.positions))
      run.offer(page.events, page.readTo)
    }
    return true
  }

  /** @returns null at the end of the log */
  async #pageAfter(after: number): Promise<EventPage | null> {
    const { database, outbox, events } = this.options
    const { appId } = this
    const list = () => database.read((db) => outbox.listAfter(db, appId, after, rowsPerPage))
    let rows = await list()
    if (rows.length === 0) {
      // The head is read first: the rows it counts were committed before, and are found unless they were purged.
      const head = await database.read((db) => outbox.head(db, appId))
      if (head <= after) return null
      rows = await list()
      if (rows.length === 0)
        return { events: [missedEvent(appId, { after, last: head, to: 0 })], readTo: head }
    }
    const [first] = rows
    const last = rows.at(-1)
    if (!first || !last) return null
    const gap = { after, last: first.position - 1, to: first.createdAt }
    const missed = first.position > after + 1 ? [missedEvent(appId, gap)] : []
    const read = await Promise.all(rows.map((row) => events.ofRow(appId, row)))
    return { events: [...missed, ...read.flat()], readTo: last.position }
  }
}

/** The event about rows that were deleted before they were read. */
function missedEvent(
  appId: string,
  { after, last, to }: { readonly after: number; readonly last: number; readonly to: number },
): LoggedEvent {
  return {
    id: `evt_${appId}_${after + 1}_missed`,
    kind: 'events.missed',
    appId,
    position: after + 1,
    place: 0,
    name: 'missed',
    key: 'app',
    createdAt: to,
    payload: {
      from_position: after + 1,
      to_position: last,
      positions: last - after,
      to,
    },
  }
}
