import { contactRequestStatus, type Int64 } from '@hermod/protocol'
import { camelCase, snakeCase } from '../../db/columns.js'
import type { Queryable, Tx } from '../../db/database.js'
import { sql } from '../../db/kysely.js'
import { contactRequestsTable } from '../../db/schema.js'
import { paddedForPlanCache } from '../../lib/chunks.js'
import type { Position } from '../paging.js'
import type { UserKey } from '../users/user-model.js'
import type { ContactRequest } from './contact-model.js'

/** The key of a contact request. */
interface Pair {
  readonly appId: string
  readonly userId: Int64
  readonly applicantId: Int64
}

const columns = camelCase(['applicant_id', 'alias', 'reason', 'status', 'created_at', 'expires_at'])

/** Contact requests: the latest one of each applicant to each user. */
export class ContactRequestStore {
  async find(db: Queryable, { appId, userId, applicantId }: Pair): Promise<ContactRequest | null> {
    const row = await db
      .selectFrom('contact_requests')
      .select(columns)
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('applicant_id', '=', applicantId)
      .executeTakeFirst()
    return row ?? null
  }

  /** Replaces an earlier contact request of the same applicant. */
  async put(tx: Tx, { appId, userId }: UserKey, request: ContactRequest): Promise<void> {
    const { applicantId, ...given } = request
    const changes = snakeCase(contactRequestsTable, { ...given, updatedAt: request.createdAt })
    await tx
      .insertInto('contact_requests')
      .values({ ...snakeCase(contactRequestsTable, { appId, userId, applicantId }), ...changes })
      .onConflict((conflict) =>
        conflict.columns(['app_id', 'user_id', 'applicant_id']).doUpdateSet(changes),
      )
      .execute()
  }

  /** Deletes requests of the user and to the user. */
  async eraseUser(tx: Tx, { appId, userId }: UserKey): Promise<void> {
    // One statement for each column, because each has a separate index.
    for (const column of ['user_id', 'applicant_id'] as const)
      await tx
        .deleteFrom('contact_requests')
        .where('app_id', '=', appId)
        .where(column, '=', userId)
        .execute()
  }

  async setStatus(
    tx: Tx,
    { appId, userId, applicantId }: Pair,
    status: number,
    at: number,
  ): Promise<void> {
    await tx
      .updateTable('contact_requests')
      .set({ status, updated_at: at })
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('applicant_id', '=', applicantId)
      .execute()
  }

  /** Marks open requests between the user and these peers, in both directions, as accepted. */
  async acceptOpen(
    tx: Tx,
    appId: string,
    userId: Int64,
    peerIds: readonly Int64[],
    at: number,
  ): Promise<void> {
    await tx
      .updateTable('contact_requests')
      .set({ status: contactRequestStatus.accepted, updated_at: at })
      .where('app_id', '=', appId)
      .where((eb) =>
        eb.or([
          eb.and([
            eb('user_id', '=', userId),
            eb('applicant_id', 'in', paddedForPlanCache(peerIds)),
          ]),
          eb.and([
            eb('user_id', 'in', paddedForPlanCache(peerIds)),
            eb('applicant_id', '=', userId),
          ]),
        ]),
      )
      .where('status', '=', contactRequestStatus.waiting)
      .where('expires_at', '>', at)
      .execute()
  }

  /** Newest first. */
  async list(
    db: Queryable,
    appId: string,
    userId: Int64,
    page: { before: Position | null; limit: number },
  ): Promise<ContactRequest[]> {
    const { before, limit } = page
    return (
      db
        .selectFrom('contact_requests')
        .select(columns)
        .where('app_id', '=', appId)
        // As the index in the order of the pages has it, and no other one (decision 026).
        .where(sql<boolean>`user_id + 0 = ${userId}`)
        .$if(before !== null, (query) =>
          query.where((eb) =>
            eb(
              eb.refTuple('created_at', 'applicant_id'),
              '<',
              eb.tuple(before?.[0] ?? 0, before?.[1] ?? 0),
            ),
          ),
        )
        .orderBy('created_at', 'desc')
        .orderBy('applicant_id', 'desc')
        .limit(limit)
        .execute()
    )
  }

  /** Finds the time of the latest change; 0 without any contact request. */
  async lastChange(db: Queryable, appId: string, userId: Int64): Promise<number> {
    const row = await db
      .selectFrom('contact_requests')
      .select(({ fn }) => fn.max('updated_at').as('at'))
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .executeTakeFirst()
    return Number(row?.at ?? 0)
  }
}
