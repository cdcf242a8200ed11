import { originalKey } from '../domain/files/file-model.js'
import type { NamedBlob } from './blob-copy.js'
import { withCopy } from './copied-database.js'

/** The state of a copied database. */
export interface CopyFacts {
  readonly epoch: string
  /** The name of the newest migration. */
  readonly migration: string
  /** For each application the position of its newest event. */
  readonly positions: Readonly<Record<string, number>>
  /** 0: there is no message. */
  readonly newestMessageId: number
}

/** The place of a file in the order of applications and IDs. */
export interface FilePlace {
  readonly appId: string
  readonly fileId: string
}

/** A page of files that a database names. */
export interface NamedPage {
  readonly blobs: readonly (NamedBlob & { readonly appId: string })[]
  /** For the next page; null: this was the last one. */
  readonly next: FilePlace | null
}

interface FileRow extends FilePlace {
  readonly uploadId: string
  readonly size: number
}

/** Files of a page. */
export const filesPerPage = 200

/** Reads the state of a database that no other connection has open. */
export function readFacts(path: string): CopyFacts {
  return withCopy(path, (database) => {
    const first = <Row>(sql: string) => database.prepare(sql).get() as Row
    const { epoch } = first<{ epoch: string }>('select epoch from database_identity')
    const { name } = first<{ name: string }>(
      'select name from kysely_migration order by name desc limit 1',
    )
    const heads = database
      .prepare(
        'select app_id as "appId", position, last_msg_id as "lastMessageId" from outbox_heads order by app_id',
      )
      .all() as unknown as { appId: string; position: number; lastMessageId: number }[]
    return {
      epoch,
      migration: name,
      positions: Object.fromEntries(heads.map(({ appId, position }) => [appId, position])),
      newestMessageId: Math.max(0, ...heads.map(({ lastMessageId }) => lastMessageId)),
    }
  })
}

/** Lists files that the database names, also those whose removal is pending. */
export function readFiles(path: string, after: FilePlace | null): NamedPage {
  return withCopy(path, (database) => {
    const rows = database
      .prepare(
        `select app_id as "appId", file_id as "fileId", upload_id as "uploadId", size from files
        where (app_id, file_id) > (?, ?) order by app_id, file_id limit ${filesPerPage}`,
      )
      .all(after?.appId ?? '', after?.fileId ?? '') as unknown as FileRow[]
    return namedPage(rows)
  })
}

/** @param rows at most a page, in order */
export function namedPage(rows: readonly FileRow[]): NamedPage {
  const last = rows.at(-1)
  return {
    blobs: rows.map((row) => ({ appId: row.appId, key: originalKey(row), size: row.size })),
    next: last && rows.length === filesPerPage ? { appId: last.appId, fileId: last.fileId } : null,
  }
}
