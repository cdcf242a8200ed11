import { AppError, systemUserId } from '@hermod/protocol'
import type { Database } from '../../db/database.js'
import type { Clock } from '../../lib/clock.js'
import type { Outbox } from '../../outbox/outbox.js'
import type { AppService } from '../apps/app-service.js'
import type { Import, ImportKey } from './import-model.js'
import type { ImportStore } from './import-store.js'

interface ImportServiceOptions {
  readonly database: Database
  readonly apps: Pick<AppService, 'get'>
  readonly imports: ImportStore
  readonly outbox: Outbox
  readonly clock: Clock
}

/** The rows of one step, since sends wait for it. */
const rowsPerStep = 2_000

/** The state of imports from other systems, and their end. */
export class ImportService {
  constructor(private readonly options: ImportServiceOptions) {}

  /** @throws AppError app_not_found */
  async list(appId: string): Promise<Import[]> {
    const { database, apps, imports } = this.options
    await apps.get(appId)
    return database.read((db) => imports.list(db, appId))
  }

  /**
   * Ends an import and forgets its external IDs. A repeat forgets what a killed call has left.
   * @throws AppError app_not_found, import_not_found
   */
  async finish(key: ImportKey): Promise<Import> {
    const { database, apps, imports } = this.options
    await apps.get(key.appId)
    const finished = await this.#close(key)
    let deleted = rowsPerStep
    while (deleted === rowsPerStep)
      deleted = await database.transaction((tx) => imports.deleteItems(tx, key, rowsPerStep))
    return finished
  }

  #close(key: ImportKey): Promise<Import> {
    const { database, imports, outbox, clock } = this.options
    const { appId, source } = key
    return database.transaction(async (tx) => {
      const found = await imports.lock(tx, key)
      if (!found) throw new AppError('import_not_found')
      if (found.finishedAt !== null) return found
      const finishedAt = clock.now()
      outbox.append(tx, {
        kind: 'import.finished',
        appId,
        payload: { actor_id: systemUserId, user_ids: [], source },
      })
      const position = await outbox.nextPosition(tx, appId)
      await imports.finish(tx, key, { finishedAt, position })
      return { ...found, finishedAt, position }
    })
  }
}
