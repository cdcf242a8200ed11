import { actorEvent } from '@hermod/protocol/events'
import type { ServerConfig } from '../../config/config.js'
import type { AppService } from '../../domain/apps/app-service.js'
import { EventIds } from '../../domain/events/event-ids.js'
import { LoggedEvents } from '../../domain/events/logged-events.js'
import { AttemptService } from '../../domain/webhooks/attempts/attempt-service.js'
import { AttemptStore } from '../../domain/webhooks/attempts/attempt-store.js'
import type { Endpoint } from '../../domain/webhooks/endpoints/endpoint-model.js'
import { EndpointSecretBox } from '../../domain/webhooks/endpoints/endpoint-secrets.js'
import { EndpointService } from '../../domain/webhooks/endpoints/endpoint-service.js'
import { EndpointStore } from '../../domain/webhooks/endpoints/endpoint-store.js'
import { ReplayService } from '../../domain/webhooks/replay-service.js'
import { TestService } from '../../domain/webhooks/test-service.js'
import { DeadLetterPurge } from '../../domain/webhooks/waiting/dead-letter-purge.js'
import { minuteMs } from '../../lib/clock.js'
import type { SecretBox } from '../../lib/secrets/secret-box.js'
import { newSecret, secretFault } from '../../lib/secrets/webhook-signature.js'
import { AttemptLog } from '../../webhooks/dispatcher/attempt-log.js'
import { Dispatcher } from '../../webhooks/dispatcher/dispatcher.js'
import { HttpSender } from '../../webhooks/http-sender.js'
import type { Outbound } from '../adapters/outbound.js'
import { dispatchObserver } from '../adapters/webhooks.js'
import type { Domain } from '../domain.js'
import type { Infrastructure } from '../infrastructure.js'

interface CreateWebhooksOptions {
  readonly config: ServerConfig
  readonly apps: AppService
  readonly secretBox: SecretBox
  /** Ends with the webhooks. */
  readonly outbound: Outbound
}

/**
 * Time in which requests to endpoints may end when the service stops; then they are ended and
 * repeated later.
 */
const maxGraceMs = 2_000

export function createWebhooks(
  infrastructure: Infrastructure,
  { config, apps, secretBox, outbound }: CreateWebhooksOptions,
) {
  const { database, stores, shares, outbox, clock, ids, epoch, log, metrics } = infrastructure
  const sender = new HttpSender({
    client: outbound.client,
    clock,
    epoch: () => epoch.current,
    userAgent: 'Hermod-Webhooks',
  })
  const endpointStore = new EndpointStore()
  const attempts = new AttemptStore(database)
  const secrets = new EndpointSecretBox({ database, store: endpointStore, secretBox })
  const endpoints = new EndpointService({
    database,
    store: endpointStore,
    waiting: stores.waitingEvents,
    attempts,
    secrets,
    outbox: stores.outbox,
    apps,
    ids,
    clock,
    urlFault: outbound.urlFault,
    secretFault,
    newSecret,
    changed: (appId) => dispatcher.changed(appId),
  })
  const attemptLog = new AttemptLog({ database, store: attempts, ids })
  const disable = async (endpoint: Endpoint, reason: 'gone' | 'failing') => {
    const { appId, endpointId } = endpoint
    await database.transaction(async (tx) => {
      if (!(await endpoints.disable(tx, endpoint, reason))) return
      const about = { appId, actorId: 0, userIds: [] }
      const details = { endpoint_id: endpointId, reason }
      outbox.append(tx, actorEvent('webhook.disabled', about, details))
    })
  }
  const dispatcher: Dispatcher = new Dispatcher({
    database,
    endpoints: endpointStore,
    waiting: stores.waitingEvents,
    outbox: stores.outbox,
    shares,
    graceMs: Math.min(maxGraceMs, config.http.shutdownTimeoutMs),
    events: new LoggedEvents(stores.storedMessages, new EventIds(epoch.histories)),
    sender,
    secretsOf: (endpoint) => secrets.signing(endpoint, clock.now()),
    disable,
    attempted: (attempt) => attemptLog.add(attempt),
    clock,
    observer: dispatchObserver(log, metrics),
  })
  const deadLetters = new DeadLetterPurge({
    database,
    endpoints: endpointStore,
    waiting: stores.waitingEvents,
    clock,
  })
  return {
    services: {
      webhooks: endpoints,
      webhookAttempts: new AttemptService({ database, store: attempts, endpoints, apps }),
      webhookSecrets: secrets,
      webhookTests: new TestService({ endpoints, attempts, secrets, sender, apps, ids, clock }),
      webhookReplays: new ReplayService({
        database,
        endpoints: endpointStore,
        waiting: stores.waitingEvents,
        outbox: stores.outbox,
        apps,
        clock,
        changed: (appId) => dispatcher.changed(appId),
      }),
    },
    followers: [
      {
        start: () => dispatcher.start(),
        wake: (appId) => dispatcher.wake(appId),
        stop: async () => {
          await dispatcher.stop()
          await attemptLog.flush()
          await outbound.client[Symbol.asyncDispose]()
        },
      },
    ],
    logHolders: [(db, appId) => endpointStore.lowestPosition(db, appId)],
    maintenanceTasks: [
      {
        name: 'old dead letters',
        intervalMs: 10 * minuteMs,
        run: (signal) => deadLetters.run(signal),
      },
    ],
  } satisfies Domain
}
