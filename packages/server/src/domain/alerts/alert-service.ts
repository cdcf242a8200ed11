import { AppError, alertKinds, type Int64 } from '@hermod/protocol'
import type { Database } from '../../db/database.js'
import { type Clock, dayMs, hourMs } from '../../lib/clock.js'
import { type AlertKind, alertConditions, type AlertSources } from './alert-conditions.js'
import { type AlertSender, isDelivered, type SentResult } from './alert-sender.js'
import type { AlertStore, StoredAlert } from './alert-store.js'

interface AlertServiceOptions {
  readonly database: Database
  readonly store: AlertStore
  /** The finding of the last check is stored with the alerts. */
  readonly sources: Omit<AlertSources, 'integrityFinding'>
  /** null: alerts are in the log only. */
  readonly sender: AlertSender | null
  readonly ids: { next(): Promise<Int64> | Int64 }
  readonly clock: Clock
  readonly observer: AlertObserver
}

/** Gets a report of alerts. */
export interface AlertObserver {
  raised(kind: AlertKind, text: string): void
  sent(kind: AlertKind, outcome: 'delivered' | 'failed', error: string): void
  /** A condition could not be looked up. */
  failed(kind: AlertKind, error: unknown): void
}

/** A condition with its last alert. */
export interface AlertDetails {
  readonly kind: AlertKind
  /** null: it does not hold. */
  readonly found: string | null
  /** null: there was none. */
  readonly last: StoredAlert | null
}

/** Each kind is raised at most once in this time. */
const leastMs = hourMs
/** An alert that its receiver has not taken for this long is given up. */
const givenUpMs = dayMs

/** Watches conditions, and sends alerts about them. */
export class AlertService {
  readonly #conditions: ReturnType<typeof alertConditions>

  constructor(private readonly options: AlertServiceOptions) {
    const { database, store, sources } = options
    const integrityFinding = async () => database.read((db) => store.finding(db, 'integrity_fault'))
    this.#conditions = alertConditions({ ...sources, integrityFinding })
  }

  /** Raises an alert for each condition that holds, and sends what was not delivered. */
  async run(signal: AbortSignal): Promise<void> {
    for (const kind of alertKinds) {
      if (signal.aborted) return
      const found = await this.#find(kind)
      if (found !== null) await this.#raise(kind, found)
    }
    await this.#deliver(signal)
  }

  /** Looks at every condition. */
  async list(): Promise<{ readonly receiver: string; readonly alerts: readonly AlertDetails[] }> {
    const { database, store, sender } = this.options
    const stored = await database.read((db) => store.list(db))
    const alerts: AlertDetails[] = []
    for (const kind of alertKinds) {
      const last = stored.find((row) => row.kind === kind && row.raisedAt > 0) ?? null
      alerts.push({ kind, found: await this.#find(kind), last })
    }
    return { receiver: sender?.url ?? '', alerts }
  }

  /** @throws AppError alerts_unset */
  async test(): Promise<SentResult> {
    const { sender, ids, clock } = this.options
    if (!sender) throw new AppError('alerts_unset')
    const id = alertName(await ids.next())
    return sender.send({ id, type: 'alert.test', timestamp: clock.now(), text: 'This is a test.' })
  }

  /** Keeps what a check has found, until the next check. */
  async reportIntegrity(finding: string): Promise<void> {
    const { database, store } = this.options
    await database.statement((tx) => store.setFinding(tx, 'integrity_fault', finding))
  }

  async #find(kind: AlertKind): Promise<string | null> {
    try {
      return await this.#conditions[kind](this.options.clock.now())
    } catch (error) {
      // The others are looked at all the same.
      this.options.observer.failed(kind, error)
      return null
    }
  }

  async #raise(kind: AlertKind, text: string): Promise<void> {
    const { database, store, ids, clock, observer } = this.options
    const alert = { kind, alertId: await ids.next(), text, now: clock.now() }
    if (await database.statement((tx) => store.raise(tx, alert, leastMs)))
      observer.raised(kind, text)
  }

  async #deliver(signal: AbortSignal): Promise<void> {
    const { database, store, sender, clock, observer } = this.options
    if (!sender) return
    const stored = await database.read((db) => store.list(db))
    for (const alert of stored) {
      const { alertId, raisedAt, deliveredAt, text } = alert
      const isWaiting = raisedAt > clock.now() - givenUpMs && deliveredAt === null
      if (!isWaiting || signal.aborted) continue
      const kind = alert.kind as AlertKind
      const sent = { id: alertName(alertId), type: `alert.${kind}`, timestamp: raisedAt, text }
      const result = await sender.send(sent, signal)
      if (signal.aborted) return
      const error = isDelivered(result) ? '' : result.error || `it answered ${result.status}`
      await database.statement((tx) => store.attempted(tx, alert, { error, now: clock.now() }))
      observer.sent(kind, error === '' ? 'delivered' : 'failed', error)
    }
  }
}

function alertName(alertId: Int64): string {
  return `alr_${alertId}`
}
