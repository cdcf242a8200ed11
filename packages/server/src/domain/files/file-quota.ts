import { AppError } from '@hermod/protocol'
import type { Database } from '../../db/database.js'
import type { App } from '../apps/app-model.js'
import type { FileUsageStore } from './file-usage-store.js'

/** The bytes that an app may store (rule J2). */
export class FileQuota {
  constructor(
    private readonly options: { readonly database: Database; readonly usage: FileUsageStore },
  ) {}

  /**
   * @returns the bytes that the app may still store now; infinite where it has no quota
   * @throws AppError file_quota_reached
   */
  async requireRoom({ appId, settings }: App): Promise<number> {
    const { database, usage } = this.options
    const quotaBytes = Number(settings.file_quota_bytes)
    if (quotaBytes === 0) return Number.POSITIVE_INFINITY
    const { bytes } = await database.read((db) => usage.find(db, appId))
    if (bytes >= quotaBytes) throw new AppError('file_quota_reached')
    return quotaBytes - bytes
  }
}
