/** What other domains read of the rows of users. */
import type { UserStore } from './user-store.js'

/** The serial numbers of devices, and when their list changed. */
export type UserDevices = Pick<
  UserStore,
  'takeDeviceSerial' | 'touchDevices' | 'findDevicesChangedAt'
>

/** The badge. */
export type UserBadge = Pick<UserStore, 'setBadge'>
