import { meaningsOf, platform } from '../enums.js'
import { operation } from '../operation.js'
import { OpenedSession } from '../resources/sessions.js'
import { int64, intEnum, optional, string } from '../schema.js'
import { deviceGuid } from './fields.js'

/**
 * The first frame of a connection of the gateway. It has no address, so it is none of `operations`.
 * Its credentials stand in the data.
 */
export const openSession = operation({
  id: 'session.open',
  methods: [],
  path: '',
  tag: 'Realtime',
  summary: 'Opens the session of a connection.',
  description:
    'A token that is bound to a device opens only that device; one without a device is bound by the open.',
  callers: 'user',
  body: {
    app_id: string({ description: 'ID of the application', minLength: 1, maxLength: 64 }),
    access_token: string({ description: 'token of the user, or an Admin token', minLength: 1 }),
    user_id: optional(int64({ description: 'user of the session; required with an Admin token' })),
    device_guid: optional(deviceGuid),
    platform: intEnum(meaningsOf(platform), { description: 'platform of the device' }),
    user_agent: string({ description: 'name and version of the client' }),
    pos: optional(
      string({
        description: 'where the client has stopped; absent: it has nothing',
        maxLength: 128,
      }),
    ),
    sdk: optional(
      string({ description: 'name and version of the client library', maxLength: 128 }),
    ),
  },
  data: OpenedSession,
  countsForApp: false,
  origin: 'extension',
  errors: ['user_not_found', 'user_deleted', 'no_permission', 'session_limit_reached'],
})
