import type { Queryable } from '../../db/database.js'
import { type RawBuilder, sql } from '../../db/kysely.js'

/** One fault in the data. */
export interface FaultRow {
  readonly app_id: string
  readonly subject: string
  readonly detail: string
}

/** One rule that stored data must satisfy. */
export interface IntegrityCheck {
  /** Stable name, shown to the operator. */
  readonly name: string
  /** Counts the checked rows. */
  readonly count: RawBuilder<{ count: number | bigint }>
  /** Selects the faulty rows as app_id, subject and detail, or lists them up to a limit. */
  readonly faults:
    | RawBuilder<FaultRow>
    | ((db: Queryable, limit: number) => Promise<readonly FaultRow[]>)
}

/** The condition that rows of two tables are of one conversation. */
export const sameConversation = (a: string, b: string) =>
  sql.raw(`${a}.app_id = ${b}.app_id and ${a}.low_id = ${b}.low_id and ${a}.high_id = ${b}.high_id`)

/** Every message that was ever stored. */
export const log = sql.raw(
  `(select app_id, low_id, high_id, msg_id, seq, sender_id, is_system from messages union all select app_id, low_id, high_id, msg_id, seq, sender_id, is_system from recalled_messages)`,
)
