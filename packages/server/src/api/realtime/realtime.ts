import {
  acknowledgeDelivery,
  AppError,
  type Int64,
  receivePush,
  subscribePresence,
} from '@hermod/protocol'
import type { ItemOutcome } from '../../domain/item-outcome.js'
import type { DeliveryAcknowledgementService } from '../../domain/messaging/positions/delivery-acknowledgement-service.js'
import type { PresenceService } from '../../domain/presence/presence-service.js'
import type { ReportService } from '../../domain/push/receipts/report-service.js'
import { data, type Handler, handle, handleInSession, whenDone } from '../../pipeline/call.js'

export function realtimeHandlers({
  deliveryAcknowledgements,
  presence,
  pushReports,
}: {
  readonly deliveryAcknowledgements: DeliveryAcknowledgementService
  readonly presence: PresenceService
  readonly pushReports: ReportService
}): Handler[] {
  return [
    handle(acknowledgeDelivery, async ({ conversations }, { principal }) => {
      const delivered = conversations.map(({ conversation_id: peerId, seq }) => ({ peerId, seq }))
      const outcomes = await deliveryAcknowledgements.acknowledge(principal, delivered)
      const fails = delivered.flatMap(({ peerId }, index) => toFailed(peerId, outcomes[index]))
      return { data: true, extras: fails.length > 0 ? { fails } : {} }
    }),
    handleInSession(subscribePresence, async ({ user_ids }, { session }) =>
      data(await presence.subscribe(session, user_ids)),
    ),
    handleInSession(receivePush, ({ task_ids }, { session }) =>
      whenDone(pushReports.received(session, task_ids)),
    ),
  ]
}

function toFailed(target: Int64, outcome: ItemOutcome | undefined) {
  return outcome instanceof AppError
    ? [{ target, code: outcome.entry.code, reason: outcome.message }]
    : []
}
