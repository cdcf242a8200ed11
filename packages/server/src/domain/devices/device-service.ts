import type { Int64 } from '@hermod/protocol'
import type { Tx } from '../../db/database.js'
import type { Clock } from '../../lib/clock.js'
import { createToken } from '../../lib/tokens.js'
import type { DeviceStore } from './device-store.js'

export interface OpenedDevice {
  readonly deviceSn: number
  readonly pushToken: string
  /** Serial numbers of devices that gave way to this one. */
  readonly displaced: readonly number[]
}

interface DeviceUse {
  readonly appId: string
  readonly userId: Int64
  readonly deviceGuid: string
  readonly userAgent: string
  /** The push token to bind; without it the device keeps its own, or gets one. */
  readonly pushToken?: string
}

const maxUserAgentLength = 512

/** Installations of an application (decision D6). */
export class DeviceService {
  constructor(private readonly options: { readonly store: DeviceStore; readonly clock: Clock; readonly devicesPerUser: number }) {}

  /** The device with this GUID, created when it is new; the longest unused one gives way when there are too many. */
  async open(tx: Tx, use: DeviceUse): Promise<OpenedDevice> {
    const { store, clock, devicesPerUser } = this.options
    const { appId, userId, deviceGuid } = use
    const now = clock.now()
    const userAgent = use.userAgent.slice(0, maxUserAgentLength)
    // The serial is taken first because taking it is what makes concurrent logins of one user follow each other; an unused one is
    // only a gap.
    const known = await store.findByGuid(tx, appId, userId, deviceGuid)
    const deviceSn = known?.device_sn ?? (await store.nextSerial(tx, appId, userId))
    const device = known ?? (await store.findByGuid(tx, appId, userId, deviceGuid))
    if (device) {
      const pushToken = use.pushToken ?? device.push_token
      await store.update(tx, { ...device, user_agent: userAgent, push_token: pushToken, last_used_at: now })
      return { deviceSn: device.device_sn, pushToken, displaced: [] }
    }
    const pushToken = use.pushToken ?? createToken('hmp_')
    const row = { app_id: appId, user_id: userId, device_guid: deviceGuid, created_at: now, last_used_at: now, platform: 0 }
    await store.insert(tx, { ...row, device_sn: deviceSn, user_agent: userAgent, push_token: pushToken })
    return { deviceSn, pushToken, displaced: await store.deleteLeastUsed(tx, appId, userId, devicesPerUser) }
  }
}
