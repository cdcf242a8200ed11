import { AppError } from '@hermod/protocol'
import type { EventKind } from '@hermod/protocol/events'
import type { Database, Tx } from '../../db/database.js'
import type { Clock } from '../../lib/clock.js'
import type { OutboxReader } from '../../outbox/outbox-reader.js'
import type { AppService } from '../apps/app-service.js'
import type { EndpointKey, Replay } from './endpoints/endpoint-model.js'
import type { EndpointStore } from './endpoints/endpoint-store.js'
import { maxWaiting, rowsForReplay } from './waiting/waiting-event.js'
import type { WaitingEventStore } from './waiting/waiting-event-store.js'

/** Choice of the events to send again. */
export interface ReplayRequest {
  readonly dead: boolean
  /** Milliseconds since 1970; null: no events of the log. */
  readonly from: number | null
  /** Milliseconds since 1970; null: until now. */
  readonly to: number | null
  /** [] = all. */
  readonly kinds: readonly EventKind[]
  /** "" = all. */
  readonly key: string
}

/** The events that are sent again. */
export interface ReplayResult {
  readonly dead: number
  /** Positions of the log; 0 = none. */
  readonly fromPosition: number
  readonly toPosition: number
}

/** Sends events to endpoints again. */
export class ReplayService {
  constructor(
    private readonly options: {
      readonly database: Database
      readonly endpoints: EndpointStore
      readonly waiting: WaitingEventStore
      readonly outbox: OutboxReader
      readonly apps: Pick<AppService, 'get' | 'lockForUpdate'>
      readonly clock: Clock
      /** See EndpointServiceOptions. */
      readonly changed: (appId: string) => Promise<void>
    },
  ) {}

  /**
   * Makes dead events wait again, as many as there is room for, and starts a replay of the log, up to
   * its end.
   *
   * @throws AppError app_not_found, webhook_not_found, webhook_replay_gone, invalid_parameter
   */
  async replay(key: EndpointKey, request: ReplayRequest): Promise<ReplayResult> {
    const { database, endpoints, apps, clock } = this.options
    if (!request.dead && request.from === null)
      throw new AppError('invalid_parameter', 'dead or from must be given')
    if (request.from !== null && request.to !== null && request.to <= request.from)
      throw new AppError('invalid_parameter', 'to must be after from')
    await apps.get(key.appId)
    const range = await this.#range(key.appId, request)
    const result = await database.transaction(async (tx): Promise<ReplayResult> => {
      await apps.lockForUpdate(tx, key.appId)
      const endpoint = await endpoints.find(tx, key)
      if (endpoint === null) throw new AppError('webhook_not_found')
      const dead = request.dead ? await this.#revive(tx, key, request) : 0
      const { first, last } = range
      const isEmpty = first === 0 || first > last
      const { kinds, key: eventKey } = request
      const replay: Replay = { position: first - 1, until: last, kinds, key: eventKey }
      await endpoints.update(tx, key, {
        ...(!isEmpty && { replay }),
        version: endpoint.version + 1,
        updatedAt: Math.max(clock.now(), endpoint.updatedAt + 1),
      })
      return isEmpty
        ? { dead, fromPosition: 0, toPosition: 0 }
        : { dead, fromPosition: first, toPosition: last }
    })
    await this.options.changed(key.appId)
    return result
  }

  /** @returns the number of dead events that wait again */
  async #revive(tx: Tx, key: EndpointKey, { kinds, key: eventKey }: ReplayRequest) {
    const { waiting } = this.options
    const counts = await waiting.counts(tx, key.appId)
    // The endpoint may be storing some of its events at this moment.
    const limit = maxWaiting - rowsForReplay - (counts.get(Number(key.endpointId))?.waiting ?? 0)
    return limit <= 0 ? 0 : waiting.revive(tx, key, { kinds, key: eventKey, limit })
  }

  /** Returns the positions of a time; 0 and 0 for none. */
  async #range(appId: string, { from, to }: ReplayRequest) {
    const { database, outbox } = this.options
    if (from === null) return { first: 0, last: 0 }
    const [oldest, first, after, head] = await database.read((db) =>
      Promise.all([
        outbox.listOldest(db, appId, 1),
        outbox.firstSince(db, appId, from),
        to === null ? null : outbox.firstSince(db, appId, to),
        outbox.head(db, appId),
      ]),
    )
    const [kept] = oldest
    if (kept && kept.position > 1 && from < kept.createdAt)
      throw new AppError(
        'webhook_replay_gone',
        `the log begins at ${new Date(kept.createdAt).toISOString()}`,
      )
    if (kept === undefined && head > 0) throw new AppError('webhook_replay_gone')
    return { first: first ?? 0, last: after === null ? head : after - 1 }
  }
}
