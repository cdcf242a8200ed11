import { operation } from '../../operation.js'
import { AnonymousUser, RegistrationResult, UserSettings } from '../../resources/users.js'
import { array, itemList, object, optional, string } from '../../schema.js'
import { deviceGuid, id, password, post, pushToken, username } from '../fields.js'

const tag = 'Users'
const registrationErrors = ['user_exists', 'registration_closed', 'user_limit_reached'] as const

const credentials = { username, password }

/**
 * Settings of a new user are all false, 0 or "" (rule D7). Of two concurrent registrations of one
 * name exactly one succeeds. Rules C2 and D1.
 */
export const registerUser = operation({
  id: 'user.register',
  methods: post,
  path: '/user/register/v2',
  tag,
  summary: 'Registers a user.',
  description:
    'Open to anyone unless the application has closed its registration; then an Admin token is needed.',
  callers: 'anyone',
  scopes: ['tokens:issue'],
  body: credentials,
  data: UserSettings,
  errors: registrationErrors,
})

/**
 * Same as {@link registerUser}, with the device, the push token and the alias stored in the same
 * commit: all or none. Rule D8 defines `sign`.
 */
export const registerUserForPush = operation({
  id: 'user.register.push',
  methods: post,
  path: '/user/register/push',
  tag,
  summary: 'Registers a user together with a device and what pushes need.',
  description:
    'A push_token that another user has is not taken over: the device gets one of its own.',
  callers: 'anyone',
  scopes: ['tokens:issue'],
  body: {
    ...credentials,
    alias: optional(
      string({ description: 'alias of the user for pushes; "": none', maxLength: 128 }),
    ),
    device_guid: optional(deviceGuid),
    push_token: optional(pushToken),
    sign: optional(
      string({
        description:
          'with a registration secret: lower-case hex HMAC-SHA256 of app_id, a line feed and username under that secret; else ignored',
        maxLength: 128,
      }),
    ),
  },
  data: UserSettings,
  errors: [...registrationErrors, 'registration_signature_invalid', 'push_alias_taken'],
})

/**
 * Entries are handled one by one: of two equal names in one list the first one gets it, and
 * registered users stay when a later entry fails. Rule D9.
 */
export const registerUsers = operation({
  id: 'user.register.batch',
  methods: post,
  path: '/user/register/batch',
  tag,
  summary: 'Registers several users.',
  description:
    'Every entry succeeds or fails separately; the answer has one result per entry, in order.',
  callers: 'admin',
  scopes: ['tokens:issue'],
  body: { list: optional(itemList(object(credentials), { description: 'at most 500 users' })) },
  data: array(RegistrationResult, { description: 'one result per entry, in order' }),
})

/**
 * The server appends letters and digits until the name is free. When `cid` cannot become a contact,
 * no user is registered. Source: rule K12.
 */
export const registerAnonymousUser = operation({
  id: 'user.register.anonymous',
  methods: post,
  path: '/user/register/anonymous',
  tag,
  summary: 'Registers a user under a name that the server completes.',
  callers: 'anyone',
  scopes: ['tokens:issue'],
  body: {
    username: string({
      description: 'used as a prefix of the username',
      minLength: 1,
      maxLength: 40,
    }),
    password,
    cid: optional(
      id(
        'a user to become a contact of; the user gets a contact request unless an Admin token is used; 0: none',
      ),
    ),
  },
  data: AnonymousUser,
  errors: [
    'registration_closed',
    'user_limit_reached',
    'user_not_found',
    'user_deleted',
    'contact_limit_reached',
    'contact_requests_refused',
    'wrong_auth_answer',
  ],
  origin: 'extension',
})
