import { webhookFormats, webhookStates } from '../../enums.js'
import { committedKinds } from '../../events/index.js'
import { operation } from '../../operation.js'
import {
  Webhook,
  WebhookAttempt,
  WebhookAttemptPage,
  WebhookReplay,
  WebhookWithSecret,
} from '../../resources/webhooks/webhooks.js'
import { array, boolean, int32, int64, list, optional, string, stringEnum } from '../../schema.js'
import { appId, done, get, id, newestFirst, operatorOperation, post } from '../fields.js'

/** The operations of an application, for Admin tokens. */
const ofApp = {
  tag: 'Webhooks',
  callers: 'admin',
  scopes: ['app', 'messages:read'],
  origin: 'extension',
} as const
const ofApplication = { app_id: appId }

const endpointId = id('endpoint ID')
const kinds = optional(
  list(stringEnum(committedKinds), { description: 'kinds of events; [] or absent: all' }),
)

const settings = {
  description: optional(string({ description: 'what the endpoint is for', maxLength: 256 })),
  kinds,
  receivers: optional(
    list(int64(), {
      description: 'only events that concern one of these users or groups; [] or absent: all',
    }),
  ),
  format: optional(
    stringEnum(webhookFormats, {
      description: 'standard (default): as in the guide; callback: messages in the old form',
    }),
  ),
  concurrency: optional(
    int32({ description: 'requests at once, at most; default 16', minimum: 1, maximum: 64 }),
  ),
  batch_size: optional(
    int32({ description: 'events in a request, at most; default 1', minimum: 1, maximum: 100 }),
  ),
  timeout_ms: optional(
    int32({
      description: 'time for an answer, ms; default 15000',
      minimum: 1_000,
      maximum: 30_000,
    }),
  ),
  secret: optional(
    string({
      description:
        'secret: whsec_ and the base64 of 24 to 64 bytes; absent: one is made; format callback: any text of 16 characters or more',
      maxLength: 128,
    }),
  ),
}
const url = string({
  description: 'http or https address without user name',
  minLength: 1,
  maxLength: 2048,
  examples: ['https://hooks.example.com/hermod'],
})

const create = {
  methods: post,
  summary: 'Makes an endpoint: the events of the application are sent to it from now on.',
  description: 'The secret is shown only once. An application has at most 20 endpoints.',
  data: WebhookWithSecret,
  errors: ['webhook_limit_reached'],
} as const
const createBody = { url, ...settings }

/** The URL may lead to a private address only where HERMOD_OUTBOUND_ALLOW names it. */
export const createWebhook = operation({
  ...ofApp,
  ...create,
  id: 'webhook.create',
  path: '/app/webhook/create',
  body: createBody,
})

/** The same as {@link createWebhook}. */
export const createWebhookByOperator = operation({
  ...operatorOperation,
  ...create,
  id: 'operator.webhook.create',
  path: '/operator/v1/webhook/create',
  body: { ...ofApplication, ...createBody },
  errors: ['app_not_found', ...create.errors],
})

const update = {
  methods: post,
  summary: 'Changes an endpoint; what is absent stays.',
  description:
    'After a change of the secret the previous one signs too, for 24 hours. The state enabled tries the endpoint and its waiting events at once; no other change does. The change acts with its answer.',
  data: WebhookWithSecret,
  errors: ['webhook_not_found'],
} as const
const updateBody = {
  endpoint_id: endpointId,
  url: optional(url),
  ...settings,
  new_secret: optional(boolean({ description: 'true: another secret is made' })),
  state: optional(stringEnum(webhookStates, { description: 'enabled, or disabled' })),
}

/** The position of the endpoint stays. */
export const updateWebhook = operation({
  ...ofApp,
  ...update,
  id: 'webhook.update',
  path: '/app/webhook/update',
  body: updateBody,
})

/** The same as {@link updateWebhook}. */
export const updateWebhookByOperator = operation({
  ...operatorOperation,
  ...update,
  id: 'operator.webhook.update',
  path: '/operator/v1/webhook/update',
  body: { ...ofApplication, ...updateBody },
  errors: ['app_not_found', ...update.errors],
})

const remove = {
  methods: post,
  summary: 'Deletes an endpoint with its waiting events, dead letters and attempts.',
  data: done,
  errors: ['webhook_not_found'],
} as const

/** Requests that are in flight end. */
export const deleteWebhook = operation({
  ...ofApp,
  ...remove,
  id: 'webhook.delete',
  path: '/app/webhook/delete',
  body: { endpoint_id: endpointId },
})

