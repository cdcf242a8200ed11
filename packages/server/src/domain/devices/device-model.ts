import type { Int64 } from '@hermod/protocol'
import { actorEvent, type Event } from '@hermod/protocol/events'
import type { TableRow } from '../../db/columns.js'
import type { devicesTable } from '../../db/schema.js'
import type { UserKey } from '../users/user-model.js'

/** A device, identified by its serial number within its user. */
export interface DeviceKey extends UserKey {
  readonly deviceSn: number
}

/** A device as it is stored. */
export type StoredDevice = TableRow<typeof devicesTable>
/** A device as returned to its user. */
export type Device = Pick<StoredDevice, 'deviceSn' | 'platform' | 'userAgent'>

/** A token of a push gateway, with the name of the certificate to use it with. */
export interface PushBinding {
  readonly deviceToken: string
  readonly notifierName: string
}

/** Returns the event of a change to a user's device. */
export function deviceEvent(
  kind: 'user.kicked' | `user.device_${'added' | 'removed' | 'updated' | 'logged_in'}`,
  actorId: Int64,
  { appId, userId, deviceSn }: DeviceKey,
): Event {
  return actorEvent(kind, { appId, actorId, userIds: [userId] }, { device_sn: deviceSn })
}
