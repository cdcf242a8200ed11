import type { Int64 } from '@hermod/protocol'

/**
 * The two furthest readers of a group's conversation: `id` has read furthest, to `seq`; the furthest
 * of all others has read to `othersSeq`. Positions only grow.
 */
export interface FurthestReaders {
  readonly id: Int64
  readonly seq: number
  readonly othersSeq: number
}

/** Tests whether reading to a position changes the furthest readers. Once it does not, it never will. */
export function isFurther(
  { id, seq, othersSeq }: FurthestReaders,
  userId: Int64,
  to: number,
): boolean {
  return seq < to || (id !== userId && othersSeq < to)
}

/** Returns the furthest readers after the user has read to a position. */
export function withReader(
  { id, seq, othersSeq }: FurthestReaders,
  userId: Int64,
  to: number,
): FurthestReaders {
  const isSame = id === userId
  if (seq < to) return { id: userId, seq: to, othersSeq: isSame ? othersSeq : seq }
  return { id, seq, othersSeq: isSame ? othersSeq : Math.max(othersSeq, to) }
}
