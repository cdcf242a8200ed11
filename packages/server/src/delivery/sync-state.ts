import { decodePos, encodePos, type OutboxPosition } from '../outbox/pos.js'
import type { RecentRows } from '../outbox/rows/recent-rows.js'
import type { RowReader } from '../outbox/rows/row-keys.js'
import type { SyncState } from './delivery.js'

interface SyncInputs {
  /** The pos of the client; null or '' = it has none. */
  readonly pos: string | null
  /** The last position that delivery has begun. */
  readonly begun: OutboxPosition
  /** The end of the outbox, where the client's position is above `begun`. */
  readonly head: number
  readonly recent: RecentRows
  readonly reader: RowReader
}

const needed: SyncState = { sync: 'needed', pos: null }
const reset: SyncState = { sync: 'reset', pos: null }

/** Decides how a session begins. It is current only if the newest rows show that it has missed nothing. */
export function syncStateOf({ pos, begun, head, recent, reader }: SyncInputs): SyncState {
  if (pos === null || pos === '') return needed
  const known = decodePos(pos)
  if (!known || known.epoch !== begun.epoch || isReplaced(known, recent)) return reset
  if (known.position > begun.position) return known.position > head ? reset : needed
  const isProven = known.position === 0 || recent.at(known.position) !== undefined
  if (!isProven || !recent.isCompleteAfter(known.position)) return needed
  if (recent.concernsAfter(known.position, reader)) return needed
  return { sync: 'current', pos: encodePos(begun) }
}

/**
 * Tests whether the row at the position is another one than the client has seen. A time of 0 is not
 * known.
 */
function isReplaced({ position, time }: OutboxPosition, recent: RecentRows): boolean {
  const row = recent.at(position)
  return row !== undefined && time !== 0 && row.createdAt !== time
}
