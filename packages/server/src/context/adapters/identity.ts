import type { AssertionObserver } from '../../domain/identity/assertions/assertion-service.js'
import { refusalTexts } from '../../domain/identity/assertions/refusals.js'
import type { IssuerKey } from '../../domain/identity/issuers/issuer-model.js'
import { boundedCache } from '../../lib/limits/bounded-cache.js'
import { LineLimit } from '../../observability/line-limit.js'
import type { Logger } from '../../observability/log.js'
import type { Metrics } from '../../observability/metrics.js'

const maxLimits = 1_000
const lineEveryMs = 60_000

/**
 * Counts refused assertions, and logs one line a minute for each application, issuer and reason.
 * Nothing of an assertion is logged: its text is a credential, and its claims are personal.
 */
export function assertionObserver(log: Logger, metrics: Metrics): AssertionObserver {
  const limits = boundedCache<string, LineLimit>(maxLimits)
  return {
    refused(app, issuer, reason) {
      metrics.identity.refused(reason)
      const key = JSON.stringify([app, issuer, reason])
      const limit = limits.get(key) ?? new LineLimit(lineEveryMs)
      limits.set(key, limit)
      const more = limit.next()
      if (more !== null)
        log.warn({ app, issuer, reason, text: refusalTexts[reason], more }, 'assertion was refused')
    },
  }
}

/** Logs failed fetches, of which there is one in 30 s for each issuer. */
export function fetchFailed(log: Logger) {
  return ({ appId: app, issuer }: IssuerKey, err: unknown) =>
    log.warn({ app, issuer, err }, 'the keys of an issuer cannot be fetched')
}
