import type { Database } from '../db/database.js'
import type { MaybePromise } from '../lib/maybe-promise.js'
import type { OutboxRow, OutboxStore } from './outbox-store.js'

/** The outbox of one app. */
export interface AppOutbox {
  /** Returns the last position; 0 = none. */
  head(): MaybePromise<number>
  /** Lists rows in the order of their positions, at most `limit`. */
  listAfter(after: number, limit: number): MaybePromise<readonly OutboxRow[]>
}

/** Positions of rows that were purged before they were read. */
export interface MissedRows {
  readonly first: number
  readonly last: number
  /** The time of the first row after them, milliseconds since 1970; 0: none. */
  readonly until: number
}

/** The next rows of an outbox; at its end neither rows nor missed ones. */
export interface OutboxPage {
  readonly rows: readonly OutboxRow[]
  /** They come before the rows. */
  readonly missed: MissedRows | null
}

/** Returns a reader of the outbox of one app. */
export function appOutbox(
  database: Database,
  store: Pick<OutboxStore, 'head' | 'listAfter'>,
  appId: string,
): AppOutbox {
  return {
    head: () => database.read((db) => store.head(db, appId)),
    listAfter: (after, limit) => database.read((db) => store.listAfter(db, appId, after, limit)),
  }
}

/**
 * Reads the rows after a position, and distinguishes the end of the outbox from rows that were purged.
 * @param head a position that was committed before the call; without it the head is read when there
 * are no rows
 */
export async function pageAfter(
  outbox: AppOutbox,
  after: number,
  limit: number,
  head?: number,
): Promise<OutboxPage> {
  let rows = await outbox.listAfter(after, limit)
  let committed = head ?? after
  if (rows.length === 0 && head === undefined) {
    // The head is read first: the rows it counts were committed before, and are found unless they
    // were purged.
    committed = await outbox.head()
    if (committed > after) rows = await outbox.listAfter(after, limit)
  }
  const [next] = rows
  const last = next ? next.position - 1 : committed
  const missed = last > after ? { first: after + 1, last, until: next?.createdAt ?? 0 } : null
  return { rows, missed }
}
