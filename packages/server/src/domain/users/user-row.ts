/** Operations of other domains on the rows of users. */
import type { DeviceList, UserStore } from './user-store.js'

export type { DeviceList }

/** Device serial numbers, and the time of the device list's last change. */
export type UserDevices = Pick<
  UserStore,
  'lockDeviceLists' | 'setDeviceLists' | 'touchDevices' | 'findDevicesChangedAt'
>

/** The badge. */
export type UserBadge = Pick<UserStore, 'setBadge'>
