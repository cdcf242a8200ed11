/** Recording of deliveries that a gateway has taken, which most are, where the writer is. Loaded by the writer's thread too. */
import type { PushChannel } from '@hermod/protocol'
import type { Procedure } from '../../../db/procedure.js'
import { type DeliveryKey, deliveryName } from '../deliveries/delivery-model.js'
import {
  acceptDeliveries,
  acceptedRow,
  deliveryKeyRow,
  type LockedProgress,
  lockProgress,
} from '../deliveries/delivery-statements.js'
import { type DeliveryStep, withSteps } from '../deliveries/delivery-step.js'
import { addDevices, addToCounts, countRows, finishedOf } from '../tasks/task-statements.js'

/** A delivery as it was read, and what the gateway said. */
export interface AcceptedDelivery extends DeliveryKey {
  readonly channel: PushChannel
  readonly attempts: number
  readonly messageId: string
  readonly step: DeliveryStep
}

export interface AcceptedInput {
  /** In the order of their keys; of one application. */
  readonly deliveries: readonly AcceptedDelivery[]
  /** Values of pushDeliveryState, which the writer's thread does not load. */
  readonly states: { readonly pending: number; readonly accepted: number }
}

/** Counts those that are as they were read. */
export const recordAccepted: Procedure<AcceptedInput, void> = {
  module: import.meta.url,
  name: 'recordAccepted',
  async run(context, { deliveries, states }) {
    const locked = await context.run<LockedProgress>(lockProgress, deliveries.map(deliveryKeyRow))
    const appId = deliveries[0]?.appId ?? ''
    const current = new Map(
      locked.map((row) => [
        deliveryName({ appId, taskId: row.task_id, userId: row.user_id, deviceSn: row.device_sn }),
        row,
      ]),
    )
    const rows: unknown[][] = []
    const counted: AcceptedDelivery[] = []
    for (const delivery of deliveries) {
      const row = current.get(deliveryName(delivery))
      if (row?.state !== states.pending || row.attempts !== delivery.attempts) continue
      counted.push(delivery)
      rows.push([
        ...acceptedRow({
          state: states.accepted,
          messageId: delivery.messageId,
          attempts: delivery.attempts + 1,
          steps: withSteps(row.steps, delivery.step),
        }),
        ...deliveryKeyRow(delivery),
      ])
    }
    await context.change(acceptDeliveries, rows)
    await addDevices(context, finishedOf(counted))
    return {
      last: [{ statement: addToCounts, rows: countRows(counted.map(sentOne)) }],
      output() {},
    }
  },
}

function sentOne({ appId, taskId, channel }: AcceptedDelivery) {
  return { appId, taskId, channel, target: 0, sent: 1, received: 0 }
}
