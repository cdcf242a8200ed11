import type { Endpoint } from '../../domain/webhooks/endpoints/endpoint-model.js'
import type { Logger } from '../../observability/log.js'
import type { Metrics } from '../../observability/metrics.js'
import type { DispatchObserver } from '../../webhooks/dispatcher/endpoint-worker.js'
import { isDatabaseFailure } from '../database/database-log.js'

/** Log lines and metrics of webhooks. */
export function dispatchObserver(log: Logger, metrics: Metrics): DispatchObserver {
  const fields = ({ appId: app, endpointId: endpoint }: Endpoint) => ({ app, endpoint })
  return {
    sent: (_, { outcome, durationMs }, events) =>
      metrics.webhooks.sent(outcome, durationMs, events),
    down: (endpoint, { retryAt }) =>
      log.warn(
        { ...fields(endpoint), retryAt: new Date(retryAt).toISOString() },
        'webhook does not answer; it is tried again later',
      ),
    up: (endpoint) => log.info(fields(endpoint), 'webhook answers again'),
    disabled(endpoint, reason) {
      metrics.webhooks.disabled(reason)
      log.error({ ...fields(endpoint), reason }, 'webhook is disabled')
    },
    missed: (endpoint, positions) =>
      log.error(
        { ...fields(endpoint), positions },
        'events were deleted before they were sent to a webhook',
      ),
    failed(app, error) {
      if (!isDatabaseFailure(error))
        log.warn({ app, err: error }, 'sending webhooks failed and is tried again')
    },
  }
}
