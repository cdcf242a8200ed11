import type { Clock } from '../../lib/clock.js'
import type { IdGenerator } from '../../lib/ids/ids.js'
import { targetOf, type WebhookSender } from './webhook-sender.js'
import type { AppService } from '../apps/app-service.js'
import type { LoggedEvent } from '../events/logged-event.js'
import type { Attempt } from './attempts/attempt.js'
import type { AttemptStore } from './attempts/attempt-store.js'
import type { Endpoint, EndpointKey } from './endpoints/endpoint-model.js'
import type { EndpointSecretBox } from './endpoints/endpoint-secrets.js'
import type { EndpointService } from './endpoints/endpoint-service.js'

/** Sends test events to endpoints. */
export class TestService {
  constructor(
    private readonly options: {
      readonly endpoints: Pick<EndpointService, 'get'>
      readonly attempts: AttemptStore
      readonly secrets: EndpointSecretBox
      readonly sender: WebhookSender
      readonly apps: Pick<AppService, 'get'>
      readonly ids: IdGenerator
      readonly clock: Clock
    },
  ) {}

  /**
   * Sends one event, also to a disabled endpoint.
   *
   * @throws AppError app_not_found, webhook_not_found
   */
  async test(key: EndpointKey): Promise<Attempt> {
    const { endpoints, attempts, secrets, sender, apps, ids, clock } = this.options
    await apps.get(key.appId)
    const endpoint = await endpoints.get(key)
    const at = clock.now()
    const attemptId = await ids.next()
    const event = testEvent(endpoint, { at, name: String(attemptId) })
    const target = targetOf(endpoint, secrets.signing(endpoint, at))
    const result = await sender.send(target, [event], new AbortController().signal)
    const { id, kind, key: eventKey } = event
    const first = { id, kind, key: eventKey }
    const attempt = { ...key, ...result, attemptId, at, first, events: 1, attempt: 1, nextAt: 0 }
    await attempts.insert([attempt])
    return attempt
  }
}

/** The old format has messages only, so its test is one that the system seems to send. */
function testEvent(
  { appId, endpointId, format, position }: Endpoint,
  { at, name }: { readonly at: number; readonly name: string },
): LoggedEvent {
  const isMessage = format === 'callback'
  const sample = {
    conversation: { low_id: 0, high_id: 0, is_group: false },
    msg_id: 0,
    sender_id: 0,
    content_type: 0,
    content: 'This is a test.',
    ext: '',
    is_system: true,
  }
  return {
    id: `evt_${appId}_test_${name}`,
    kind: isMessage ? 'message.stored' : 'webhook.test',
    appId,
    position: position + 1,
    place: 0,
    name,
    key: 'app',
    createdAt: at,
    payload: isMessage ? sample : { endpoint_id: endpointId },
  }
}
