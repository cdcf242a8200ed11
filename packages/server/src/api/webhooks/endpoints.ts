import {
  createWebhook,
  createWebhookByOperator,
  deleteWebhook,
  deleteWebhookByOperator,
  type Int64,
  listWebhookAttempts,
  listWebhookAttemptsByOperator,
  listWebhooks,
  listWebhooksByOperator,
  type ParamsOf,
  replayWebhook,
  replayWebhookByOperator,
  testWebhook,
  testWebhookByOperator,
  updateWebhook,
  updateWebhookByOperator,
} from '@hermod/protocol'
import type { Attempt } from '../../domain/webhooks/attempts/attempt.js'
import type { AttemptService } from '../../domain/webhooks/attempts/attempt-service.js'
import type {
  ChangedEndpoint,
  EndpointChange,
  EndpointService,
  EndpointSummary,
} from '../../domain/webhooks/endpoints/endpoint-service.js'
import type { ReplayService } from '../../domain/webhooks/replay-service.js'
import type { TestService } from '../../domain/webhooks/test-service.js'
import { definedOnly } from '../../lib/defined-only.js'
import { data, type Handler, handle, whenDone } from '../../pipeline/call.js'

interface WebhookServices {
  readonly webhooks: EndpointService
  readonly webhookAttempts: AttemptService
  readonly webhookTests: TestService
  readonly webhookReplays: ReplayService
}

/** Each operation for Admin tokens, and the same one for operators. */
export function webhookHandlers(services: WebhookServices): Handler[] {
  const { webhooks, webhookAttempts, webhookTests, webhookReplays } = services
  const create = async (appId: string, { url, ...params }: ParamsOf<typeof createWebhook>) =>
    data(toChanged(await webhooks.create(appId, { url, ...toChange(params) })))
  const update = async (
    appId: string,
    { endpoint_id: endpointId, ...params }: ParamsOf<typeof updateWebhook>,
  ) => data(toChanged(await webhooks.update({ appId, endpointId }, toChange(params))))
  const remove = (appId: string, { endpoint_id: endpointId }: { endpoint_id: Int64 }) =>
    whenDone(webhooks.delete({ appId, endpointId }))
  const list = async (appId: string) => data((await webhooks.list(appId)).map(endpointResource))
  const test = async (appId: string, { endpoint_id: endpointId }: { endpoint_id: Int64 }) =>
    webhookTests.test({ appId, endpointId })
  const attempts = async (
    appId: string,
    { endpoint_id: endpointId, ...params }: ParamsOf<typeof listWebhookAttempts>,
  ) => {
    const { failed = false, event_id: eventId = '', cursor, limit } = params
    const page = { cursor, limit, failed, eventId }
    const found = await webhookAttempts.list({ appId, endpointId }, page)
    return { attempts: found.attempts.map(attemptResource), next_cursor: found.nextCursor }
  }
  const replay = async (
    appId: string,
    { endpoint_id: endpointId, ...params }: ParamsOf<typeof replayWebhook>,
  ) => {
    const { dead = false, from, to, kinds = [], key = '' } = params
    const request = { dead, from: timeOrNull(from), to: timeOrNull(to), kinds, key }
    const found = await webhookReplays.replay({ appId, endpointId }, request)
    return data({
      dead: found.dead,
      from_position: found.fromPosition,
      to_position: found.toPosition,
    })
  }
  return [
    handle(createWebhook, (params, { principal }) => create(principal.appId, params)),
    handle(createWebhookByOperator, ({ app_id, ...params }) => create(app_id, params)),
    handle(updateWebhook, (params, { principal }) => update(principal.appId, params)),
    handle(updateWebhookByOperator, ({ app_id, ...params }) => update(app_id, params)),
    handle(deleteWebhook, (params, { principal }) => remove(principal.appId, params)),
    handle(deleteWebhookByOperator, ({ app_id, ...params }) => remove(app_id, params)),
    handle(listWebhooks, (_, { principal }) => list(principal.appId)),
    handle(listWebhooksByOperator, ({ app_id }) => list(app_id)),
    handle(testWebhook, async (params, { principal }) =>
      data(withoutAnswer(attemptResource(await test(principal.appId, params)))),
    ),
    handle(testWebhookByOperator, async ({ app_id, ...params }) =>
      data(attemptResource(await test(app_id, params))),
    ),
    handle(listWebhookAttempts, async (params, { principal }) => {
      const page = await attempts(principal.appId, params)
      return data({ ...page, attempts: page.attempts.map(withoutAnswer) })
    }),
    handle(listWebhookAttemptsByOperator, async ({ app_id, ...params }) =>
      data(await attempts(app_id, params)),
    ),
    handle(replayWebhook, (params, { principal }) => replay(principal.appId, params)),
    handle(replayWebhookByOperator, ({ app_id, ...params }) => replay(app_id, params)),
  ]
}

function toChange(params: Omit<ParamsOf<typeof updateWebhook>, 'endpoint_id'>): EndpointChange {
  return definedOnly({
    url: params.url,
    description: params.description,
    kinds: params.kinds,
    receivers: params.receivers,
    format: params.format,
    concurrency: params.concurrency,
    batchSize: params.batch_size,
    timeoutMs: params.timeout_ms,
    state: params.state,
    secret: params.secret,
    newSecret: params.new_secret,
  })
}

/** A time in milliseconds; null: not given. */
function timeOrNull(value: Int64 | undefined): number | null {
  return value === undefined ? null : Number(value)
}

function toChanged({ secret, ...summary }: ChangedEndpoint) {
  return { ...endpointResource(summary), secret }
}

function endpointResource({ endpoint, counts, behind, hasPreviousSecret }: EndpointSummary) {
  return {
    endpoint_id: endpoint.endpointId,
    url: endpoint.url,
    description: endpoint.description,
    kinds: [...endpoint.kinds],
    receivers: [...endpoint.receivers],
    format: endpoint.format,
    concurrency: endpoint.concurrency,
    batch_size: endpoint.batchSize,
    timeout_ms: endpoint.timeoutMs,
    state: endpoint.isEnabled ? ('enabled' as const) : ('disabled' as const),
    state_reason: endpoint.stateReason,
    position: endpoint.position,
    behind,
    waiting: counts.waiting,
    dead: counts.dead,
    failing_since: endpoint.health.failingSince,
    next_try_at: endpoint.health.failures > 0 ? endpoint.health.retryAt : 0,
    last_success_at: endpoint.health.lastSuccessAt,
    has_previous_secret: hasPreviousSecret,
    created_at: endpoint.createdAt,
    updated_at: endpoint.updatedAt,
  }
}

/** The address that a name leads to, in the reason of a refusal. */
const resolvedAddress = / \([0-9a-f.:]+\)(?= is no public address)/i

/**
 * Applications see neither bodies nor what private names lead to: their endpoints may reach addresses
 * that the application cannot.
 */
function withoutAnswer(attempt: ReturnType<typeof attemptResource>) {
  return { ...attempt, answer: '', error: attempt.error.replace(resolvedAddress, '') }
}

function attemptResource(attempt: Attempt) {
  return {
    attempt_id: attempt.attemptId,
    at: attempt.at,
    event_id: attempt.first.id,
    type: attempt.first.kind,
    key: attempt.first.key,
    events: attempt.events,
    attempt: attempt.attempt,
    outcome: attempt.outcome,
    status: attempt.status,
    duration_ms: attempt.durationMs,
    error: attempt.error,
    answer: attempt.answer,
    next_at: attempt.nextAt,
  }
}
