/** What the rows of users hold for other domains. */
import type { UserStore } from './user-store.js'

/** The serial numbers of devices, and when their list changed. */
export type UserDevices = Pick<
  UserStore,
  'takeDeviceSerial' | 'touchDevices' | 'findDevicesChangedAt'
>

/** The badge. */
export type UserBadge = Pick<UserStore, 'update'>
