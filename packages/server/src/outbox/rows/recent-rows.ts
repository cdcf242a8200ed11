import { RowBlock } from './row-block.js'
import type { RowReader, RowKeys } from './row-keys.js'

interface RecentRowsOptions {
  readonly maxRows?: number
  readonly maxBytes?: number
}

/** The recent rows of all apps, for readers of what changed. */
export interface RecentOutbox {
  /** Returns the newest rows of an app, which may be behind the outbox; null: there are none in memory. */
  recentRows(appId: string): RecentRows | null
}

/** The oldest block is dropped at once with its index, so that no row is moved. */
const maxBlocks = 4

/** The keys of the newest rows of one app's outbox, without gaps. */
export class RecentRows {
  /** The oldest one first. */
  #blocks: RowBlock[] = []
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

  /** The position of the newest row. */
  get newest(): number {
    return this.last
  }

  /** Adds the next row. */
  add(row: RowKeys): void {
    if (row.position !== this.last + 1) this.clear(row.position - 1)
    this.#blockFor(row.position).add(row)
    this.last = row.position
  }

  /** Forgets all rows; the next one follows `last`. */
  clear(last: number): void {
    this.#blocks = []
    this.last = last
  }

  /** Returns the row at a position, if it is held. */
  at(position: number): RowKeys | undefined {
    return this.#blocks.findLast(({ first }) => first <= position)?.at(position)
  }

  /** Tests whether all rows after the position, up to the newest one, are held. */
  isCompleteAfter(position: number): boolean {
    return position + 1 >= (this.#blocks[0]?.first ?? this.last + 1)
  }

  /** Tests whether a row after the position may have changed anything that the reader sees. */
  concernsAfter(position: number, reader: RowReader): boolean {
    return this.#blocksAfter(position).some((block) => block.hasAfter(position, reader))
  }

  /** Returns the rows after a position that may have changed anything that the reader sees, in order. */
  concerning(position: number, reader: RowReader): RowKeys[] {
    return this.#blocksAfter(position).flatMap((block) => block.after(position, reader))
  }

  #blockFor(position: number): RowBlock {
    const newest = this.#blocks.at(-1)
    const isFull =
      !newest ||
      newest.length >= Math.floor(this.#maxRows / maxBlocks) ||
      newest.bytes >= this.#maxBytes / maxBlocks
    if (!isFull) return newest
    const block = new RowBlock(position)
    this.#blocks = [...this.#blocks.slice(1 - maxBlocks), block]
    return block
  }

  /** The blocks that may have rows after the position. */
  #blocksAfter(position: number): RowBlock[] {
    return this.#blocks.filter(({ first, length }) => first + length > position + 1)
  }
}
