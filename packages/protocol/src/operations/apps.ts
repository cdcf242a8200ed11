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
  optional,
  strictObject,
  string,
} from '../schema.js'
import { appId, done, get, id, operatorOperation, post, username } from './fields.js'

const tag = 'Applications'

export const getAppFlags = operation({
  id: 'app.config',
  methods: get,
  path: '/app/config',
  tag,
  summary: 'Reads what clients need to know of the application.',
  callers: 'anyone',
  query: { platform: intEnum(meaningsOf(platform)) },
  data: ApplicationFlags,
  origin: 'extension',
})

export const checkUsername = operation({
  id: 'app.user.name_check',
  methods: get,
  path: '/app/user/name_check',
  tag,
  summary: 'Tells whether a username is free.',
  callers: 'anyone',
  query: { username },
  data: boolean({ description: 'true: the username may be registered' }),
  origin: 'extension',
})

const appName = string({ description: 'display name', minLength: 1, maxLength: 128 })

export const createApp = operation({
  ...operatorOperation,
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
  ...operatorOperation,
  id: 'operator.app.list',
  methods: get,
  path: '/operator/v1/app/list',
  summary: 'Lists the applications of this service.',
  data: array(Application),
})

export const updateApp = operation({
  ...operatorOperation,
  id: 'operator.app.update',
  methods: post,
  path: '/operator/v1/app/update',
  summary: 'Changes an application; what is absent stays as it is.',
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
  ...operatorOperation,
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
  ...operatorOperation,
  id: 'operator.token.list',
  methods: get,
  path: '/operator/v1/token/list',
  summary: 'Lists the Admin tokens of an application, revoked ones included.',
  query: { app_id: appId },
  data: array(AdminToken),
  errors: ['app_not_found'],
})

export const revokeAdminToken = operation({
  ...operatorOperation,
  id: 'operator.token.revoke',
  methods: post,
  path: '/operator/v1/token/revoke',
  summary: 'Ends an Admin token at once.',
  body: { app_id: appId, token_id: id('token ID') },
  data: done,
  errors: ['app_not_found', 'token_not_found'],
})
