import type { RowConcern } from './row-concern.js'

export interface RecentRowsOptions {
  readonly maxRows?: number
  readonly maxBytes?: number
}

/** The recent rows of all apps, for readers of what changed. */
export interface RecentOutbox {
  /**
   * Returns the keys of the rows after a position, in order, up to the newest row that is known here, which may be behind the outbox.
   * null: some of them are not in memory.
   */
  after(appId: string, position: number): readonly RowConcern[] | null
}

/** The keys of the newest rows of one app's outbox, without gaps. */
export class RecentRows {
  #rows: RowConcern[] = []
  #bytes = 0
  readonly #maxRows: number
  readonly #maxBytes: number

  /** @param last the position after which rows begin */
  constructor(
    private last: number,
    { maxRows = 20_000, maxBytes = 16 * 2 ** 20 }: RecentRowsOptions = {},
  ) {
    this.#maxRows = maxRows
    this.#maxBytes = maxBytes
  }

  /** Adds the next row. */
  add(row: RowConcern): void {
    if (row.position !== this.last + 1) this.clear(row.position - 1)
    this.#rows.push(row)
    this.#bytes += memoryOf(row)
    this.last = row.position
    if (this.#rows.length > this.#maxRows || this.#bytes > this.#maxBytes) this.#dropOldest()
  }

  /** Forgets all rows; the next one follows `last`. */
  clear(last: number): void {
    this.#rows = []
    this.#bytes = 0
    this.last = last
  }

  /** Returns the row at a position, if it is held. */
  at(position: number): RowConcern | undefined {
    return this.#rows[position - this.#first]
  }

  /** Returns the rows after a position; null: some of them are not held. */
  after(position: number): readonly RowConcern[] | null {
    if (position >= this.last) return []
    return position + 1 < this.#first ? null : this.#rows.slice(position + 1 - this.#first)
  }

  get #first(): number {
    return this.last - this.#rows.length + 1
  }

  /** Drops a tenth at once, so that a full list is not moved for each new row. */
  #dropOldest(): void {
    let dropped = Math.ceil(this.#rows.length / 10)
    const limit = this.#maxBytes * 0.9
    this.#bytes -= memoryOfRows(this.#rows, 0, dropped)
    while (this.#bytes > limit && dropped < this.#rows.length)
      this.#bytes -= memoryOfRows(this.#rows, dropped, ++dropped)
    this.#rows = this.#rows.slice(dropped)
  }
}

function memoryOfRows(rows: readonly RowConcern[], from: number, to: number): number {
  let bytes = 0
  for (let index = from; index < to; index++) bytes += memoryOf(rows[index] as RowConcern)
  return bytes
}

/** An estimate of the memory of a row. */
function memoryOf({ logs, groupIds, userIds }: RowConcern): number {
  return 128 + logs.length * 64 + (groupIds.length + userIds.length) * 8
}
