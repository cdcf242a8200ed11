import type { Int64 } from '@hermod/protocol'

/** The key of a log: a direct conversation, a group (its ID twice) or a broadcast stream (low_id -1). */
export interface RowLog {
  readonly lowId: Int64
  readonly highId: Int64
  readonly isGroup: boolean
}

/** A log with the number of its first change by a row of the outbox. */
export interface ChangedLog extends RowLog {
  /** null = the row changes positions only */
  readonly change: number | null
}
