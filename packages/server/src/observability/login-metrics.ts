import type { MetricRegistry } from './metric-registry.js'

/** Figures of one queue of logins or registrations. */
export interface LoginFigures {
  /** The purpose of the queue; queues of the same purpose are added up. */
  readonly purpose: string
  readonly waiting: number
  /** Counted since the start. */
  readonly refused: number
}

/** Queues of passwords and registrations. */
export class LoginMetrics {
  constructor(private readonly registry: MetricRegistry) {}

  /** @param read returns the queues of logins and registrations */
  watch(read: () => readonly LoginFigures[]): void {
    this.registry.gauge(
      'hermod_password_queue_passwords',
      'Logins, changes of accounts and registrations that wait for their password or for the database, by purpose: login, registration, or admin for all with an Admin token.',
      ['purpose'],
      (gauge) => {
        gauge.reset()
        for (const { purpose, waiting } of read()) gauge.inc({ purpose }, waiting)
      },
    )
    this.registry.readLabelled(
      'hermod_password_refusals_total',
      'Logins, changes of accounts and registrations that were refused because too many waited, by purpose.',
      'purpose',
      () => read().map(({ purpose, refused }) => [purpose, refused]),
    )
  }
}
