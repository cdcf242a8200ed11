import type { MaybePromise } from '../lib/maybe-promise.js'
import type { MetricRegistry } from './metric-registry.js'
import type { Counter } from './prom-client.js'

/** The expiry of a push certificate. */
export interface CertificateFigures {
  readonly appId: string
  readonly name: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** Pushes to devices, receipts of gateways, and certificates. */
export class PushMetrics {
  readonly #outcomes: Counter<'channel' | 'kind'>
  readonly #receipts: Counter<'channel' | 'result'>

  constructor(private readonly registry: MetricRegistry) {
    this.#outcomes = registry.counter(
      'hermod_push_outcomes_total',
      'Outcomes of tries to push to devices, by channel and kind: accepted, invalid_token, throttled, quota, server_error, network, payload, config, suppressed, held_back.',
      ['channel', 'kind'],
    )
    this.#receipts = registry.counter(
      'hermod_push_receipts_total',
      'Receipts of push gateways by channel and result: received (counts a device), noted, repeated, unknown; requests that were refused or malformed.',
      ['channel', 'result'],
    )
  }

  /** @param list returns push certificates that expire; called at every collection */
  watchCertificates(list: () => MaybePromise<readonly CertificateFigures[]>): void {
    this.registry.gauge(
      'hermod_push_certificate_expiry_timestamp_seconds',
      'Expiry of push certificates, by application and name; those that do not expire are left out.',
      ['app', 'certificate'],
      async (gauge) => {
        // Without the database, the values of the last collection stay.
        const certificates = await Promise.resolve(list()).catch(() => null)
        if (certificates === null) return
        gauge.reset()
        for (const { appId: app, name: certificate, expiresAt } of certificates)
          gauge.set({ app, certificate }, expiresAt / 1_000)
      },
    )
  }

  /** @param read returns the number of paused certificates, by channel */
  watchCircuits(read: () => Readonly<Record<string, number>>): void {
    this.registry.gauge(
      'hermod_push_open_circuits',
      'Push certificates that are paused because their gateway is down or refuses the credentials, by channel.',
      ['channel'],
      (gauge) => {
        for (const [channel, count] of Object.entries(read())) gauge.set({ channel }, count)
      },
    )
  }

  outcomes(channel: string, kind: string, count: number): void {
    this.#outcomes.inc({ channel, kind }, count)
  }

  receipts(channel: string, result: string, count: number): void {
    if (count > 0) this.#receipts.inc({ channel, result }, count)
  }
}
