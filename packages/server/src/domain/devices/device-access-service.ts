import type { Int64 } from '@hermod/protocol'
import { actorEvent } from '@hermod/protocol/events'
import type { Database } from '../../db/database.js'
import type { Clock } from '../../lib/clock.js'
import type { Outbox } from '../../outbox/outbox.js'
import type { TokenService } from '../login/token-service.js'
import type { UserKey } from '../users/user-model.js'
import { type DeviceKey, deviceEvent } from './device-model.js'
import type { DeviceService } from './device-service.js'

export interface DeviceAccessServiceOptions {
  readonly database: Database
  readonly devices: DeviceService
  readonly tokens: TokenService
  readonly outbox: Outbox
  readonly clock: Clock
}

/**
 * Removes devices and logs them out; their tokens stop working at once (rule C6). The actor is the
 * user, or the system for an administrator.
 */
export class DeviceAccessService {
  constructor(private readonly options: DeviceAccessServiceOptions) {}

  /** @throws AppError device_not_found */
  async remove(actorId: Int64, device: DeviceKey): Promise<void> {
    const { database, devices, tokens, clock } = this.options
    const { appId, userId, deviceSn } = device
    await database.transaction(async (tx) => {
      await devices.remove(tx, device, actorId)
      await tokens.revokeOfDevices(tx, { appId, userId, deviceSns: [deviceSn], at: clock.now() })
    })
  }

  /**
   * Logs a device out.
   * @throws AppError device_not_found
   */
  async kick(actorId: Int64, device: DeviceKey): Promise<void> {
    const { database, devices, tokens, outbox, clock } = this.options
    const { appId, userId, deviceSn } = device
    await database.transaction(async (tx) => {
      await devices.require(tx, device)
      outbox.append(tx, deviceEvent('user.kicked', actorId, device))
      await tokens.revokeOfDevices(tx, { appId, userId, deviceSns: [deviceSn], at: clock.now() })
    })
  }

  /** Ends all tokens of the user, including those without a device. */
  async kickAll(actorId: Int64, user: UserKey): Promise<void> {
    const { database, tokens, outbox, clock } = this.options
    const { appId, userId } = user
    await database.transaction(async (tx) => {
      outbox.append(tx, actorEvent('user.kicked', { appId, actorId, userIds: [userId] }))
      await tokens.revokeOfUsers(tx, { appId, userIds: [userId], at: clock.now() })
    })
  }
}
