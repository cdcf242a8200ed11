import { meaningsOf, platform } from '../../enums.js'
import { operation } from '../../operation.js'
import { TokenRecord } from '../../resources/login.js'
import { boolean, int32, intEnum, object, optional, string } from '../../schema.js'
import { avatar, deviceGuid, done, id, nickName, post, username } from '../fields.js'
import { assertion, identity, userFaults } from './fields.js'

const created = boolean({ description: 'true: the call has made the user' })
const devicePlatform = optional(
  intEnum(meaningsOf(platform), { description: 'platform of the device; absent: unchanged' }),
)
const ofBackends = {
  methods: post,
  tag: 'Tokens',
  callers: 'admin',
  scopes: ['tokens:issue'],
  origin: 'extension',
} as const

/**
 * The user is named in exactly one way. Of two first calls for one subject one makes the user. The
 * token ends those that this operation gave the device before. Rule C9.
 */
export const issueToken = operation({
  ...ofBackends,
  id: 'token.issue',
  path: '/token/issue',
  summary: 'Gives a token to a user of your own system, without a password.',
  description:
    'Name the user by user_id, by name, or by issuer and subject. An issuer that only your backend uses needs no configuration. ' +
    'With create a subject without a user gets a new one; a user who is there stays unchanged. push_token is answered when device_guid is sent.',
  body: {
    user_id: optional(id('user ID')),
    name: optional(username),
    issuer: optional(identity.issuer),
    subject: optional(identity.subject),
    device_guid: optional(deviceGuid),
    platform: devicePlatform,
    user_agent: optional(
      string({ description: 'user agent of the device; absent: unchanged', maxLength: 512 }),
    ),
    expires_in: optional(
      int32({
        description:
          'seconds; at most the life of tokens (a setting of the server), a year for bots; absent: 24 hours',
        minimum: 60,
      }),
    ),
    create: optional(
      object(
        {
          username: optional(username),
          nick_name: optional(nickName),
          avatar: optional(avatar),
          is_bot: optional(
            boolean({ description: 'true: a program, whose tokens may live a year' }),
          ),
        },
        { description: 'the user to make when the subject has none; without username one is made' },
      ),
    ),
  },
  data: TokenRecord,
  extras: { created },
  violationsOf: (params) => [
    ...userFaults(params, 'user_id', 'name'),
    ...(params.create !== undefined && params.issuer === undefined && params.subject === undefined
      ? ['create must come with issuer and subject']
      : []),
  ],
  errors: [
    'user_not_found',
    'user_deleted',
    'user_disabled',
    'username_taken',
    'user_limit_reached',
  ],
})

/**
 * Each call gives a new token, also for the same assertion. It ends those that this operation and
 * /token/issue gave the device before. Rule C10.
 */
export const exchangeToken = operation({
  id: 'token.exchange',
  methods: post,
  path: '/token/exchange',
  tag: 'Tokens',
  origin: 'extension',
  callers: 'anyone',
  scopes: ['tokens:issue'],
  summary: 'Exchanges an assertion of another system for a token.',
  description:
    'The operator sets the issuers of assertions. A refused assertion is 10023 whatever the reason. push_token is answered when device_guid is sent.',
  body: {
    assertion,
    device_guid: optional(deviceGuid),
    platform: devicePlatform,
  },
  data: TokenRecord,
  extras: { created },
  bodyBytesPerToken: 1_024,
  errors: ['assertion_refused', 'user_not_found', 'user_disabled', 'user_limit_reached'],
})

/** Ends tokens and sockets as {@link kickDevices} does. Safe to repeat. Rule C9. */
export const revokeTokens = operation({
  ...ofBackends,
  id: 'token.revoke',
  path: '/token/revoke',
  summary: 'Logs a user out: all devices, or one.',
  description:
    'Connections end within a second. Assertions that were issued before are refused from then on.',
  body: {
    user_id: optional(id('user ID')),
    issuer: optional(identity.issuer),
    subject: optional(identity.subject),
    device_sn: optional(
      int32({
        description: 'device serial number; absent: all devices; "" is refused',
        blankIsAbsent: false,
      }),
    ),
  },
  data: done,
  violationsOf: (params) => userFaults(params, 'user_id'),
  errors: ['user_not_found', 'user_deleted', 'device_not_found'],
})
