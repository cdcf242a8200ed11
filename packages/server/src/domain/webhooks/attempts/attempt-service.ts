import type { Database } from '../../../db/database.js'
import type { AppService } from '../../apps/app-service.js'
import { operatorPageLimit, readIdCursor, writeCursor } from '../../paging.js'
import type { EndpointKey } from '../endpoints/endpoint-model.js'
import type { EndpointService } from '../endpoints/endpoint-service.js'
import type { Attempt } from './attempt.js'
import type { AttemptStore } from './attempt-store.js'

/** Choice of a page of attempts. */
export interface AttemptPageRequest {
  readonly cursor?: string | undefined
  readonly limit?: number | undefined
  readonly failed: boolean
  /** "" = any. */
  readonly eventId: string
}

/** The requests to endpoints. */
export class AttemptService {
  constructor(
    private readonly options: {
      readonly database: Database
      readonly store: AttemptStore
      readonly endpoints: Pick<EndpointService, 'get'>
      readonly apps: Pick<AppService, 'get'>
    },
  ) {}

  /** Empties the answers of receivers, which may quote any event of the app. */
  async eraseAnswers(appId: string): Promise<void> {
    const { database, store } = this.options
    await database.transaction((tx) => store.eraseAnswers(tx, appId))
  }

  /**
   * Lists newest first.
   *
   * @throws AppError app_not_found, webhook_not_found, invalid_parameter
   */
  async list(key: EndpointKey, { failed, eventId, ...page }: AttemptPageRequest) {
    const { database, store, endpoints, apps } = this.options
    await apps.get(key.appId)
    await endpoints.get(key)
    const limit = operatorPageLimit(page)
    const before = readIdCursor(page.cursor) ?? null
    const filter = { before, isFailed: failed, eventId, limit }
    const attempts: Attempt[] = await database.read((db) => store.list(db, key, filter))
    const last = attempts.length < limit ? undefined : attempts.at(-1)
    return { attempts, nextCursor: last ? writeCursor(last.attemptId) : '' }
  }
}
