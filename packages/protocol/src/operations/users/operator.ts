import { meaningsOf, userStatus } from '../../enums.js'
import { operation } from '../../operation.js'
import {
  DeletedUser,
  ImportedUser,
  OperatorUser,
  UserExport,
  UserWithPassword,
} from '../../resources/users.js'
import {
  array,
  boolean,
  int32,
  int64,
  intEnum,
  itemList,
  list,
  optional,
  strictObject,
  string,
} from '../../schema.js'
import {
  appId,
  avatar,
  description,
  email,
  get,
  id,
  mobile,
  nickName,
  operatorOperation,
  password,
  post,
  privateInfo,
  publicInfo,
  username,
} from '../fields.js'
import { identity } from '../identity/fields.js'

const userProfile = {
  nick_name: optional(nickName),
  avatar: optional(avatar),
  description: optional(description),
  mobile: optional(mobile),
  email: optional(email),
  public_info: optional(publicInfo),
  private_info: optional(privateInfo),
}

const whichUser = {
  app_id: appId,
  user_id: optional(id('the user; or username')),
  username: optional(username),
}
const userErrors = ['app_not_found', 'user_not_found', 'user_deleted'] as const

/**
 * Atomic: user and profile are stored together or not at all. Not safe to repeat: the second call
 * answers 10004.
 */
export const createUser = operation({
  ...operatorOperation,
  id: 'operator.user.create',
  methods: post,
  path: '/operator/v1/user/create',
  summary: 'Creates a user.',
  description:
    'Without a password one is generated and shown only once. The operator may use reserved username prefixes.',
  body: { app_id: appId, username, password: optional(password), ...userProfile },
  data: UserWithPassword,
  errors: ['app_not_found', 'user_exists', 'mobile_taken', 'email_taken', 'user_limit_reached'],
})

/**
 * Results are in the order of the entries. Rules D1 and D9; docs/decisions/015-importing-users.md
 * says why it may be repeated.
 */
export const importUsers = operation({
  ...operatorOperation,
  id: 'operator.user.import',
  methods: post,
  path: '/operator/v1/user/import',
  summary: 'Creates up to 500 users; each entry succeeds or fails separately.',
  description:
    'Safe to repeat: an existing user counts as a success. A password hash is bcrypt ($2a$, $2b$, $2y$), or scrypt or argon2 ' +
    'as a PHC string; the first login replaces it by one of the service. A user with neither password nor hash cannot log in until a ' +
    'password is set or your backend issues a token. An identity that another user has fails its entry, and so does one that an ' +
    'existing user lacks: link it with /user/identity/link.',
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
        status: optional(intEnum(meaningsOf(userStatus))),
        is_bot: optional(boolean({ description: 'true: a program, whose tokens may live a year' })),
        identities: optional(
          list(strictObject(identity), {
            description: 'the user in other systems, at most 10',
            maxItems: 10,
          }),
        ),
        has_password: optional(
          boolean({ description: 'ignored, so that an export can be imported' }),
        ),
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
          'true: the profile fields of an entry change the existing user; never its password or status',
      }),
    ),
  },
  data: array(ImportedUser, { description: 'in the order of the entries' }),
  errors: ['app_not_found'],
})

/**
 * By user ID, so that a walk over the pages returns every user who exists throughout exactly once.
 */
export const exportUsers = operation({
  ...operatorOperation,
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

/**
 * The same as {@link disableUsers} for one user, named by ID or username. Safe to repeat. Rule D4.
 */
export const disableUser = operation({
  ...operatorOperation,
  id: 'operator.user.disable',
  methods: post,
  path: '/operator/v1/user/disable',
  summary: 'Disables a user, which ends its tokens at once.',
  body: whichUser,
  data: OperatorUser,
  errors: userErrors,
})

/**
 * The same as {@link enableUsers} for one user, named by ID or username. Safe to repeat. Rule D4.
 */
export const enableUser = operation({
  ...operatorOperation,
  id: 'operator.user.enable',
  methods: post,
  path: '/operator/v1/user/enable',
  summary: 'Enables a user again.',
  body: whichUser,
  data: OperatorUser,
  errors: userErrors,
})

/** The same as {@link deleteUser}, without a password. Rule D5. */
export const deleteUserByOperator = operation({
  ...operatorOperation,
  id: 'operator.user.delete',
  methods: post,
  path: '/operator/v1/user/delete',
  summary: 'Deletes a user; its messages stay for the others.',
  description:
    'Safe to repeat by user_id: a user that was deleted before is not an error, `deleted` is false then.',
  body: whichUser,
  data: DeletedUser,
  errors: ['app_not_found', 'user_not_found'],
})

/** Sets the password and ends all tokens in one commit. Rule D3. */
export const resetUserPassword = operation({
  ...operatorOperation,
  id: 'operator.user.reset_password',
  methods: post,
  path: '/operator/v1/user/reset_password',
  summary: 'Sets the password of a user, which ends its tokens at once.',
  description: 'Without a password one is generated and shown only once.',
  body: { ...whichUser, password: optional(password) },
  data: UserWithPassword,
  errors: userErrors,
})
