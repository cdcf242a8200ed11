import { array, int32, Type } from '../schema.js'
import { payload } from './event-schema.js'

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
  }),
  'user.device_logged_in': device,
  'user.device_added': device,
  'user.device_removed': device,
}
