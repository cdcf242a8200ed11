import { listAlerts, testAlert } from '@hermod/protocol'
import { isDelivered } from '../../domain/alerts/alert-sender.js'
import type { AlertDetails, AlertService } from '../../domain/alerts/alert-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'

export function alertHandlers({ alerts }: { readonly alerts: AlertService }): Handler[] {
  return [
    handle(listAlerts, async () => {
      const { receiver, alerts: all } = await alerts.list()
      return data({ receiver, alerts: all.map(toAlert) })
    }),
    handle(testAlert, async () => {
      const result = await alerts.test()
      return data({ delivered: isDelivered(result), ...result })
    }),
  ]
}

function toAlert({ kind, found, last }: AlertDetails) {
  return {
    kind,
    holds: found !== null,
    text: found ?? last?.text ?? '',
    raised_at: last?.raisedAt ?? 0,
    delivered_at: last?.deliveredAt ?? 0,
    attempts: last?.attempts ?? 0,
    error: last?.error ?? '',
  }
}
