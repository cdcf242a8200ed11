import type { Int64 } from '@hermod/protocol'
import { snakeCase } from '../../db/columns.js'
import type { Database, Queryable, Tx } from '../../db/database.js'
import { sql } from '../../db/kysely.js'
import { fileWithdrawalsTable } from '../../db/schema.js'
import { paddedForPlanCache } from '../../lib/chunks.js'
import type { FileKey } from './file-model.js'
import { messageReferrer, referencesOf } from './references/reference-model.js'

/** A conversation in which a user sent a file. */
export interface FileConversation {
  readonly lowId: Int64
  readonly highId: Int64
  readonly senderId: Int64
}

/** A recalled message. */
export interface RecalledAttachment extends FileConversation {
  readonly messageId: Int64
  readonly attachment: string
}

/** The files of recalled messages. */
export class FileWithdrawalStore {
  readonly #find

  constructor(database: Database) {
    this.#find = database.prepared<FileKey & FileConversation, { file_id: string }>((db, param) =>
      db
        .selectFrom('file_withdrawals')
        .select('file_id')
        .where('app_id', '=', param('appId'))
        .where('file_id', '=', param('fileId'))
        .where('low_id', '=', param('lowId'))
        .where('high_id', '=', param('highId'))
        .where('sender_id', '=', param('senderId'))
        .where(sql<boolean>`not exists (${sql.raw(otherReferences)})`)
        .limit(sql.lit(1)),
    )
  }

  /** Reports whether all references to a file in a conversation were recalled, one at least by its sender. */
  async isWithdrawn(db: Queryable, key: FileKey, conversation: FileConversation): Promise<boolean> {
    return (await this.#find.first(db, { ...key, ...conversation })) !== null
  }

  /** Records the files that a recalled message refers to. */
  async withdraw(tx: Tx, appId: string, message: RecalledAttachment): Promise<void> {
    const { lowId, highId, senderId, messageId, attachment } = message
    const referrer = messageReferrer(lowId, highId, messageId)
    const rows = referencesOf(appId, { referrer, text: attachment }).map(({ fileId }) =>
      snakeCase(fileWithdrawalsTable, { appId, fileId, lowId, highId, msgId: messageId, senderId }),
    )
    if (rows.length > 0) await tx.insertInto('file_withdrawals').values(rows).execute()
  }

  /** Forgets the withdrawals of removed files. @param fileIds at least one */
  async deleteMany(tx: Tx, appId: string, fileIds: readonly string[]): Promise<void> {
    await tx
      .deleteFrom('file_withdrawals')
      .where('app_id', '=', appId)
      .where('file_id', 'in', paddedForPlanCache(fileIds))
      .execute()
  }
}

/** The references of the same conversation that were not recalled. */
const otherReferences = `
  select 1 from file_references r
  where r.app_id = file_withdrawals.app_id and r.file_id = file_withdrawals.file_id
    and r.low_id = file_withdrawals.low_id and r.high_id = file_withdrawals.high_id
    and not exists (
      select 1 from file_withdrawals w
      where w.app_id = r.app_id and w.file_id = r.file_id
        and w.low_id = r.low_id and w.high_id = r.high_id and w.msg_id = r.item_id)`
