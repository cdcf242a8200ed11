import {
  type BindingCertificates,
  DeviceAccessService,
} from '../../domain/devices/device-access-service.js'
import { DeviceService } from '../../domain/devices/device-service.js'
import type { TokenService } from '../../domain/login/token-service.js'
import type { Domain } from '../domain.js'
import type { Infrastructure } from '../infrastructure.js'

/** Logins need it. */
export function createDeviceService(
  { database, stores, outbox, clock }: Infrastructure,
  { devicesPerUser }: { readonly devicesPerUser: number },
): DeviceService {
  return new DeviceService({
    database,
    store: stores.devices,
    users: stores.users,
    bindings: stores.pushBindings,
    outbox,
    clock,
    devicesPerUser,
  })
}

/** @param options.tokens of the logins on the devices */
export function createDevices(
  { database, stores, outbox, clock }: Infrastructure,
  {
    devices,
    tokens,
    certificates,
  }: {
    readonly devices: DeviceService
    readonly tokens: TokenService
    readonly certificates: BindingCertificates
  },
) {
  const deviceAccess = new DeviceAccessService({
    database,
    devices,
    bindings: stores.pushBindings,
    tokens,
    certificates,
    outbox,
    clock,
  })
  return { services: { devices, deviceAccess } } satisfies Domain
}
