import { DeviceAccessService } from '../../domain/devices/device-access-service.js'
import { DeviceService } from '../../domain/devices/device-service.js'
import { PresenceService } from '../../domain/devices/presence-service.js'
import type { TokenService } from '../../domain/login/token-service.js'
import type { Foundation } from '../foundation.js'

/** What a login needs of devices. */
export function createDevices(
  { database, stores, outbox, clock }: Foundation,
  { devicesPerUser }: { readonly devicesPerUser: number },
): { readonly devices: DeviceService } {
  return {
    devices: new DeviceService({
      database,
      store: stores.devices,
      users: stores.users,
      bindings: stores.pushBindings,
      outbox,
      clock,
      devicesPerUser,
    }),
  }
}

/** What is done to devices and needs logins. */
export function createDeviceAccess(
  { database, outbox, clock }: Foundation,
  { devices, tokens }: { readonly devices: DeviceService; readonly tokens: TokenService },
): { readonly deviceAccess: DeviceAccessService; readonly presence: PresenceService } {
  return {
    deviceAccess: new DeviceAccessService({ database, devices, tokens, outbox, clock }),
    presence: new PresenceService(),
  }
}
