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
import type { Device, DeviceKey } from '../../domain/devices/device-model.js'
import type { DeviceService } from '../../domain/devices/device-service.js'
import type { PresenceService } from '../../domain/presence/presence-service.js'
import type { UserKey } from '../../domain/users/user-model.js'
import { data, type Handler, handle, whenDone } from '../../pipeline/call.js'

export function deviceHandlers({
  devices,
  deviceAccess,
  presence,
}: {
  readonly devices: DeviceService
  readonly deviceAccess: DeviceAccessService
  readonly presence: PresenceService
}): Handler[] {
  return [
    handle(listDevices, async (_, { principal }) => {
      const list = await devices.list(principal)
      return {
        data: list.devices.map((device) => ({
          ...toDeviceEntry(principal.userId, device),
          online: presence.isConnected(deviceOf(principal, device.deviceSn)),
        })),
        extras: { version: list.changedAt },
      }
    }),
    handle(removeDevice, ({ device_sn: deviceSn }, { principal }) =>
      whenDone(deviceAccess.remove(principal.tokenOwnerId, deviceOf(principal, deviceSn))),
    ),
    handle(kickDevices, async ({ device_sn: deviceSn }, { principal }) => {
      const { tokenOwnerId } = principal
      await (deviceSn === undefined
        ? deviceAccess.kickAll(tokenOwnerId, principal)
        : deviceAccess.kick(tokenOwnerId, deviceOf(principal, deviceSn)))
      return data(true)
    }),
    handle(
      bindPushToken,
      (
        { device_sn: deviceSn, device_token: deviceToken, notifier_name: notifierName },
        { principal },
      ) =>
        whenDone(
          deviceAccess.bindPushToken(
            deviceOf(principal, deviceSn),
            { deviceToken, notifierName },
            principal.kind === 'user' ? principal.tokenHash : null,
          ),
        ),
    ),
    handle(unbindPushToken, async ({ deviceSn }, { principal }) => {
      await devices.unbindPushTokens(deviceOf(principal, deviceSn))
      return data({})
    }),
    handle(getOnlineStatus, async (_, { principal }) =>
      data({ online: presence.isOnline(principal) }),
    ),
  ]
}

/** A device of the user; the token may be tied to another device. */
function deviceOf({ appId, userId }: UserKey, deviceSn: number): DeviceKey {
  return { appId, userId, deviceSn }
}

function toDeviceEntry(
  userId: Int64,
  { deviceSn, platform, userAgent }: Device,
): Omit<DeviceEntry, 'online'> {
  return { device_sn: deviceSn, platform, user_agent: userAgent, user_id: userId }
}
