import type { MetricRegistry } from './metric-registry.js'
import type { Counter } from './prom-client.js'

/** Figures of the sessions of all nodes, as one node reads them. */
export interface SessionFigures {
  /** Since the last read of the table of sessions. */
  readonly ageSeconds: number
  /** Sessions with a device on other nodes. */
  readonly elsewhere: number
}

/** The table of sessions, which nodes share. */
export class SessionMetrics {
  readonly #dropped: Counter
  readonly #repaired: Counter<'change'>
  readonly #questions: Counter<'outcome'>

  constructor(private readonly registry: MetricRegistry) {
    this.#dropped = registry.counter(
      'hermod_session_dropped_total',
      'Sessions that were not opened because the database took longer than 2 s, or because their client had left.',
    )
    this.#repaired = registry.counter(
      'hermod_session_repairs_total',
      'Rows of sessions that a repair wrote again or closed.',
      ['change'],
    )
    this.#questions = registry.counter(
      'hermod_node_questions_total',
      'Questions to other nodes about their sessions, and those of them without an answer within a second.',
      ['outcome'],
    )
  }

  dropped(): void {
    this.#dropped.inc()
  }

  repaired({ restored, closed }: { readonly restored: number; readonly closed: number }): void {
    this.#repaired.inc({ change: 'restored' }, restored)
    this.#repaired.inc({ change: 'closed' }, closed)
  }

  asked(questions: number): void {
    this.#questions.inc({ outcome: 'asked' }, questions)
  }

  unanswered(questions: number): void {
    this.#questions.inc({ outcome: 'unanswered' }, questions)
  }

  /** @param read returns what is known now */
  watch(read: () => SessionFigures): void {
    this.registry.readGauges(read, [
      [
        'hermod_session_feed_age_seconds',
        'Seconds since the sessions of all nodes were read last; above 5 while the database is away.',
        ({ ageSeconds }) => ageSeconds,
      ],
      [
        'hermod_sessions_elsewhere',
        'Connected devices of other nodes, as read last.',
        ({ elsewhere }) => elsewhere,
      ],
    ])
  }
}
