import type { Int64 } from '@hermod/protocol'
import { type RowReader, everyone, groupsOfRow, type RowKeys, usersOfRow } from './row-keys.js'

/** Consecutive rows, with an index by the users and the groups that they concern. */
export class RowBlock {
  readonly #rows: RowKeys[] = []
  readonly #ofUsers = new Map<Int64, RowKeys[]>()
  readonly #ofGroups = new Map<Int64, RowKeys[]>()
  #bytes = 0

  /** @param first the position of its first row */
  constructor(readonly first: number) {}

  get length(): number {
    return this.#rows.length
  }

  /** An estimate of its memory. */
  get bytes(): number {
    return this.#bytes
  }

  /** Adds the next row. */
  add(row: RowKeys): void {
    this.#rows.push(row)
    for (const userId of usersOfRow(row)) append(this.#ofUsers, userId, row)
    for (const groupId of groupsOfRow(row)) append(this.#ofGroups, groupId, row)
    this.#bytes += memoryOf(row)
  }

  at(position: number): RowKeys | undefined {
    return this.#rows[position - this.first]
  }

  /** Tests whether a row after the position concerns the reader. */
  hasAfter(position: number, reader: RowReader): boolean {
    return this.#listsOf(reader).some((rows) => (rows.at(-1)?.position ?? 0) > position)
  }

  /** Returns the rows after a position that concern the reader, in order. */
  after(position: number, reader: RowReader): RowKeys[] {
    const found = new Set<RowKeys>()
    for (const rows of this.#listsOf(reader))
      for (const row of rows) if (row.position > position) found.add(row)
    return [...found].sort((a, b) => a.position - b.position)
  }

  #listsOf({ userId, groupIds }: RowReader): RowKeys[][] {
    const lists = [this.#ofUsers.get(userId), this.#ofGroups.get(everyone)]
    for (const groupId of groupIds) lists.push(this.#ofGroups.get(groupId))
    return lists.filter((rows) => rows !== undefined)
  }
}

function append(lists: Map<Int64, RowKeys[]>, id: Int64, row: RowKeys): void {
  const rows = lists.get(id)
  if (!rows) lists.set(id, [row])
  // A row may name a user twice.
  else if (rows.at(-1) !== row) rows.push(row)
}

/** An estimate of the memory of a row and of its part of the index. */
function memoryOf({ logs, groupIds, userIds }: RowKeys): number {
  return 128 + logs.length * 192 + (groupIds.length + userIds.length) * 64
}
