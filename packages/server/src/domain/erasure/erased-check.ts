import { AppError } from '@hermod/protocol'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Database, Queryable } from '../../db/database.js'
import { sql } from '../../db/kysely.js'
import { counted } from '../../lib/counted.js'
import type { UserKey } from '../users/user-model.js'
import { countTexts } from './raw-search.js'
import type { ErasureMode } from './erasure-model.js'
import type { ErasureStore } from './erasure-store.js'
import { personalTables, type PersonalRowsStore, type RowCount } from './personal-rows-store.js'

interface ErasedCheckOptions {
  readonly database: Database
  readonly store: ErasureStore
  readonly rows: PersonalRowsStore
  readonly apps: { get(appId: string): Promise<unknown> }
  readonly users: {
    find(db: Queryable, appId: string, userId: UserKey['userId']): Promise<object | null>
  }
  /** The counts of texts of a user that no column names, by table. */
  readonly texts: readonly {
    readonly place: string
    count(user: UserKey, mode: ErasureMode, signal: AbortSignal): Promise<number>
  }[]
  /** Lists the files of the embedded database; none of another one. */
  readonly files: () => Promise<readonly DatabaseFile[]>
}

interface DatabaseFile {
  readonly path: string
  /** A copy from before an upgrade. */
  readonly isCopy: boolean
}

/** A place that has data of an erased user. */
export interface ErasedFault {
  readonly subject: string
  readonly detail: string
}

/** The result of a check. */
export interface ErasedReport {
  /** The number of tables and files that were searched. */
  readonly checked: number
  readonly faults: readonly ErasedFault[]
}

/** Searches for data of users who were erased. */
export class ErasedCheck {
  constructor(private readonly options: ErasedCheckOptions) {}

  /**
   * Returns what an erasure of a mode has left, by table.
   * @throws when the signal is aborted
   */
  async remaining(
    user: UserKey,
    mode: ErasureMode,
    signal: AbortSignal = new AbortController().signal,
  ): Promise<RowCount[]> {
    const { database, rows, texts } = this.options
    const counts = await database.snapshot((db) => rows.count(db, user, mode))
    for (const { place, count } of texts) {
      const found = await count(user, mode, signal)
      if (found > 0) counts.push({ table: place, rows: found })
    }
    return counts
  }

  /**
   * Searches for rows and files of a user, and for texts anywhere. Data that the last erasure of the
   * user was to leave is no fault.
   * @param texts names, numbers, addresses and other texts of the person
   * @throws AppError app_not_found, user_not_found
   */
  async check(user: UserKey, texts: readonly string[]): Promise<ErasedReport> {
    const { database, store, apps, users, files } = this.options
    const { appId, userId } = user
    await apps.get(appId)
    if (!(await database.read((db) => users.find(db, appId, userId))))
      throw new AppError('user_not_found')
    const [last] = await database.read((db) => store.list(db, appId, userId))
    const mode = (last?.messages ?? 'delete') as ErasureMode
    const faults: ErasedFault[] = (await this.remaining(user, mode)).map(({ table, rows }) => ({
      subject: table,
      detail: `has ${counted(rows, 'row or text', 'rows or texts')} of the user; erase the user`,
    }))
    if (last?.finishedAt === null)
      faults.push({
        subject: 'erasures',
        detail: 'an erasure of the user has begun and not ended; order it again',
      })
    const inTables = texts.length === 0 ? [] : await this.#searchTables(texts)
    faults.push(...inTables)
    const searched = texts.length === 0 ? [] : await files()
    for (const file of searched)
      faults.push(...(await searchFile(file, texts, inTables.length > 0)))
    return { checked: personalTables.length + searched.length, faults }
  }

  async #searchTables(texts: readonly string[]): Promise<ErasedFault[]> {
    const { database } = this.options
    const faults: ErasedFault[] = []
    await database.snapshot(async (db) => {
      for (const [table, columns] of personalTables) {
        const names = Object.keys(columns)
        const has = (column: string, text: string) =>
          database.dialect.name === 'sqlite'
            ? sql`instr(cast(${sql.ref(column)} as text), ${text}) > 0`
            : sql`position(cast(${text} as text) in cast(${sql.ref(column)} as text)) > 0`
        for (const [index, text] of texts.entries()) {
          const sums = names.map(
            (column) =>
              sql`sum(case when ${has(column, text)} then 1 else 0 end) as ${sql.ref(column)}`,
          )
          const { rows } = await sql<Record<string, unknown>>`
            select ${sql.join(sums)} from ${sql.table(table)}`.execute(db)
          for (const [column, found] of Object.entries(rows[0] ?? {}))
            if (Number(found ?? 0) > 0)
              faults.push({
                subject: `${table}.${column}`,
                detail: `has the text of line ${index + 1} in ${counted(Number(found), 'row')}`,
              })
        }
      }
    })
    return faults
  }
}

/** Returns the texts that a file of the embedded database has in its bytes. */
async function searchFile(
  { path, isCopy }: DatabaseFile,
  texts: readonly string[],
  isInTables: boolean,
): Promise<ErasedFault[]> {
  if (!(await stat(path).catch(() => null))) return []
  const found = await countTexts(createReadStream(path, { highWaterMark: 2 ** 20 }), texts)
  const unused = isInTables ? '' : ', in unused space: stop the service and run hermod compact'
  const advice = isCopy ? ', a copy from before an upgrade: remove it' : unused
  return found.flatMap((count, index) =>
    count === 0
      ? []
      : [
          {
            subject: basename(path),
            detail: `has the text of line ${index + 1} at ${counted(count, 'place')}${advice}`,
          },
        ],
  )
}
