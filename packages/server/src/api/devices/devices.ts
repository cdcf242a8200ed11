import {
  bindPushToken,
  type DeviceEntry,
  getOnlineStatus,
  type Int64,
  kickDevices,
  listDevices,
  removeDevice,
  unbindPushToken,
} from '@hermod/protocol'
import type { DeviceAccessService } from '../../domain/devices/device-access-service.js'
import type { Device } from '../../domain/devices/device-model.js'
import type { DeviceService } from '../../domain/devices/device-service.js'
import type { PresenceService } from '../../domain/devices/presence-service.js'
import type { AccountService } from '../../domain/users/account-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'
import { actingUser, actorOf } from '../acting-user.js'

interface Services {
  readonly accounts: AccountService
  readonly devices: DeviceService
  readonly deviceAccess: DeviceAccessService
  readonly presence: PresenceService
}

export function deviceHandlers({ accounts, devices, deviceAccess, presence }: Services): Handler[] {
  return [
    handle(listDevices, async (_, { caller }) => {
      const user = await actingUser(accounts, caller)
      const list = await devices.list(user)
      return {
        data: list.devices.map((device) => toEntry(user.userId, device)),
        extras: { version: list.changedAt },
      }
    }),
    handle(removeDevice, async ({ device_sn: deviceSn }, { caller }) => {
      await deviceAccess.remove(actorOf(caller), {
        ...(await actingUser(accounts, caller)),
        deviceSn,
      })
      return data(true)
    }),
    handle(kickDevices, async ({ device_sn: deviceSn }, { caller }) => {
      const user = await actingUser(accounts, caller)
      await (deviceSn === undefined
        ? deviceAccess.kickAll(actorOf(caller), user)
        : deviceAccess.kick(actorOf(caller), { ...user, deviceSn }))
      return data(true)
    }),
    handle(
      bindPushToken,
      async (
        { device_sn: deviceSn, device_token: deviceToken, notifier_name: notifierName },
        { caller },
      ) => {
        await devices.bindPushToken(
          { ...(await actingUser(accounts, caller)), deviceSn },
          { deviceToken, notifierName },
        )
        return data(true)
      },
    ),
    handle(unbindPushToken, async ({ deviceSn }, { caller }) => {
      await devices.unbindPushTokens({ ...(await actingUser(accounts, caller)), deviceSn })
      return data({})
    }),
    handle(getOnlineStatus, async (_, { caller }) =>
      data({ online: presence.isOnline(await actingUser(accounts, caller)) }),
    ),
  ]
}

function toEntry(userId: Int64, { deviceSn, platform, userAgent }: Device): DeviceEntry {
  return { device_sn: deviceSn, platform, user_agent: userAgent, user_id: userId }
}
