import { operation } from '../operation.js'
import { DeviceEntry, OnlineStatus } from '../resources/devices.js'
import { Nothing } from '../resources/results.js'
import { array, int32, optional, string } from '../schema.js'
import { cursorAndVersion, deleteOrPost, done, get, putOrPost } from './fields.js'

const tag = 'Devices'

const deviceSn = int32({ description: 'device serial number' })

/** By serial number, always the whole list, so there is no cursor (rule D6). */
export const listDevices = operation({
  id: 'user.device.list',
  methods: get,
  path: '/user/device/list',
  tag,
  summary: 'Lists the devices of the user.',
  description: 'By serial number, always the whole list.',
  callers: 'user',
  scopes: ['users:read'],
  data: array(DeviceEntry),
  extras: cursorAndVersion,
})

/**
 * Device, its push tokens and its access tokens end in one commit; the serial number is not given
 * again. Rule D6.
 */
export const removeDevice = operation({
  id: 'user.device.remove',
  methods: deleteOrPost,
  path: '/user/device/remove',
  tag,
  summary: 'Removes a device; its tokens end.',
  callers: 'user',
  scopes: ['users:write'],
  query: { device_sn: deviceSn },
  data: done,
  errors: ['device_not_found'],
})

/**
 * Ends access tokens; devices stay, and their push tokens are silent until the next login. Without
 * device_sn also tokens end that are tied to no device. Safe to repeat. Rules C6, D6a.
 */
export const kickDevices = operation({
  id: 'user.kick',
  methods: putOrPost,
  path: '/user/kick',
  tag,
  summary: 'Logs a device out, or all devices.',
  description: 'A device that is logged out gets no push until its next login.',
  callers: 'user',
  scopes: ['users:write'],
  query: {
    device_sn: optional(
      int32({
        description: 'device serial number; absent: all devices; "" is refused',
        blankIsAbsent: false,
      }),
    ),
  },
  data: done,
  errors: ['device_not_found'],
})

/**
 * A vendor token belongs to the device that bound it last, and is unbound from any other. The
 * certificate may be set later. Rules D6, D6a.
 */
export const bindPushToken = operation({
  id: 'user.token.bind',
  methods: putOrPost,
  path: '/user/token/bind',
  tag,
  summary: 'Binds the push token of a vendor to a device.',
  description: 'A user token without a device belongs to this device from then on.',
  callers: 'user',
  scopes: ['users:write', 'messages:read'],
  body: {
    device_sn: deviceSn,
    device_token: string({
      description:
        'token that the push gateway of the vendor gave; without commas, tabs and line breaks',
      minLength: 1,
      maxLength: 1024,
      // Some gateways take several tokens in one text, with commas between them.
      pattern: '^[^,\\t\\r\\n]*$',
      form: 'a token without commas, tabs and line breaks',
    }),
    notifier_name: string({ description: 'certificate name', minLength: 1, maxLength: 256 }),
  },
  data: done,
  errors: ['device_not_found'],
})

/** Succeeds when nothing was bound. The answer is an empty object (rule D8). */
export const unbindPushToken = operation({
  id: 'user.token.unbind',
  methods: deleteOrPost,
  path: '/user/token/unbind',
  tag,
  summary: 'Unbinds the push token of a device.',
  callers: 'user',
  scopes: ['users:write'],
  query: { deviceSn },
  data: Nothing,
  errors: ['device_not_found'],
})

/** Concerns the acting user: a token's own user, or the user in the user_id header. */
export const getOnlineStatus = operation({
  id: 'user.online_status',
  methods: get,
  path: '/user/online_status',
  tag,
  summary: 'Tells whether the user is online.',
  callers: 'user',
  scopes: ['users:read'],
  data: OnlineStatus,
})
