import { operation } from '../operation.js'
import {
  AdminToken,
  Application,
  appSettingFields,
  appStatuses,
  CheckReport,
  CreatedAdminToken,
  CreatedApp,
  DeletedUser,
  ImportedUser,
  OperatorUser,
  SecretKeyRotation,
  UserExport,
  UserWithPassword,
  userStatuses,
} from '../resources.js'
import {
  allOptional,
  array,
  boolean,
  int32,
  int64,
  intEnum,
  itemList,
  optional,
  strictObject,
  string,
} from '../schema.js'
import {
  avatar,
  description,
  done,
  email,
  get,
  id,
  mobile,
  nickName,
  password,
  post,
  privateInfo,
  publicInfo,
  username,
} from './fields.js'

const shared = { tag: 'Operator', callers: 'operator', origin: 'operator' } as const
const appId = string({
  description: '2 to 32 of a-z, 0-9, _ and -',
  maxLength: 32,
  pattern: '^[a-z0-9_-]{2,32}$',
  examples: ['demo'],
})
const appName = string({ description: 'display name', minLength: 1, maxLength: 128 })

export const createApp = operation({
  ...shared,
  id: 'operator.app.create',
  methods: post,
  path: '/operator/v1/app/create',
  summary: 'Creates an application with its first Admin token.',
  description: 'An app_id is made when none is sent. The token is shown this once.',
  body: { app_id: optional(appId), name: optional(appName) },
  data: CreatedApp,
  errors: ['app_exists'],
})

export const listApps = operation({
  ...shared,
  id: 'operator.app.list',
  methods: get,
  path: '/operator/v1/app/list',
  summary: 'Lists the applications of this service.',
  data: array(Application),
})

export const updateApp = operation({
  ...shared,
  id: 'operator.app.update',
  methods: post,
  path: '/operator/v1/app/update',
  summary: 'Changes an application; what is absent stays as it is.',
  body: {
    app_id: appId,
    name: optional(appName),
    status: optional(intEnum(appStatuses)),
    open_registration: optional(
      boolean({ description: 'true: users may register without a token' }),
    ),
    registration_secret: optional(
      string({
        description:
          'key of `sign` in /user/register/push, never shown again; "": `sign` is not asked for',
        maxLength: 256,
      }),
    ),
    settings: optional(
      strictObject(allOptional(appSettingFields), { description: 'settings to change' }),
    ),
  },
  data: Application,
  errors: ['app_not_found'],
})

export const createAdminToken = operation({
  ...shared,
  id: 'operator.token.create',
  methods: post,
  path: '/operator/v1/token/create',
  summary: 'Makes an Admin token for an application; it is shown this once.',
  body: {
    app_id: appId,
    name: string({
      description: 'what the operator calls the token',
      minLength: 1,
      maxLength: 128,
    }),
    expires_at: optional(
      int64({
        description: 'when it expires, ms; absent or 0: never',
        minimum: 0,
        maximum: 8_640_000_000_000_000,
      }),
    ),
  },
  data: CreatedAdminToken,
  errors: ['app_not_found'],
})

export const listAdminTokens = operation({
  ...shared,
  id: 'operator.token.list',
  methods: get,
  path: '/operator/v1/token/list',
  summary: 'Lists the Admin tokens of an application, revoked ones included.',
  query: { app_id: appId },
  data: array(AdminToken),
  errors: ['app_not_found'],
})

export const revokeAdminToken = operation({
  ...shared,
  id: 'operator.token.revoke',
  methods: post,
  path: '/operator/v1/token/revoke',
  summary: 'Ends an Admin token at once.',
  body: { app_id: appId, token_id: id('token ID') },
  data: done,
  errors: ['app_not_found', 'token_not_found'],
})

export const checkIntegrity = operation({
  ...shared,
  id: 'operator.check',
  methods: post,
  path: '/operator/v1/check',
  summary: 'Checks every derived fact against its log.',
  data: CheckReport,
})

export const rotateSecretKey = operation({
  ...shared,
  id: 'operator.secret.rotate',
  methods: post,
  path: '/operator/v1/secret/rotate',
  summary: 'Encrypts every stored secret with a new key.',
  description:
    'With the key in the data folder a new one is made, unless a rotation has been begun already, which is then finished. With keys in the ' +
    'settings the new one is HERMOD_SECRET_KEY, the previous one HERMOD_SECRET_KEY_OLD. The previous key stays accepted. Safe to repeat.',
  data: SecretKeyRotation,
})

export const retireSecretKey = operation({
  ...shared,
  id: 'operator.secret.retire',
  methods: post,
  path: '/operator/v1/secret/retire',
  summary: 'Ends the previous secret key of the data folder.',
  description:
    'Secrets that still need it are encrypted again first; when one cannot be opened the key stays. It ends group QR codes and file ' +
    'credentials that were made with the key. Safe to repeat.',
  data: SecretKeyRotation,
})

