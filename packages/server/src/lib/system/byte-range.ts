/** A part of a file: its first and its last byte, both included, counted from 0. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}
