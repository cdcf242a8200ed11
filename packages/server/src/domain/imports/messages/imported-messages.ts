import type { Int64 } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import type { BulkSelect } from '../../../db/dialect/dialect.js'
import type { AppService } from '../../apps/app-service.js'
import type { MessageContent } from '../../messaging/model/message-content.js'
import { type ImportKey, importedKind } from '../import-model.js'
import type { ImportStore } from '../import-store.js'
import { findTimes, messageKeyRow } from './history-statements.js'

/** A row of {@link findMessages}. */
interface FoundRow {
  readonly low_id: Int64
  readonly high_id: Int64
  readonly msg_id: number
  readonly seq: number
  readonly sender_id: Int64
  readonly sent_at: number
  readonly content_type: number
  readonly content: string
  readonly attachment: string
  readonly config: string
  readonly ext: string
  readonly reply_to_id: number | null
}

const findMessages: BulkSelect = {
  ...findTimes,
  columns:
    't.low_id, t.high_id, t.msg_id, t.seq, t.sender_id, t.sent_at, t.content_type, t.content, t.attachment, t.config, t.ext, t.reply_to_id',
}

/** An imported message as it is now. */
export interface FoundMessage extends MessageContent {
  readonly externalId: string
  readonly messageId: number
  readonly seq: number
  readonly senderId: Int64
  readonly lowId: Int64
  readonly highId: Int64
  readonly sentAt: number
  readonly replyToId: number | null
}

interface ImportedMessagesOptions {
  readonly database: Database
  readonly apps: Pick<AppService, 'get'>
  readonly imports: ImportStore
}

/** Reads imported messages by the IDs of the other system. */
export class ImportedMessages {
  constructor(private readonly options: ImportedMessagesOptions) {}

  /**
   * @returns those that are there and not recalled
   * @throws AppError app_not_found
   */
  async find(key: ImportKey, externalIds: readonly string[]): Promise<FoundMessage[]> {
    const { database, apps, imports } = this.options
    await apps.get(key.appId)
    return database.read(async (db) => {
      const items = await imports.findItems(db, key, { kind: importedKind.message, externalIds })
      const keys = [...items.values()].map((item) => messageKeyRow(item, Number(item.itemId)))
      const rows = await database.bulk<FoundRow>(db, findMessages, keys)
      const byPlace = new Map(
        rows.map((row) => [placeOf(row.low_id, row.high_id, row.msg_id), row]),
      )
      return [...items.values()].flatMap((item) => {
        const row = byPlace.get(placeOf(item.lowId, item.highId, Number(item.itemId)))
        return row ? [toFound(item.externalId, row)] : []
      })
    })
  }
}

function placeOf(lowId: Int64, highId: Int64, messageId: number): string {
  return `${lowId} ${highId} ${messageId}`
}

function toFound(externalId: string, row: FoundRow): FoundMessage {
  const { content, attachment, config, ext, seq } = row
  return {
    ...{ externalId, content, attachment, config, ext, seq },
    contentType: row.content_type,
    messageId: row.msg_id,
    senderId: row.sender_id,
    lowId: row.low_id,
    highId: row.high_id,
    sentAt: row.sent_at,
    replyToId: row.reply_to_id,
  }
}
