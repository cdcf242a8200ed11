/** Records the results of deliveries. Loaded by the writer's thread too. */
import { pushDeliveryState } from '@hermod/protocol/enums'
import type { Procedure } from '../../../db/procedure.js'
import {
  clearBindings,
  type DeadBinding,
  type PausedBinding,
  pauseBindings,
} from '../../devices/push-binding-statements.js'
import { type Delivery, deliveryName } from '../deliveries/delivery-model.js'
import {
  changeChannels,
  changeDeliveries,
  deliveryChannelRow,
  deliveryKeyRow,
  deliveryProgressRow,
  type LockedProgress,
  lockProgress,
} from '../deliveries/delivery-statements.js'
import { type DeliveryStep, withSteps } from '../deliveries/delivery-step.js'
import {
  addToCounts,
  type CountChange,
  countRows,
  devicesAdded,
  finishedOf,
  setDevices,
} from '../tasks/task-statements.js'
import type { DeliveryProgress } from './delivery-progress.js'

/** A result, in plain data. */
export interface RecordedResult extends DeliveryProgress {
  /** The number of results when the delivery was read: the version of its row. */
  readonly attempts: number
  readonly dead: (DeadBinding & { readonly certificate: string }) | null
  readonly paused: PausedBinding | null
}

/**
 * Records the results of deliveries that are as they were read, with the tokens, counts and
 * progress of tasks that follow. Of two runs that tried the same delivery one is recorded, so that
 * nothing counts twice. The input has the order of the keys of the deliveries.
 * @returns the names of the deliveries that were recorded, see {@link deliveryName}
 */
export const recordResults: Procedure<readonly RecordedResult[], readonly string[]> = {
  module: import.meta.url,
  name: 'recordResults',
  async run(context, results) {
    const keys = results.map(({ delivery }) => deliveryKeyRow(delivery))
    const locked = await context.run<LockedProgress>(lockProgress, keys)
    const current = new Map(locked.map((row) => [deliveryName(row), row]))
    const recorded = results.flatMap((result) => {
      const row = current.get(deliveryName(result.delivery))
      const isUnchanged =
        row?.state === pushDeliveryState.pending && row.attempts === result.attempts
      return isUnchanged ? [{ ...result, row }] : []
    })
    const cleared = new Set(
      await clearBindings(
        context,
        recorded.flatMap(({ dead }) => dead ?? []),
      ),
    )
    await pauseBindings(
      context,
      recorded.flatMap(({ paused }) => paused ?? []),
    )
    const changed = recorded.map(({ delivery, steps, dead, row }): Delivery => {
      const isCleared = dead !== null && cleared.has(dead)
      const added = isCleared ? withCleared(steps, dead.certificate) : steps
      return { ...delivery, receivedAt: row.receivedAt, steps: withSteps(row.steps, ...added) }
    })
    const ended = changed.filter(({ state }) => state !== pushDeliveryState.pending)
    const moved = recorded.filter(({ steps }) =>
      steps.some(({ step }) => step === 'channel_chosen'),
    )
    const tasks = await devicesAdded(context, finishedOf(ended))
    return {
      last: [
        {
          statement: changeDeliveries,
          rows: changed.map((each) => [...deliveryProgressRow(each), ...deliveryKeyRow(each)]),
        },
        {
          statement: changeChannels,
          rows: moved.map(({ delivery }) => [
            ...deliveryChannelRow(delivery),
            ...deliveryKeyRow(delivery),
          ]),
        },
        { statement: setDevices, rows: tasks },
        { statement: addToCounts, rows: countRows(recorded.flatMap(countsOf)) },
      ],
      output: () => changed.map(deliveryName),
    }
  },
}

/** The step of a cleared token comes after the try whose answer cleared it. */
function withCleared(
  [first, ...rest]: readonly DeliveryStep[],
  certificate: string,
): readonly DeliveryStep[] {
  return first ? [first, { at: first.at, step: 'token_cleared', certificate }, ...rest] : []
}

function countsOf({ delivery, isSent, isRedirected }: DeliveryProgress): CountChange[] {
  const { appId, taskId, channel } = delivery
  if (channel === '' || !(isSent || isRedirected)) return []
  return [
    { appId, taskId, channel, target: Number(isRedirected), sent: Number(isSent), received: 0 },
  ]
}