/** The same as {@link deleteWebhook}. */
export const deleteWebhookByOperator = operation({
  ...operatorOperation,
  ...remove,
  id: 'operator.webhook.delete',
  path: '/operator/v1/webhook/delete',
  body: { ...ofApplication, endpoint_id: endpointId },
  errors: ['app_not_found', ...remove.errors],
})

const listing = {
  methods: get,
  summary: 'Lists the endpoints of the application, without their secrets.',
  description: 'Oldest first; always the whole list, at most 20.',
  data: array(Webhook),
} as const

/** The secrets are shown only by the call that makes or changes them. */
export const listWebhooks = operation({
  ...ofApp,
  ...listing,
  id: 'webhook.list',
  path: '/app/webhook/list',
})

/** The same as {@link listWebhooks}. */
export const listWebhooksByOperator = operation({
  ...operatorOperation,
  ...listing,
  id: 'operator.webhook.list',
  path: '/operator/v1/webhook/list',
  query: ofApplication,
  errors: ['app_not_found'],
})

const test = {
  methods: post,
  summary: 'Sends an event of type webhook.test to an endpoint, and answers what came of it.',
  description: 'Also to a disabled endpoint. The position of the endpoint stays.',
  data: WebhookAttempt,
  errors: ['webhook_not_found'],
} as const

/** One attempt; takes as long as the time-out of the endpoint at most. */
export const testWebhook = operation({
  ...ofApp,
  ...test,
  id: 'webhook.test',
  path: '/app/webhook/test',
  body: { endpoint_id: endpointId },
})

/** The same as {@link testWebhook}. */
export const testWebhookByOperator = operation({
  ...operatorOperation,
  ...test,
  id: 'operator.webhook.test',
  path: '/operator/v1/webhook/test',
  body: { ...ofApplication, endpoint_id: endpointId },
  errors: ['app_not_found', ...test.errors],
})

const attempts = {
  methods: get,
  summary: 'Lists the last requests to an endpoint with their answers.',
  description:
    'Newest first, a page at a time; the last 1,000 of an endpoint are kept. Of requests that were delivered one a second is kept.',
  data: WebhookAttemptPage,
  errors: ['webhook_not_found'],
} as const
const attemptsQuery = {
  endpoint_id: endpointId,
  failed: optional(boolean({ description: 'true: only those without a 2xx answer' })),
  event_id: optional(
    string({ description: 'only those that begin with this event', maxLength: 256 }),
  ),
  ...newestFirst('attempts'),
}

/** Attempts that failed are all kept, up to the limit. */
export const listWebhookAttempts = operation({
  ...ofApp,
  ...attempts,
  id: 'webhook.attempts',
  path: '/app/webhook/attempts',
  query: attemptsQuery,
})

/** The same as {@link listWebhookAttempts}. */
export const listWebhookAttemptsByOperator = operation({
  ...operatorOperation,
  ...attempts,
  id: 'operator.webhook.attempts',
  path: '/operator/v1/webhook/attempts',
  query: { ...ofApplication, ...attemptsQuery },
  errors: ['app_not_found', ...attempts.errors],
})

const replay = {
  methods: post,
  summary: 'Sends events to an endpoint again, with their old IDs.',
  description:
    'Give dead, or a time from which on. A replay of the log ends at the moment of the call and runs in the background; a second one of the same endpoint replaces it. At most 8,000 dead letters are sent again at once.',
  data: WebhookReplay,
  errors: ['webhook_not_found', 'webhook_replay_gone'],
} as const
const replayBody = {
  endpoint_id: endpointId,
  dead: optional(boolean({ description: 'true: the dead letters' })),
  from: optional(int64({ description: 'events committed from then on, ms', minimum: 0 })),
  to: optional(int64({ description: 'and before then, ms; absent: until now', minimum: 0 })),
  kinds,
  key: optional(string({ description: 'only events with this key', maxLength: 64 })),
}

/** Kinds and key narrow the choice. */
export const replayWebhook = operation({
  ...ofApp,
  ...replay,
  id: 'webhook.replay',
  path: '/app/webhook/replay',
  body: replayBody,
})

/** The same as {@link replayWebhook}. */
export const replayWebhookByOperator = operation({
  ...operatorOperation,
  ...replay,
  id: 'operator.webhook.replay',
  path: '/operator/v1/webhook/replay',
  body: { ...ofApplication, ...replayBody },
  errors: ['app_not_found', ...replay.errors],
})
