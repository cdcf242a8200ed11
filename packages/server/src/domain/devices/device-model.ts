import type { Int64 } from '@hermod/protocol'
import { actorEvent, type Event } from '@hermod/protocol/events'
import type { UserKey } from '../users/user-model.js'

/** A device by the serial number that it has with its user. */
export interface DeviceKey extends UserKey {
  readonly deviceSn: number
}

/** A device as its user sees it. */
export interface Device {
  readonly deviceSn: number
  /** A value of `platform` of the protocol. */
  readonly platform: number
  readonly userAgent: string
}

/** The token of a push gateway, to be used with the certificate of this name. */
export interface PushBinding {
  readonly deviceToken: string
  readonly notifierName: string
}

/** What happened to a device of a user. */
export function deviceEvent(
  kind: 'user.kicked' | 'user.device_added' | 'user.device_removed',
  actorId: Int64,
  { appId, userId, deviceSn }: DeviceKey,
): Event {
  return actorEvent(kind, { appId, actorId, userIds: [userId] }, { device_sn: deviceSn })
}
