import { decodePos, encodePos, type Place } from '../outbox/pos.js'
import type { RecentRows } from '../outbox/rows/recent-rows.js'
import type { ConcernedReader } from '../outbox/rows/row-concern.js'
import type { SyncState } from './delivery.js'

interface SyncInputs {
  /** The pos of the client; null or '' = it has none. */
  readonly pos: string | null
  /** The last position that delivery has begun. */
  readonly begun: Place
  /** The end of the outbox, where the client's position is above `begun`. */
  readonly head: number
  readonly recent: RecentRows
  readonly reader: ConcernedReader
}

const needed: SyncState = { sync: 'needed', pos: null }
const reset: SyncState = { sync: 'reset', pos: null }

/** Decides how a session begins. It is current only if the newest rows show that it has missed nothing. */
export function syncStateOf({ pos, begun, head, recent, reader }: SyncInputs): SyncState {
  if (pos === null || pos === '') return needed
  const place = decodePos(pos)
  if (!place || place.epoch !== begun.epoch || isReplaced(place, recent)) return reset
  if (place.position > begun.position) return place.position > head ? reset : needed
  const isProven = place.position === 0 || recent.at(place.position) !== undefined
  if (!isProven || !recent.isCompleteAfter(place.position)) return needed
  if (recent.concernsAfter(place.position, reader)) return needed
  return { sync: 'current', pos: encodePos(begun) }
}

/** Tests whether the row at the place is another one than the client has seen. A time of 0 is not known. */
function isReplaced({ position, time }: Place, recent: RecentRows): boolean {
  const row = recent.at(position)
  return row !== undefined && time !== 0 && row.createdAt !== time
}