/** The same text, or none. */
function orEmpty<S extends { readonly pattern?: string }>(schema: S): S {
  return { ...schema, pattern: `^$|${schema.pattern}` }
}

const userProfile = {
  nick_name: optional(nickName),
  avatar: optional(avatar),
  description: optional(description),
  mobile: optional(orEmpty(mobile)),
  email: optional(orEmpty(email)),
  public_info: optional(publicInfo),
  private_info: optional(privateInfo),
}
const whichUser = {
  app_id: appId,
  user_id: optional(id('the user; or username')),
  username: optional(username),
}
const userErrors = ['app_not_found', 'user_not_found', 'user_deleted'] as const

export const createUser = operation({
  ...shared,
  id: 'operator.user.create',
  methods: post,
  path: '/operator/v1/user/create',
  summary: 'Creates a user.',
  description:
    'A password is made when none is sent; it is shown this once. Reserved username prefixes are for the operator to use.',
  body: { app_id: appId, username, password: optional(password), ...userProfile },
  data: UserWithPassword,
  errors: ['app_not_found', 'user_exists', 'mobile_taken', 'email_taken', 'user_limit_reached'],
})

export const importUsers = operation({
  ...shared,
  id: 'operator.user.import',
  methods: post,
  path: '/operator/v1/user/import',
  summary: 'Creates up to 500 users; each entry succeeds or fails by itself.',
  description:
    'Safe to repeat: a user that is there already counts as a success. A password hash is bcrypt ($2a$, $2b$, $2y$), or scrypt or argon2 ' +
    'as a PHC string; the first login replaces it by one of the service. A user with neither password nor hash cannot log in until a ' +
    'password is set.',
  body: {
    app_id: appId,
    users: itemList(
      strictObject({
        username,
        password: optional(password),
        password_hash: optional(
          string({
            description: 'hash made by another system, instead of a password',
            maxLength: 512,
          }),
        ),
        ...userProfile,
        status: optional(intEnum(userStatuses)),
        created_at: optional(
          int64({ description: 'creation time, ms; absent or 0: now', minimum: 0 }),
        ),
        user_id: optional(
          int64({ description: 'ignored, so that an export can be imported; users get new IDs' }),
        ),
      }),
      { description: 'users to create', minItems: 1 },
    ),
    update: optional(
      boolean({
        description:
          'true: the profile fields of an entry change the user that is there already; never its password or status',
      }),
    ),
  },
  data: array(ImportedUser, { description: 'in the order of the entries' }),
  errors: ['app_not_found'],
})

export const exportUsers = operation({
  ...shared,
  id: 'operator.user.export',
  methods: get,
  path: '/operator/v1/user/export',
  summary: 'Lists the users of an application with their profiles.',
  query: {
    app_id: appId,
    cursor: optional(
      string({
        description: 'next_cursor of the page before; absent or "": from the start',
        maxLength: 64,
      }),
    ),
    limit: optional(int32({ description: 'how many users, default and at most 500', minimum: 1 })),
    include_hashes: optional(boolean({ description: 'true: with the hashes of the passwords' })),
  },
  data: UserExport,
  errors: ['app_not_found'],
})

export const disableUser = operation({
  ...shared,
  id: 'operator.user.disable',
  methods: post,
  path: '/operator/v1/user/disable',
  summary: 'Disables a user, which ends its tokens at once.',
  body: whichUser,
  data: OperatorUser,
  errors: userErrors,
})

export const enableUser = operation({
  ...shared,
  id: 'operator.user.enable',
  methods: post,
  path: '/operator/v1/user/enable',
  summary: 'Enables a user again.',
  body: whichUser,
  data: OperatorUser,
  errors: userErrors,
})

export const deleteUserByOperator = operation({
  ...shared,
  id: 'operator.user.delete',
  methods: post,
  path: '/operator/v1/user/delete',
  summary: 'Deletes a user; its messages stay for the others.',
  description: 'Safe to repeat by user_id: a user that was deleted before is told, not refused.',
  body: whichUser,
  data: DeletedUser,
  errors: ['app_not_found', 'user_not_found'],
})

export const resetUserPassword = operation({
  ...shared,
  id: 'operator.user.reset_password',
  methods: post,
  path: '/operator/v1/user/reset_password',
  summary: 'Sets the password of a user, which ends its tokens at once.',
  description: 'A password is made when none is sent; it is shown this once.',
  body: { ...whichUser, password: optional(password) },
  data: UserWithPassword,
  errors: userErrors,
})
