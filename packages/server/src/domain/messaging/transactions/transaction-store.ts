import type { Queryable, Tx } from '../../../db/database.js'
import { type RawBuilder, sql } from '../../../db/kysely.js'
import type { UserKey } from '../../users/user-model.js'
import type { TransactionKey } from './transaction-statements.js'

/** The remembered transaction IDs (rule E4). Those of sends are claimed by sending/store-batch.ts. */
export class TransactionStore {
  /** Finds the message IDs of the first send with this transaction ID; null when it is not remembered. */
  async findMessageIds(
    db: Queryable,
    key: TransactionKey,
    now: number,
  ): Promise<readonly number[] | null> {
    const row = await db
      .selectFrom('sent_transactions')
      .select('msg_ids')
      .where('app_id', '=', key.appId)
      .where('transaction_id', '=', key.transactionId)
      .where('sender_id', '=', key.senderId)
      .where('expires_at', '>', now)
      .executeTakeFirst()
    return row ? (JSON.parse(row.msg_ids) as number[]) : null
  }

  /**
   * Remembers a transaction without messages. Waits for other transactions that claim the same ID.
   * @returns false when it is remembered already
   */
  async claim(
    tx: Tx,
    { appId, transactionId, senderId }: TransactionKey,
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

  /** Finds the key `count` rows after another one; null when there are fewer rows. */
  async findKeyAfter(
    db: Queryable,
    after: TransactionKey | null,
    count: number,
  ): Promise<TransactionKey | null> {
    const row = await db
      .selectFrom('sent_transactions')
      .select([
        'app_id',
        sql<string>`cast(transaction_id as text)`.as('transaction_id'),
        'sender_id',
      ])
      .$if(after !== null, (query) => query.where(compared('>', after as TransactionKey)))
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

  /** Deletes the transactions of a sender between two keys; null = from the start, to the end. */
  async deleteOfSender(
    tx: Tx,
    range: { after: TransactionKey | null; upTo: TransactionKey | null },
    { appId, userId }: UserKey,
  ): Promise<void> {
    const { after, upTo } = range
    await tx
      .deleteFrom('sent_transactions')
      .where('app_id', '=', appId)
      .where('sender_id', '=', userId)
      .$if(after !== null, (query) => query.where(compared('>', after as TransactionKey)))
      .$if(upTo !== null, (query) => query.where(compared('<=', upTo as TransactionKey)))
      .execute()
  }

  /** Deletes expired transactions between two keys; null = from the start, to the end. */
  async deleteExpired(
    tx: Tx,
    range: { after: TransactionKey | null; upTo: TransactionKey | null },
    now: number,
  ): Promise<void> {
    const { after, upTo } = range
    await tx
      .deleteFrom('sent_transactions')
      .where('expires_at', '<=', now)
      .$if(after !== null, (query) => query.where(compared('>', after as TransactionKey)))
      .$if(upTo !== null, (query) => query.where(compared('<=', upTo as TransactionKey)))
      .execute()
  }
}

/** Compares whole keys as rows, which both databases use as a bound on the index of the key. */
function compared(
  how: '>' | '<=',
  { appId, transactionId, senderId }: TransactionKey,
): RawBuilder<boolean> {
  return sql<boolean>`(app_id, transaction_id, sender_id) ${sql.raw(how)} (${appId}, ${transactionId}, ${senderId})`
}
