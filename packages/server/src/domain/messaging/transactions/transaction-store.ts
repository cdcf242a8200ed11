import type { Int64 } from '@hermod/protocol'
import type { Queryable, Tx } from '../../../db/database.js'
import { type RawBuilder, sql } from '../../../db/kysely.js'

/** A place in the order of the table's key. */
export interface TransactionPlace {
  readonly appId: string
  readonly transactionId: Int64
  readonly senderId: Int64
}

/** The memory of transaction IDs (rule E4); how those of sends get into it: store-batch.ts. */
export class TransactionStore {
  /** The message IDs of the first send with this transaction ID; null when it is not remembered. */
  async findMessageIds(
    db: Queryable,
    place: TransactionPlace,
    now: number,
  ): Promise<readonly number[] | null> {
    const row = await db
      .selectFrom('sent_transactions')
      .select('msg_ids')
      .where('app_id', '=', place.appId)
      .where('transaction_id', '=', place.transactionId)
      .where('sender_id', '=', place.senderId)
      .where('expires_at', '>', now)
      .executeTakeFirst()
    return row ? (JSON.parse(row.msg_ids) as number[]) : null
  }

  /**
   * Remembers a transaction without messages; one that another transaction is claiming is waited for.
   * @returns false when it is remembered already
   */
  async claim(
    tx: Tx,
    { appId, transactionId, senderId }: TransactionPlace,
    now: number,
    lifeMs: number,
  ): Promise<boolean> {
    const times = { created_at: now, expires_at: now + lifeMs }
    const { numInsertedOrUpdatedRows } = await tx
      .insertInto('sent_transactions')
      .values({
        app_id: appId,
        transaction_id: transactionId,
        sender_id: senderId,
        msg_ids: '[]',
        ...times,
      })
      .onConflict((conflict) =>
        conflict
          .columns(['app_id', 'transaction_id', 'sender_id'])
          .doUpdateSet({ msg_ids: '[]', ...times })
          .where('sent_transactions.expires_at', '<=', now),
      )
      .executeTakeFirst()
    return (numInsertedOrUpdatedRows ?? 0n) > 0n
  }

  /** The place `count` rows after another one; null when there are fewer. */
  async findPlaceAfter(
    db: Queryable,
    after: TransactionPlace | null,
    count: number,
  ): Promise<TransactionPlace | null> {
    const row = await db
      .selectFrom('sent_transactions')
      .select([
        'app_id',
        sql<string>`cast(transaction_id as text)`.as('transaction_id'),
        'sender_id',
      ])
      .$if(after !== null, (query) => query.where(compared('>', after as TransactionPlace)))
      .orderBy('app_id')
      .orderBy('sent_transactions.transaction_id')
      .orderBy('sender_id')
      .offset(count - 1)
      .limit(1)
      .executeTakeFirst()
    return row
      ? { appId: row.app_id, transactionId: BigInt(row.transaction_id), senderId: row.sender_id }
      : null
  }

  /** Deletes what is to be forgotten between two places; null = from the start, to the end. */
  async deleteExpired(
    tx: Tx,
    range: { after: TransactionPlace | null; upTo: TransactionPlace | null },
    now: number,
  ): Promise<void> {
    const { after, upTo } = range
    await tx
      .deleteFrom('sent_transactions')
      .where('expires_at', '<=', now)
      .$if(after !== null, (query) => query.where(compared('>', after as TransactionPlace)))
      .$if(upTo !== null, (query) => query.where(compared('<=', upTo as TransactionPlace)))
      .execute()
  }
}

/** As rows, which both databases take as a bound of the key's index. */
function compared(
  how: '>' | '<=',
  { appId, transactionId, senderId }: TransactionPlace,
): RawBuilder<boolean> {
  return sql<boolean>`(app_id, transaction_id, sender_id) ${sql.raw(how)} (${appId}, ${transactionId}, ${senderId})`
}
