/** Recording of deliveries that a gateway has taken, which most are, where the writer is. Loaded by the writer's thread too. */
import type { Int64, PushChannel } from '@hermod/protocol'
import type { Procedure } from '../../../db/procedure.js'
import { groupBy } from '../../../lib/group-by.js'
import type { DeliveryKey } from '../deliveries/delivery-model.js'
import {
  acceptDeliveries,
  acceptedRow,
  deliveryKeyRow,
  type LockedProgress,
  lockProgress,
} from '../deliveries/delivery-statements.js'
import { type DeliveryStep, withSteps } from '../deliveries/delivery-step.js'
import { addDevices, addToCounts, countRows } from '../tasks/task-statements.js'

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
    const current = new Map(
      locked.map((row) => [nameOf(row.task_id, row.user_id, row.device_sn), row]),
    )
    const rows: unknown[][] = []
    const counted: AcceptedDelivery[] = []
    for (const delivery of deliveries) {
      const row = current.get(nameOf(delivery.taskId, delivery.userId, delivery.deviceSn))
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
    const byTask = groupBy(counted, ({ taskId }) => taskId)
    await addDevices(
      context,
      [...byTask].map(([taskId, { length }]) => ({
        appId: counted[0]?.appId ?? '',
        taskId,
        devices: 0,
        finished: length,
      })),
    )
    await context.run(addToCounts, countRows(counted.map(sentOne)))
  },
}

function sentOne({ appId, taskId, channel }: AcceptedDelivery) {
  return { appId, taskId, channel, target: 0, sent: 1, received: 0 }
}

function nameOf(taskId: Int64, userId: Int64, deviceSn: number): string {
  return `${taskId} ${userId} ${deviceSn}`
}
