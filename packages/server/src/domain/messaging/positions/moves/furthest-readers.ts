import type { Int64 } from '@hermod/protocol'

/**
 * The two furthest readers of a group's conversation: `reader_id` has read furthest, to `low_read_seq`; the furthest of all others has
 * read to `high_read_seq`. Both only grow.
 */
export interface FurthestReaders {
  readonly reader_id: Int64
  readonly low_read_seq: number
  readonly high_read_seq: number
}

/** Tests whether reading to a position changes the furthest readers. Once it does not, it never will. */
export function isFurther(
  { reader_id, low_read_seq, high_read_seq }: FurthestReaders,
  userId: Int64,
  seq: number,
): boolean {
  return low_read_seq < seq || (reader_id !== userId && high_read_seq < seq)
}

/** The furthest readers after the user has read to a position. */
export function withReader(
  { reader_id, low_read_seq, high_read_seq }: FurthestReaders,
  userId: Int64,
  seq: number,
): FurthestReaders {
  const isReader = reader_id === userId
  if (low_read_seq < seq)
    return {
      reader_id: userId,
      low_read_seq: seq,
      high_read_seq: isReader ? high_read_seq : low_read_seq,
    }
  return {
    reader_id,
    low_read_seq,
    high_read_seq: isReader ? high_read_seq : Math.max(high_read_seq, seq),
  }
}
