import { array, int32, Type } from '../schema.js'
import { payload } from './event-schema.js'

/** Fields of a profile that only its user can read in full. */
const profileFields = [
  'avatar',
  'description',
  'email',
  'mobile',
  'nick_name',
  'private_info',
  'public_info',
  'username',
] as const

const device = payload({ device_sn: int32() })

/** Payloads of events about accounts and their devices. */
export const userEvents = {
  'user.password_changed': payload({}),
  'user.frozen': payload({}),
  'user.removed': payload({}),
  'user.kicked': payload({
    device_sn: Type.Optional(int32({ description: 'Absent: every device.' })),
  }),
  'user.info_updated': payload({
    properties: array(Type.String(), { description: 'The fields that changed.' }),
    changed: Type.Object(
      Object.fromEntries(profileFields.map((name) => [name, Type.Optional(Type.String())])),
      { description: 'Their new values; empty once the user is deleted.' },
    ),
  }),
  /** Values are read with /user/settings; tags with /user/push/tag. */
  'user.settings_updated': payload({
    properties: array(Type.String(), {
      description: 'The settings that were set, as /user/settings names them; or push_tags.',
    }),
  }),
  /** A user logged in on a known device. */
  'user.device_logged_in': device,
  'user.device_added': device,
  'user.device_removed': device,
  /** The list of devices shows another user agent or platform for the device. */
  'user.device_updated': device,
}
