import { appStatus, meaningsOf, platform } from '../enums.js'
import { operation } from '../operation.js'
import {
  AdminToken,
  Application,
  ApplicationFlags,
  appSettingFields,
  CreatedAdminToken,
  CreatedApp,
} from '../resources/apps.js'
import {
  allOptional,
  array,
  boolean,
  int64,
  intEnum,
  list,
  optional,
  strictObject,
  string,
  stringEnum,
} from '../schema.js'
import { scopeFaults, scopeWords } from '../scopes.js'
import { appId, done, get, id, operatorOperation, post, username } from './fields.js'

const tag = 'Applications'

/**
 * The flags are the application's settings, or their defaults. The answer is the same for every
 * platform. Source: rule K12.
 */
export const getAppFlags = operation({
  id: 'app.config',
  methods: get,
  path: '/app/config',
  tag,
  summary: 'Reads the flags of the application that clients need.',
  callers: 'anyone',
  scopes: [],
  query: { platform: intEnum(meaningsOf(platform)) },
  data: ApplicationFlags,
  origin: 'extension',
})

/**
 * Checks only: the name is not reserved, so a later registration may still answer 10004. A name
 * that breaks rule D1, or starts with a reserved prefix, is not free. Source: rule K12.
 */
export const checkUsername = operation({
  id: 'app.user.name_check',
  methods: get,
  path: '/app/user/name_check',
  tag,
  summary: 'Tells whether a username is free.',
  callers: 'anyone',
  scopes: [],
  query: { username },
  data: boolean({ description: 'true: the username may be registered' }),
  origin: 'extension',
})

const appName = string({ description: 'display name', minLength: 1, maxLength: 128 })

/**
 * Atomic: the application and its first Admin token are stored together. Not safe to repeat: a
 * second call with the same app_id answers 40004. Rule C6.
 */
export const createApp = operation({
  ...operatorOperation,
  id: 'operator.app.create',
  methods: post,
  path: '/operator/v1/app/create',
  summary: 'Creates an application with its first Admin token.',
  description: 'Without an app_id one is generated. The token is shown only once.',
  body: { app_id: optional(appId), name: optional(appName) },
  data: CreatedApp,
  errors: ['app_exists'],
})

/** By app_id, disabled applications included. */
export const listApps = operation({
  ...operatorOperation,
  id: 'operator.app.list',
  methods: get,
  path: '/operator/v1/app/list',
  summary: 'Lists the applications of this service.',
  data: array(Application),
})

/**
 * Atomic; settings are merged, and an unknown setting is refused by name (rule B5). Other nodes
 * follow within 1 s.
 */
export const updateApp = operation({
  ...operatorOperation,
  id: 'operator.app.update',
  methods: post,
  path: '/operator/v1/app/update',
  summary: 'Changes an application; absent fields stay unchanged.',
  body: {
    app_id: appId,
    name: optional(appName),
    status: optional(intEnum(meaningsOf(appStatus))),
    open_registration: optional(
      boolean({ description: 'true: users may register without a token' }),
    ),
    registration_secret: optional(
      string({
        description:
          'key of `sign` in /user/register/push, never shown again; "": `sign` is not required',
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

const tokenScopes = list(stringEnum(scopeWords), {
  description: 'the scopes of the token, or all alone, which also means those of later versions',
  minItems: 1,
  'x-blank-is-absent': false,
})

/**
 * Only a hash is stored, so a lost token cannot be read again, only revoked. Names need not be
 * unique (rule C6).
 */
export const createAdminToken = operation({
  ...operatorOperation,
  id: 'operator.token.create',
  methods: post,
  path: '/operator/v1/token/create',
  summary: 'Creates an Admin token for an application; the token is shown only once.',
  description: 'Without scopes it has all.',
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
    scopes: optional(tokenScopes),
  },
  data: CreatedAdminToken,
  violationsOf: scopeFaults,
  errors: ['app_not_found'],
})

/** Oldest first. The tokens themselves are never shown again (rule C6). */
export const listAdminTokens = operation({
  ...operatorOperation,
  id: 'operator.token.list',
  methods: get,
  path: '/operator/v1/token/list',
  summary: 'Lists the Admin tokens of an application, revoked ones included.',
  query: { app_id: appId },
  data: array(AdminToken),
  errors: ['app_not_found'],
})

/**
 * Acts on this node at once and on others within 1 s, on sockets and waiting calls too. Rule C8.
 */
export const updateAdminToken = operation({
  ...operatorOperation,
  id: 'operator.token.update',
  methods: post,
  path: '/operator/v1/token/update',
  summary: 'Narrows or widens the scopes of an Admin token.',
  description: 'A revoked token is not found.',
  body: { app_id: appId, token_id: id('token ID'), scopes: tokenScopes },
  data: AdminToken,
  violationsOf: scopeFaults,
  errors: ['app_not_found', 'token_not_found'],
})

/**
 * Refused on this node at once and on others within 1 s. Revoking a revoked token succeeds and
 * changes nothing (rule C6).
 */
export const revokeAdminToken = operation({
  ...operatorOperation,
  id: 'operator.token.revoke',
  methods: post,
  path: '/operator/v1/token/revoke',
  summary: 'Revokes an Admin token at once.',
  body: { app_id: appId, token_id: id('token ID') },
  data: done,
  errors: ['app_not_found', 'token_not_found'],
})
