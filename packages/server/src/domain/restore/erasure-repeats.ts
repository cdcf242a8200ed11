import { AppError } from '@hermod/protocol'
import type { Database, Queryable } from '../../db/database.js'
import { type ErasureLine, readErasures } from '../erasure/erasure-log.js'
import type { ErasureService } from '../erasure/erasure-service.js'
import type { UserKey } from '../users/user-model.js'

interface ErasureRepeatsOptions {
  readonly database: Database
  readonly erasures: Pick<ErasureService, 'list' | 'repeat'>
  readonly users: {
    find(db: Queryable, appId: string, userId: UserKey['userId']): Promise<object | null>
  }
  /** The folder with the list of erasures. */
  readonly dataDir: string
}

/** The erasures that were repeated. */
export interface RepeatedErasures {
  readonly repeated: number
  /** The number of lines of the list that are no erasures. */
  readonly unreadable: number
}

/** Erases the users again who were erased after the backup that was restored. */
export class ErasureRepeats {
  constructor(private readonly options: ErasureRepeatsOptions) {}

  /**
   * A repeat after a kill continues.
   * @throws AppError erasure_held
   */
  async run(): Promise<RepeatedErasures> {
    const { erasures, dataDir } = this.options
    const signal = new AbortController().signal
    const { erasures: lines, unreadable } = await readErasures(dataDir)
    let repeated = 0
    for (const line of lines) {
      if (!(await this.#isLost(line))) continue
      await erasures.repeat(line, { signal, progress: () => {} })
      repeated++
    }
    return { repeated, unreadable }
  }

  /** Tests whether the database has the user, and no such erasure. */
  async #isLost({ app_id: appId, user_id: userId, messages }: ErasureLine): Promise<boolean> {
    const { database, erasures, users } = this.options
    if ((await database.read((db) => users.find(db, appId, userId))) === null) return false
    const certificates = await erasures.list(appId, userId).catch((error: unknown) => {
      if (error instanceof AppError && error.errorName === 'app_not_found') return []
      throw error
    })
    return !certificates.some((each) => each.messages === messages && each.finished_at > 0)
  }
}
