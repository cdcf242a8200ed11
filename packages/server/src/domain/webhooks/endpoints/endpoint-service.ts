import { AppError, type Int64, type webhookStates } from '@hermod/protocol'
import type { Database, Tx } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import { definedOnly } from '../../../lib/defined-only.js'
import type { IdGenerator } from '../../../lib/ids/ids.js'
import { stringifyJson } from '../../../lib/json.js'
import type { OutboxReader } from '../../../outbox/outbox-reader.js'
import type { AppService } from '../../apps/app-service.js'
import type { AttemptStore } from '../attempts/attempt-store.js'
import type { WaitingCounts, WaitingEventStore } from '../waiting/waiting-event-store.js'
import { type Endpoint, type EndpointKey, maxEndpoints, newHealth } from './endpoint-model.js'
import type { EndpointSecretBox } from './endpoint-secrets.js'
import type { EndpointStore } from './endpoint-store.js'

/** The settings of an endpoint that callers choose. */
export type EndpointSettings = Pick<
  Endpoint,
  | 'url'
  | 'description'
  | 'kinds'
  | 'receivers'
  | 'format'
  | 'concurrency'
  | 'batchSize'
  | 'timeoutMs'
>

/** A change of an endpoint; what is absent stays. */
export interface EndpointChange extends Partial<EndpointSettings> {
  readonly state?: (typeof webhookStates)[number]
  readonly secret?: string
  /** Another secret is made. */
  readonly newSecret?: boolean
}

/** An endpoint for callers. */
export interface EndpointSummary {
  readonly endpoint: Endpoint
  readonly counts: WaitingCounts
  /** Positions of the log after that of the endpoint. */
  readonly behind: number
  readonly hasPreviousSecret: boolean
}

/** An endpoint after a change, with its secret if that has changed. */
export interface ChangedEndpoint extends EndpointSummary {
  /** "" = unchanged. */
  readonly secret: string
}

export interface EndpointServiceOptions {
  readonly database: Database
  readonly store: EndpointStore
  readonly waiting: WaitingEventStore
  readonly attempts: AttemptStore
  readonly secrets: EndpointSecretBox
  readonly outbox: Pick<OutboxReader, 'head'>
  readonly apps: Pick<AppService, 'get' | 'lockForUpdate'>
  readonly ids: IdGenerator
  readonly clock: Clock
  /** Returns the reason why a URL cannot be called, to follow its name; null: it can. */
  readonly urlFault: (url: string) => string | null
  /** Returns the reason why a text is no secret, to follow its name; null: it is one. */
  readonly secretFault: (secret: string, format: Endpoint['format']) => string | null
  readonly newSecret: () => string
  /**
   * Endpoints of an application have changed. Resolves when the sender of this node acts by it; other
   * nodes notice it within a second.
   */
  readonly changed: (appId: string) => Promise<void>
}

const defaults: Omit<EndpointSettings, 'url'> = {
  description: '',
  kinds: [],
  receivers: [],
  format: 'standard',
  concurrency: 16,
  batchSize: 1,
  timeoutMs: 15_000,
}
const noCounts: WaitingCounts = { waiting: 0, dead: 0 }

/** The endpoints that events of applications are sent to. */
export class EndpointService {
  constructor(private readonly options: EndpointServiceOptions) {}

