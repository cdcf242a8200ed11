import { AppError, type Int64 } from '@hermod/protocol'
import type { Database, Queryable } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import { outcomeOf } from '../../item-outcome.js'
import type { UserKey } from '../../users/user-model.js'
import type { Delivery, DeliveryKey } from '../deliveries/delivery-model.js'
import type { DeliveryStore } from '../deliveries/delivery-store.js'
import type { TaskStore } from '../tasks/task-store.js'
import { type Confirmation, canBeConfirmed, confirmed, receivedOf } from './confirmation.js'

interface ReportServiceOptions {
  readonly database: Database
  readonly deliveries: DeliveryStore
  readonly tasks: TaskStore
  readonly tokens: TokenDevices
  readonly clock: Clock
}

/** Finds the devices of tokens. */
export interface TokenDevices {
  find(
    db: Queryable,
    appId: string,
    tokenHash: string,
  ): Promise<{ readonly deviceSn: number | null } | null>
}

/** The device of a token. */
export interface ReportingDevice extends UserKey {
  /** null: the token had no device when it was read */
  readonly deviceSn: number | null
  /** null: an Admin token */
  readonly tokenHash: string | null
}

/** Handles reports of apps, for gateways without receipts (rule G1). */
export class ReportService {
  constructor(private readonly options: ReportServiceOptions) {}

  /**
   * Can be repeated.
   * @throws AppError push_task_not_found when the push is not for the device
   */
  async report(
    device: ReportingDevice,
    taskId: Int64,
    kind: 'delivered' | 'clicked',
  ): Promise<void> {
    const { database, deliveries, clock } = this.options
    const { appId, userId } = device
    const deviceSn = device.deviceSn ?? (await this.#findDevice(device))
    if (deviceSn === null)
      throw new AppError(
        'push_task_not_found',
        'the login of the token has no device; log in with device_guid',
      )
    const confirmation: Confirmation = { kind, code: 'app', at: clock.now() }
    const ofUser = await database.read((db) => deliveries.listOfUser(db, { appId, taskId }, userId))
    const delivery = ofUser.find((each) => each.deviceSn === deviceSn)
    if (!delivery) throw new AppError('push_task_not_found', 'none of this ID is for this device')
    // A repetition costs no transaction.
    if (!isNew(delivery, confirmation)) return
    await this.#record({ appId, taskId, userId, deviceSn }, confirmation)
  }

  /**
   * Confirms pushes that a connected device has got. Those that are not for the device are ignored.
   * Can be repeated.
   */
  async received(device: ReportingDevice, taskIds: readonly Int64[]): Promise<void> {
    for (const taskId of new Set(taskIds)) {
      const outcome = await outcomeOf(this.report(device, taskId, 'delivered'))
      if (outcome !== null && outcome.errorName !== 'push_task_not_found') throw outcome
    }
  }

  /** Another node may have tied the token to a device since it was read. */
  async #findDevice({ appId, tokenHash }: ReportingDevice): Promise<number | null> {
    const { database, tokens } = this.options
    if (tokenHash === null) return null
    return (await database.read((db) => tokens.find(db, appId, tokenHash)))?.deviceSn ?? null
  }

  async #record(key: DeliveryKey, confirmation: Confirmation): Promise<void> {
    const { database, deliveries, tasks } = this.options
    await database.transaction(async (tx) => {
      const [current] = await deliveries.lock(tx, [key])
      if (!current || !isNew(current, confirmation)) return
      const { delivery, result } = confirmed(current, confirmation)
      await deliveries.change(tx, [delivery])
      if (result === 'received') await tasks.addCounts(tx, [receivedOf(delivery)])
    })
  }
}

function isNew(delivery: Delivery, confirmation: Confirmation): boolean {
  return canBeConfirmed(delivery) && confirmed(delivery, confirmation).result !== 'repeated'
}
