/** Operations of other domains on the rows of users. */
import type { UserStore } from './user-store.js'

/** Device serial numbers, and the time of the device list's last change. */
export type UserDevices = Pick<
  UserStore,
  'lockDeviceLists' | 'setDeviceLists' | 'touchDevices' | 'findDevicesChangedAt'
>

/** The badge. */
export type UserBadge = Pick<UserStore, 'setBadge'>
