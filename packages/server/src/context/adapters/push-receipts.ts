import type { ReceiptObserver } from '../../domain/push/receipts/receipt-service.js'
import type { Logger } from '../../observability/log.js'
import type { Metrics } from '../../observability/metrics.js'

/** Counts receipts, and logs those that belong to no push. */
export function receiptObserver(log: Logger, metrics: Metrics): ReceiptObserver {
  return {
    counted: (channel, result, count) => metrics.push.receipts(channel, result, count),
    unknown({ appId, certificate }, { tag, messageId, code }) {
      log.debug(
        { app: appId, certificate: certificate.name, tag, messageId, code },
        'push receipt matches no push',
      )
    },
  }
}
