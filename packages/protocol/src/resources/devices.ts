import { meaningsOf, platform } from '../enums.js'
import { resource } from '../resource.js'
import { boolean, int32, int64, intEnum, type Static, text } from '../schema.js'

/** Device entry of the contract. device_sn counts up per user from 1 (rule D6). */
export const DeviceEntry = resource('DeviceEntry', 'A device of the user.', {
  device_sn: int32({ description: 'device serial number' }),
  platform: intEnum(meaningsOf(platform)),
  user_agent: text('device information'),
  user_id: int64({ description: 'user ID' }),
  online: boolean({ description: 'true while the device is connected' }),
})
/** A device of the acting user. */
export type DeviceEntry = Static<typeof DeviceEntry>

/** Data of /user/online_status. */
export const OnlineStatus = resource('OnlineStatus', 'Whether the user is online.', {
  online: boolean({ description: 'a device of the user is connected, or was 10 seconds ago' }),
})
/** Tells whether a device of the user is connected at this moment. */
export type OnlineStatus = Static<typeof OnlineStatus>
