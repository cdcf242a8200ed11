import { operation } from '../operation.js'
import { AdminToken, Application, applicationStatuses, CheckReport, CreatedAdminToken, CreatedApplication } from '../resources.js'
import { array, boolean, int64, intEnum, optional, string } from '../schema.js'
import { done, get, id, post } from './fields.js'

const shared = { tag: 'Operator', callers: 'operator', origin: 'operator' } as const
const appId = string({ description: '2 to 32 of a-z, 0-9, _ and -', maxLength: 32, pattern: '^[a-z0-9_-]{2,32}$', examples: ['demo'] })
const applicationName = string({ description: 'display name', minLength: 1, maxLength: 128 })

export const createApplication = operation({
  ...shared,
  id: 'operator.app.create',
  methods: post,
  path: '/operator/v1/app/create',
  summary: 'Creates an application with its first Admin token.',
  description: 'An app_id is made when none is sent. The token is shown this once.',
  body: { app_id: optional(appId), name: optional(applicationName) },
  data: CreatedApplication,
  errors: ['application_exists'],
})

export const listApplications = operation({
  ...shared,
  id: 'operator.app.list',
  methods: get,
  path: '/operator/v1/app/list',
  summary: 'Lists the applications of this service.',
  data: array(Application),
})

export const updateApplication = operation({
  ...shared,
  id: 'operator.app.update',
  methods: post,
  path: '/operator/v1/app/update',
  summary: 'Changes an application; what is absent stays as it is.',
  body: {
    app_id: appId,
    name: optional(applicationName),
    status: optional(intEnum(applicationStatuses)),
    open_registration: optional(boolean({ description: 'true: users may register without a token' })),
  },
  data: Application,
  errors: ['application_not_found'],
})

export const createAdminToken = operation({
  ...shared,
  id: 'operator.token.create',
  methods: post,
  path: '/operator/v1/token/create',
  summary: 'Makes an Admin token for an application; it is shown this once.',
  body: {
    app_id: appId,
    name: string({ description: 'what the operator calls the token', minLength: 1, maxLength: 128 }),
    expires_at: optional(int64({ description: 'when it expires, ms; absent or 0: never', minimum: 0, maximum: 8_640_000_000_000_000 })),
  },
  data: CreatedAdminToken,
  errors: ['application_not_found'],
})

export const listAdminTokens = operation({
  ...shared,
  id: 'operator.token.list',
  methods: get,
  path: '/operator/v1/token/list',
  summary: 'Lists the Admin tokens of an application, revoked ones included.',
  query: { app_id: appId },
  data: array(AdminToken),
  errors: ['application_not_found'],
})

export const revokeAdminToken = operation({
  ...shared,
  id: 'operator.token.revoke',
  methods: post,
  path: '/operator/v1/token/revoke',
  summary: 'Ends an Admin token at once.',
  body: { app_id: appId, token_id: id('token ID') },
  data: done,
  errors: ['application_not_found', 'token_not_found'],
})

export const checkIntegrity = operation({
  ...shared,
  id: 'operator.check',
  methods: post,
  path: '/operator/v1/check',
  summary: 'Checks every derived fact against its log.',
  data: CheckReport,
})
