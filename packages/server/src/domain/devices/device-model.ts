import type { Int64 } from '@hermod/protocol'
import type { Event, EventKind } from '../../outbox/event-model.js'
import type { UserKey } from '../users/user-model.js'

export interface DeviceKey extends UserKey {
  readonly deviceSn: number
}

export interface Device {
  readonly deviceSn: number
  /** 0 unknown, else as in the Device entry of the contract. */
  readonly platform: number
  readonly userAgent: string
}

/** The token of a push gateway, to be used with the certificate of this name. */
export interface PushBinding {
  readonly deviceToken: string
  readonly notifierName: string
}

/** What happened to a device of a user, or to all of them when no device is named. */
export function deviceEvent(
  kind: EventKind,
  actorId: Int64,
  { appId, userId }: UserKey,
  deviceSn?: number,
): Event {
  const content = deviceSn === undefined ? '' : JSON.stringify({ device_sn: deviceSn })
  return { appId, kind, actorId, userIds: [userId], content }
}
