import { meaningsOf, platform } from '../enums.js'
import { boolean, int32, int64, intEnum, type Static, text } from '../schema.js'
import { resource } from './fields.js'

export const DeviceEntry = resource('DeviceEntry', 'A device of the user.', {
  device_sn: int32({ description: 'device serial number' }),
  platform: intEnum(meaningsOf(platform)),
  user_agent: text('device information'),
  user_id: int64({ description: 'user ID' }),
})
export type DeviceEntry = Static<typeof DeviceEntry>

export const OnlineStatus = resource('OnlineStatus', 'Whether the user is online.', {
  online: boolean({ description: 'true while a device of the user is connected' }),
})
export type OnlineStatus = Static<typeof OnlineStatus>
