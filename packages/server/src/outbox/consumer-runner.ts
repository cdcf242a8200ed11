import type { Database } from '../db/database.js'
import type { Share } from '../nodes/shares.js'
import type { Consumer, MessageReader } from './consumer.js'
import { appOutbox, pageAfter } from './outbox-page.js'
import type { OutboxRow, OutboxStore } from './outbox-store.js'
import type { Positions } from './positions.js'
import { eventsOfRow } from './rows/row-events.js'

/** Receives lag and failures of consumers, for logs and metrics. */
export interface ConsumerObserver {
  /** The rows of the outbox that the consumer has not handled yet; reported by the node that runs it. */
  lagging(consumer: string, rows: number): void
  /** The consumer is at this row. @param time of the row */
  reached(appId: string, position: number, time: number): void
  /** Events were purged before the consumer had seen them. */
  missed(consumer: string, appId: string): void
  failed(consumer: string, appId: string | null, error: unknown): void
}

interface ConsumerRunnerOptions {
  readonly database: Database
  readonly store: OutboxStore
  readonly messages: MessageReader
  readonly consumer: Consumer
  readonly positions: Positions
  /** The right to run the consumer on this node. */
  readonly share: Pick<Share, 'isHeld'>
  readonly observer: ConsumerObserver
  /** The pause of an app after a first failure; each further failure doubles it. */
  readonly retryMs: number
}

const rowsPerStep = 100
/** The events of a step; at least one row. */
const eventsPerStep = 1_000
/** Apps that are handled at once. */
const maxApps = 8
const maxRetryMs = 60_000
/** Apps of wakes that are remembered: others are left to polling. */
const maxRemembered = 10_000

interface ConsumerFailures {
  readonly count: number
  /** True until its timer has fired; the clock may be a moment behind the timer. */
  isResting: boolean
}

/** Brings one consumer through the outboxes of all apps, each in its order and independent of the others. */
export class ConsumerRunner {
  readonly #wanted = new Set<string>()
  /** Apps that the consumer did not want last; only polling asks again. */
  readonly #unwanted = new Set<string>()
  readonly #running = new Map<string, Promise<void>>()
  readonly #failures = new Map<string, ConsumerFailures>()
  #ending = new AbortController()
  #isRunning = false
  #polling: Promise<void> | undefined

  constructor(private readonly options: ConsumerRunnerOptions) {}

  /** Starts polling; earlier wakes do nothing. */
  async start(): Promise<void> {
    this.#isRunning = true
    await this.poll()
  }

  /** Runs the consumer for an app with new events. */
  wake(appId: string): void {
    if (!this.#isRunning || this.#unwanted.has(appId)) return
    if (!this.options.share.isHeld || this.#wanted.size >= maxRemembered) return
    this.#wanted.add(appId)
    this.#startWanted()
  }

  /** Looks for events that no wake announced, if this node has the share. */
  poll(): Promise<void> {
    this.#polling ??= this.#poll().finally(() => {
      this.#polling = undefined
    })
    return this.#polling
  }

  async stop(): Promise<void> {
    this.#isRunning = false
    await this.end()
    await this.#polling
  }

  /** Ends what runs, since another node is to run the consumer. */
  async end(): Promise<void> {
    this.#ending.abort()
    this.#ending = new AbortController()
    this.#wanted.clear()
    await Promise.all(this.#running.values())
  }

  async #poll(): Promise<void> {
    const { consumer, positions, share, observer } = this.options
    if (!share.isHeld) return
    try {
      const behind = await positions.listBehind()
      observer.lagging(
        consumer.name,
        behind.reduce((sum, { head, position }) => sum + head - position, 0),
      )
      for (const { appId } of behind) this.#wanted.add(appId)
      this.#startWanted()
    } catch (error) {
      observer.failed(consumer.name, null, error)
    }
  }

  #startWanted(): void {
    if (!this.options.share.isHeld) return
    for (const appId of this.#wanted) {
      if (this.#running.size >= maxApps || !this.#isRunning) return
      if (this.#running.has(appId) || this.#failures.get(appId)?.isResting) continue
      this.#wanted.delete(appId)
      const run = this.#run(appId).finally(() => {
        this.#running.delete(appId)
        this.#startWanted()
      })
      this.#running.set(appId, run)
    }
  }

  async #run(appId: string): Promise<void> {
    const { consumer, observer, retryMs } = this.options
    const { signal } = this.#ending
    try {
      while (!signal.aborted && this.options.share.isHeld && (await this.#step(appId, signal)));
      this.#failures.delete(appId)
    } catch (error) {
      if (signal.aborted) return
      const count = (this.#failures.get(appId)?.count ?? 0) + 1
      const waitMs = Math.min(retryMs * 2 ** (count - 1), maxRetryMs)
      const failures: ConsumerFailures = { count, isResting: true }
      this.#failures.set(appId, failures)
      this.#wanted.add(appId)
      setTimeout(() => {
        failures.isResting = false
        this.#startWanted()
      }, waitMs).unref()
      observer.failed(consumer.name, appId, error)
    }
  }

  /** @returns whether there may be more */
  async #step(appId: string, signal: AbortSignal): Promise<boolean> {
    const { database, store, messages, consumer, positions, observer } = this.options
    const from = await positions.get(appId)
    if (!(await this.#isWanted(appId))) return this.#skip(appId, from)
    const outbox = appOutbox(database, store, appId)
    const { rows, missed } = await pageAfter(outbox, from, rowsPerStep)
    if (missed) await this.#reportMissed(appId)
    const taken = this.#takeStep(rows)
    const last = taken.at(-1)?.position ?? missed?.last
    if (last === undefined) return false
    const lastRow = taken.at(-1)
    if (lastRow) observer.reached(appId, lastRow.position, lastRow.createdAt)
    const events = (await Promise.all(taken.map((row) => eventsOfRow(messages, appId, row)))).flat()
    if (signal.aborted) return false
    if (events.length > 0) await consumer.handle(events, signal)
    if (!(await positions.move(appId, from, last))) {
      observer.failed(consumer.name, appId, new Error('another node has moved the position'))
      return false
    }
    return taken.length < rows.length || rows.length === rowsPerStep
  }

  async #isWanted(appId: string): Promise<boolean> {
    const isWanted = (await this.options.consumer.needs?.(appId)) ?? true
    if (isWanted) this.#unwanted.delete(appId)
    else if (this.#unwanted.size < maxRemembered) this.#unwanted.add(appId)
    return isWanted
  }

  /** @returns whether there may be events to read; later ones are found by polling */
  async #skip(appId: string, from: number): Promise<boolean> {
    const { database, store, positions } = this.options
    const head = await database.read((db) => store.head(db, appId))
    // Asked after the head is read, so that no event is skipped that was appended once the consumer
    // wanted it.
    if (await this.#isWanted(appId)) return true
    if (head > from) await positions.move(appId, from, head)
    return false
  }

  async #reportMissed(appId: string): Promise<void> {
    const { consumer, observer } = this.options
    observer.missed(consumer.name, appId)
    await consumer.missed(appId)
  }

  #takeStep(rows: readonly OutboxRow[]): readonly OutboxRow[] {
    let events = 0
    const end = rows.findIndex((row, index) => {
      events += row.kind === 'message.stored' ? this.options.messages.count(row.payload) : 1
      return index > 0 && events > eventsPerStep
    })
    return end < 0 ? rows : rows.slice(0, end)
  }
}
