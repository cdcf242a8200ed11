import type { Int64 } from '@hermod/protocol'

/** The key of a log: a direct conversation, a group (its ID twice) or a broadcast stream (low_id -1). */
export interface LogKey {
  readonly lowId: Int64
  readonly highId: Int64
  readonly isGroup: boolean
}
