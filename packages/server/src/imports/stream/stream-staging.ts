/**
 * The rows of a file in a temporary database, which brings them into the order of the import and
 * relates them. Memory is flat for a file of any size.
 */
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { MappedItem, RowOf } from './stream-mapper.js'
import type { StreamType } from './stream-items.js'
import { openTemporaryDatabase } from '../temporary-database.js'
import { stagingRules, stagingTables } from './staging-rules.js'

type Statement = ReturnType<DatabaseSyncInstance['prepare']>
type Bound = Parameters<Statement['run']>

/** The columns of each type of rows, in the order of its table. */
const columns: { readonly [T in StreamType]: readonly (keyof RowOf[T] & string)[] } = {
  user: ['subject', 'username', 'nick_name', 'avatar', 'status', 'at'],
  channel: ['cid', 'name', 'avatar', 'creator', 'truncated', 'is_distinct', 'at'],
  member: ['cid', 'subject', 'role', 'last_read', 'at'],
  message: [
    ...(['id', 'cid', 'sender', 'at', 'content', 'ext', 'original', 'mentions'] as const),
    ...(['pinned_by', 'pinned_at'] as const),
  ],
  reaction: ['message', 'subject', 'key', 'at'],
}

const rowsPerTransaction = 10_000
/** Reasons of the service may be many. */
const mostReasons = 100

/** Why items are left out. */
export interface LeftOutCount {
  readonly type: string
  readonly reason: string
  /** Something is wrong with the item, in contrast to a rule by which it is left out. */
  readonly is_fault: boolean
  readonly count: number
}

/** An item that is left out. */
export interface LeftOutSample {
  readonly type: string
  readonly line: number
  readonly reason: string
}

/** Rows of a query, one after the other; their columns are those of the query. */
export type StagedRow = Readonly<Record<string, string | number | null>>

export class StreamStaging implements Disposable {
  readonly #db: DatabaseSyncInstance
  readonly #statements = new Map<string, Statement>()
  readonly #notes = new Map<string, number>()
  readonly #counts = new Map<string, number>()
  #uncommitted = 0

  /** @param folder for temporary files */
  constructor(folder: string) {
    this.#db = openTemporaryDatabase(folder)
    this.#db.exec(stagingTables)
    this.#db.exec('begin')
  }

  add(line: number, item: MappedItem): void {
    count(this.#counts, item.type)
    if (++this.#uncommitted % rowsPerTransaction === 0) this.#db.exec('commit; begin')
    if ('row' in item) this.#addRow(line, item)
    else if ('fault' in item) this.leaveOut({ type: item.type, line, reason: item.fault }, true)
    else {
      this.leaveOut({ type: item.type, line, reason: item.leftOut }, false)
      if (item.id !== undefined) this.run('insert into gone values (?)', item.id)
    }
  }

  /** Records an item that has no row any more. */
  leaveOut({ type, line, reason }: LeftOutSample, isFault: boolean): void {
    this.run('insert into left_out values (?, ?, ?, ?)', type, line, reason, isFault ? 1 : 0)
  }

  /** Counts what an item had and its row has not. */
  note(text: string, by = 1): void {
    count(this.#notes, text, by)
  }

  /** Remembers the ID that a user or a group has in the service. */
  setId(
    type: 'user' | 'channel',
    id: number,
    where: { readonly rowid: number } | { readonly subject: string },
  ): void {
    const column = type === 'user' ? 'user_id' : 'group_id'
    const [name = '', value = ''] = Object.entries(where)[0] ?? []
    this.run(`update ${type}s set ${column} = ? where ${name} = ?`, id, value)
  }

  /** Relates the rows to one another, once all are there. */
  async relate(progress: (text: string) => Promise<void>): Promise<void> {
    for (const { text, statements, note } of stagingRules) {
      await progress(text)
      const changes = statements.map((sql) => Number(this.#db.prepare(sql).run().changes))
      const changed = changes.at(-1) ?? 0
      if (note !== undefined && changed > 0) this.note(note, changed)
    }
    this.#db.exec('commit')
  }

  /** Makes one transaction of many changes. */
  together(changes: () => void): void {
    this.#db.exec('begin')
    changes()
    this.#db.exec('commit')
  }

  run(sql: string, ...values: Bound): void {
    this.#prepared(sql).run(...values)
  }

  get(sql: string, ...values: Bound): StagedRow | undefined {
    return this.#prepared(sql).get(...values) as StagedRow | undefined
  }

  /** All rows of a query that has few. */
  all(sql: string, ...values: Bound): StagedRow[] {
    return this.#prepared(sql).all(...values) as StagedRow[]
  }

  /** Reads the rows of a table by its rowid, in parts; the query takes the last rowid and a limit. */
  *pages(sql: string, limit: number, after = 0): Generator<StagedRow[]> {
    for (let last = after; ; ) {
      const rows = this.all(sql, last, limit)
      if (rows.length === 0) return
      yield rows
      last = Number(rows.at(-1)?.rowid)
    }
  }

  number(sql: string): number {
    return Number(Object.values(this.get(sql) ?? { none: 0 })[0])
  }

  /** The items of the file by type. */
  get counts(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#counts].sort())
  }

  get notes(): readonly { readonly note: string; readonly count: number }[] {
    return [...this.#notes].map(([note, count]) => ({ note, count }))
  }

  leftOut(): LeftOutCount[] {
    const rows = this.all(
      'select type, reason, is_fault, count(*) as count from left_out group by 1, 2, 3 order by 3 desc, 4 desc, 1, 2 limit ?',
      mostReasons,
    )
    return rows.map((row) => ({
      ...(row as unknown as LeftOutCount),
      is_fault: row.is_fault === 1,
    }))
  }

  /** The first items of each reason in turn, faults first. */
  samples(most: number): LeftOutSample[] {
    return this.all(
      `select type, line, reason from
       (select *, row_number() over (partition by type, reason order by line) as turn from left_out)
       order by is_fault desc, turn, line limit ?`,
      most,
    ) as unknown as LeftOutSample[]
  }

  [Symbol.dispose](): void {
    this.#statements.clear()
    this.#db.close()
  }

  #addRow(line: number, item: Extract<MappedItem, { readonly row: unknown }>): void {
    const names = columns[item.type]
    const row = item.row as unknown as Readonly<Record<string, string | number>>
    const places = names.map(() => '?').join(', ')
    this.run(
      `insert into ${item.type}s (line, ${names.join(', ')}) values (?, ${places})`,
      line,
      ...names.map((name) => row[name] as string | number),
    )
    if (item.type === 'channel')
      for (const subject of item.row.subjects)
        this.run('insert into named_members values (?, ?, ?)', item.row.cid, subject, line)
    for (const note of item.notes) this.note(note)
  }

  #prepared(sql: string) {
    const known = this.#statements.get(sql)
    if (known !== undefined) return known
    const statement = this.#db.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }
}

function count(counts: Map<string, number>, key: string, by = 1): void {
  counts.set(key, (counts.get(key) ?? 0) + by)
}