  /**
   * Makes an endpoint. It gets events from now on.
   *
   * @throws AppError app_not_found, webhook_limit_reached, invalid_parameter
   */
  async create(
    appId: string,
    {
      url,
      secret,
      ...settings
    }: Pick<EndpointSettings, 'url'> & Omit<EndpointChange, 'state' | 'newSecret'>,
  ): Promise<ChangedEndpoint> {
    const { database, store, secrets, outbox, apps, ids, clock } = this.options
    await apps.get(appId)
    const all = { ...defaults, ...definedOnly(settings), url }
    const signing = secret ?? this.options.newSecret()
    this.#check(all, signing)
    const key = { appId, endpointId: await ids.next() }
    const now = clock.now()
    await database.transaction(async (tx) => {
      await apps.lockForUpdate(tx, appId)
      if ((await store.list(tx, appId)).length >= maxEndpoints)
        throw new AppError('webhook_limit_reached')
      await store.insert(tx, {
        ...key,
        ...all,
        sealed: secrets.seal(key, { secret: signing }),
        isEnabled: true,
        stateReason: '',
        position: await outbox.head(tx, appId),
        health: newHealth,
        replay: null,
        version: 1,
        createdAt: now,
        updatedAt: now,
      })
    })
    await this.options.changed(appId)
    return { ...(await this.#summary(key)), secret: signing }
  }

  /**
   * Changes an endpoint. Only a state `enabled` resets its health and tries its waiting events at once.
   *
   * @throws AppError app_not_found, webhook_not_found, invalid_parameter
   */
  async update(
    key: EndpointKey,
    { state, secret, newSecret, ...settings }: EndpointChange,
  ): Promise<ChangedEndpoint> {
    const { database, store, waiting, secrets, apps, clock, secretFault } = this.options
    await apps.get(key.appId)
    if (secret !== undefined && newSecret)
      throw new AppError('invalid_parameter', 'secret and new_secret cannot both be given')
    const given = secret ?? (newSecret ? this.options.newSecret() : '')
    await database.transaction(async (tx) => {
      const before = await this.#lock(tx, key)
      const after = { ...before, ...definedOnly(settings) }
      // An address that is not allowed any more does not keep an endpoint from being disabled.
      const urlCounts = settings.url !== undefined || state === 'enabled'
      // The secret must suit a new format too.
      const usedSecret = given === '' ? (secrets.open(before)?.secret ?? null) : given
      this.#check(after, usedSecret, urlCounts)
      const canSign = (each: string) => secretFault(each, after.format) === null
      const isEnabled = state === undefined ? before.isEnabled : state === 'enabled'
      const now = clock.now()
      const isForced = state === 'enabled'
      const isNewSecret = given !== '' && given !== secrets.open(before)?.secret
      const concernsSender = state !== undefined || isNewSecret || sentBy(after) !== sentBy(before)
      await store.update(tx, key, {
        ...definedOnly(settings),
        ...(isNewSecret && {
          sealed: secrets.seal(key, secrets.changed(before, given, { now, canSign })),
        }),
        isEnabled,
        stateReason: isEnabled ? '' : before.isEnabled ? 'caller' : before.stateReason,
        ...(isForced && { health: { ...newHealth, lastSuccessAt: before.health.lastSuccessAt } }),
        ...(concernsSender && { version: before.version + 1 }),
        // Different from before also within a millisecond: by it other nodes notice a change.
        updatedAt: Math.max(now, before.updatedAt + 1),
      })
      if (isForced) await waiting.makeDue(tx, key)
    })
    await this.options.changed(key.appId)
    return { ...(await this.#summary(key)), secret: given }
  }

  /**
   * Disables an endpoint that does not work.
   *
   * @param failed the endpoint as it was when it failed
   * @returns false when it is disabled or deleted already, or was changed since, such as its URL
   */
  async disable(tx: Tx, failed: Endpoint, reason: 'gone' | 'failing'): Promise<boolean> {
    const { store, clock } = this.options
    const before = await this.#lockIfExists(tx, failed)
    if (!before?.isEnabled || before.version !== failed.version) return false
    await store.update(tx, failed, {
      isEnabled: false,
      stateReason: reason,
      version: before.version + 1,
      updatedAt: Math.max(clock.now(), before.updatedAt + 1),
    })
    return true
  }

  /** @throws AppError app_not_found, webhook_not_found */
  async delete(key: EndpointKey): Promise<void> {
    const { database, store, waiting, attempts, apps } = this.options
    await apps.get(key.appId)
    await database.transaction(async (tx) => {
      await this.#lock(tx, key)
      // First, so that a request that ends now adds nothing.
      await store.delete(tx, key)
      await waiting.deleteAll(tx, key)
      await attempts.deleteAll(tx, key)
    })
    await this.options.changed(key.appId)
  }

  /**
   * Lists oldest first.
   *
   * @throws AppError app_not_found
   */
  async list(appId: string): Promise<EndpointSummary[]> {
    const { database, store, waiting, outbox, apps } = this.options
    await apps.get(appId)
    const [all, counts, head] = await database.read((db) =>
      Promise.all([store.list(db, appId), waiting.counts(db, appId), outbox.head(db, appId)]),
    )
    return all.map((endpoint) => this.#toSummary(endpoint, counts, head))
  }

  /** Lists the endpoints of all applications that the service has disabled after failures. */
  async listFailed(): Promise<EndpointKey[]> {
    const { database, store } = this.options
    return database.read((db) => store.listFailed(db))
  }

  /** @throws AppError webhook_not_found */
  async get(key: EndpointKey): Promise<Endpoint> {
    const { database, store } = this.options
    const endpoint = await database.read((db) => store.find(db, key))
    if (endpoint === null) throw new AppError('webhook_not_found')
    return endpoint
  }

  async #summary(key: EndpointKey): Promise<EndpointSummary> {
    const found = (await this.list(key.appId)).find(
      ({ endpoint }) => endpoint.endpointId === key.endpointId,
    )
    if (!found) throw new AppError('webhook_not_found')
    return found
  }

  #toSummary(
    endpoint: Endpoint,
    counts: ReadonlyMap<Int64, WaitingCounts>,
    head: number,
  ): EndpointSummary {
    const { secrets, clock } = this.options
    return {
      endpoint,
      counts: counts.get(endpoint.endpointId) ?? noCounts,
      behind: Math.max(0, head - endpoint.position),
      hasPreviousSecret: secrets.signing(endpoint, clock.now()).length > 1,
    }
  }

  /** @throws AppError webhook_not_found */
  async #lock(tx: Tx, key: EndpointKey): Promise<Endpoint> {
    const endpoint = await this.#lockIfExists(tx, key)
    if (endpoint === null) throw new AppError('webhook_not_found')
    return endpoint
  }

  async #lockIfExists(tx: Tx, key: EndpointKey): Promise<Endpoint | null> {
    const { store, apps } = this.options
    await apps.lockForUpdate(tx, key.appId)
    return store.find(tx, key)
  }

  /** @throws AppError invalid_parameter with all faults */
  #check(
    { url, format, batchSize }: EndpointSettings,
    secret: string | null,
    urlCounts = true,
  ): void {
    const { urlFault, secretFault } = this.options
    const ofUrl = urlCounts ? urlFault(url) : null
    const ofSecret = secret === null ? null : secretFault(secret, format)
    const faults = [
      ...(ofUrl === null ? [] : [`url ${ofUrl}`]),
      ...(ofSecret === null ? [] : [`secret ${ofSecret}`]),
      ...(format === 'callback' && batchSize > 1
        ? ['batch_size must be 1 with the format callback']
        : []),
    ]
    if (faults.length > 0) throw new AppError('invalid_parameter', faults.join('; '))
  }
}

/** Returns the settings of an endpoint that its sender heeds, as text to compare. */
function sentBy(settings: EndpointSettings): string {
  const { url, kinds, receivers, format, concurrency, batchSize, timeoutMs } = settings
  return stringifyJson([url, kinds, receivers, format, concurrency, batchSize, timeoutMs])
}
