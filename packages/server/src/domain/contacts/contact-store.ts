import { authMode, type Int64, relation } from '@hermod/protocol'
import {
  camelCase,
  camelCaseText,
  columnsOf,
  convert,
  snakeCase,
  type TableRow,
} from '../../db/columns.js'
import type { Database, Queryable, Tx } from '../../db/database.js'
import type { BulkSelect } from '../../db/dialect/dialect.js'
import { sql } from '../../db/kysely.js'
import { contactsTable } from '../../db/schema.js'
import { paddedForPlanCache } from '../../lib/chunks.js'
import type { Invalidates } from '../../lib/invalidated-cache.js'
import { mobileKey, type UserKey, usernameKey } from '../users/user-model.js'
import {
  type AuthRule,
  type Contact,
  type ContactChanges,
  type ContactEntry,
  type ContactSide,
  noContact,
} from './contact-model.js'
import type { Relation } from './relation-cache.js'

/** One direction of a new contact; alias '' keeps the present one. */
export interface NewSide {
  readonly userId: Int64
  readonly peerId: Int64
  readonly alias: string
  /** See Contact.isUnasked. */
  readonly isUnasked: boolean
}

type RelationRow = Pick<TableRow<typeof contactsTable>, 'state' | 'isBlocked' | 'isUnasked'>

const relationColumns = camelCase(['state', 'is_blocked', 'is_unasked'])
const findRelations: BulkSelect = {
  table: 'contacts',
  keys: columnsOf(contactsTable, 'app_id', 'user_id', 'peer_id'),
  columns: camelCaseText(['user_id', 'state', 'is_blocked', 'is_unasked']),
}

/** Relations: the data that users have stored about each other. */
export class ContactStore {
  readonly #findRelation

  constructor(
    private readonly database: Database,
    private readonly caches: {
      readonly relations: Invalidates<ContactSide>
      readonly userStates: Invalidates<UserKey>
    },
  ) {
    this.#findRelation = database.prepared<
      { appId: string; userId: Int64; peerId: Int64 },
      RelationRow
    >((db, param) =>
      db
        .selectFrom('contacts')
        .select(relationColumns)
        .where('app_id', '=', param('appId'))
        .where('user_id', '=', param('userId'))
        .where('peer_id', '=', param('peerId')),
    )
  }

  async findAuthRule(db: Queryable, appId: string, userId: Int64): Promise<AuthRule> {
    const row = await db
      .selectFrom('user_settings')
      .select(camelCase(['auth_mode', 'auth_answer']))
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .executeTakeFirst()
    return row ?? { authMode: authMode.open, authAnswer: '' }
  }

  async find(db: Queryable, side: ContactSide): Promise<Contact> {
    const row = await db
      .selectFrom('contacts')
      .select(relationColumns)
      .select(camelCase(['alias', 'ext', 'mute_notification']))
      .where('app_id', '=', side.appId)
      .where('user_id', '=', side.userId)
      .where('peer_id', '=', side.peerId)
      .executeTakeFirst()
    return row ? convert(row, { ...flagsOf(row), isMuted: row.muteNotification === 1 }) : noContact
  }

  /** Finds the part of a relation that decides on messages. */
  async findRelation(db: Queryable, side: ContactSide): Promise<Relation> {
    const row = await this.#findRelation.first(db, side)
    return row ? convert(row, flagsOf(row)) : noContact
  }

  /** Returns the relations that users have stored about one peer, by user. */
  async findRelationsTo(
    db: Queryable,
    appId: string,
    peerId: Int64,
    userIds: readonly Int64[],
  ): Promise<Map<Int64, Relation>> {
    const rows = await this.database.bulk<RelationRow & { userId: Int64 }>(
      db,
      findRelations,
      userIds.map((userId) => [appId, userId, peerId]),
    )
    return new Map(rows.map((row) => [row.userId, convert(row, flagsOf(row))]))
  }

  /** @returns those of `peerIds` who are contacts of the user */
  async findContacts(
    db: Queryable,
    appId: string,
    userId: Int64,
    peerIds: readonly Int64[],
  ): Promise<Set<Int64>> {
    const rows = await contactsOf(db, appId, userId)
      .select('peer_id')
      .where('peer_id', 'in', paddedForPlanCache(peerIds))
      .execute()
    return new Set(rows.map((row) => row.peer_id))
  }

  /** @returns the number of contacts of each user who has any */
  async countContacts(
    db: Queryable,
    appId: string,
    userIds: readonly Int64[],
  ): Promise<Map<Int64, number>> {
    const rows = await db
      .selectFrom('contacts')
      .select(({ fn }) => ['user_id', fn.countAll<number | bigint>().as('count')])
      .where('app_id', '=', appId)
      .where('user_id', 'in', paddedForPlanCache(userIds))
      .where('state', '=', relation.contact)
      .groupBy('user_id')
      .execute()
    return new Map(rows.map((row) => [row.user_id, Number(row.count)]))
  }

  async makeContacts(tx: Tx, appId: string, sides: readonly NewSide[], at: number): Promise<void> {
    const rows = sides.map(({ userId, peerId, alias, isUnasked }) => ({
      ...snakeCase(contactsTable, { ...emptyContact, appId, userId, peerId, alias }),
      state: relation.contact,
      is_unasked: Number(isUnasked),
      updated_at: at,
    }))
    for (const { userId, peerId } of sides) this.#forgetRelation(tx, { appId, userId, peerId })
    await tx
      .insertInto('contacts')
      .values(rows)
      .onConflict((conflict) =>
        conflict.columns(['app_id', 'user_id', 'peer_id']).doUpdateSet({
          state: relation.contact,
          is_unasked: sql`excluded.is_unasked`,
          alias: sql`case when excluded.alias = '' then contacts.alias else excluded.alias end`,
          updated_at: at,
        }),
      )
      .execute()
  }

  async setBlocked(
    tx: Tx,
    { appId, userId, peerId }: ContactSide,
    isBlocked: boolean,
    at: number,
  ): Promise<void> {
    const change = { is_blocked: Number(isBlocked), updated_at: at }
    const stranger = { ...emptyContact, appId, userId, peerId, state: relation.stranger }
    this.#forgetRelation(tx, { appId, userId, peerId })
    await tx
      .insertInto('contacts')
      .values({ ...snakeCase(contactsTable, stranger), ...change })
      .onConflict((conflict) =>
        conflict.columns(['app_id', 'user_id', 'peer_id']).doUpdateSet(change),
      )
      .execute()
  }

  async update(
    tx: Tx,
    side: ContactSide,
    changes: ContactChanges & { state?: number },
    at: number,
  ): Promise<void> {
    const { appId, userId, peerId } = side
    const { state, alias, ext, isMuted } = changes
    this.#forgetRelation(tx, side)
    await tx
      .updateTable('contacts')
      .set({
        state,
        is_unasked: 0,
        alias,
        ext,
        mute_notification: isMuted === undefined ? undefined : Number(isMuted),
        updated_at: at,
      })
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('peer_id', '=', peerId)
      .execute()
  }

  /** Accepts contacts that peers alone have made (rule E11). */
  async accept(tx: Tx, { appId, userId }: UserKey, peerIds: readonly Int64[]): Promise<void> {
    for (const peerId of peerIds) this.#forgetRelation(tx, { appId, userId, peerId })
    await tx
      .updateTable('contacts')
      .set({ is_unasked: 0 })
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('peer_id', 'in', paddedForPlanCache(peerIds))
      .execute()
  }

  /** Lists the users with a relation to a user, or a contact request between them and the user. */
  async listRelated(tx: Tx, { appId, userId }: UserKey): Promise<Int64[]> {
    const { rows } = await sql<{ user_id: Int64 }>`
      select user_id from contacts where app_id = ${appId} and peer_id = ${userId}
      union select applicant_id from contact_requests where app_id = ${appId} and user_id = ${userId}
      union select user_id from contact_requests where app_id = ${appId} and applicant_id = ${userId}
      order by 1`.execute(tx)
    return rows.map((row) => row.user_id)
  }

  /** Deletes the relations of a user in both directions. */
  async eraseUser(tx: Tx, { appId, userId }: UserKey): Promise<void> {
    // One statement for each column, because each has a separate index.
    for (const column of ['user_id', 'peer_id'] as const) {
      const rows = await tx
        .deleteFrom('contacts')
        .where('app_id', '=', appId)
        .where(column, '=', userId)
        .returning(['user_id', 'peer_id'])
        .execute()
      for (const row of rows)
        this.#forgetRelation(tx, { appId, userId: row.user_id, peerId: row.peer_id })
    }
  }

  #forgetRelation(tx: Tx, { appId, userId, peerId }: ContactSide): void {
    this.caches.relations.forget(tx, { appId, userId, peerId })
    this.caches.userStates.forget(tx, { appId, userId })
  }

  /** By user ID. */
  async list(
    db: Queryable,
    appId: string,
    userId: Int64,
    page: { afterId: number; limit: number },
  ): Promise<Int64[]> {
    const rows = await contactsOf(db, appId, userId)
      .select('peer_id')
      .where('peer_id', '>', page.afterId)
      .orderBy('peer_id')
      .limit(page.limit)
      .execute()
    return rows.map((row) => row.peer_id)
  }

  /** By user ID, with the nickname or else the username. */
  async listNames(
    db: Queryable,
    appId: string,
    userId: Int64,
    { afterId, limit }: { readonly afterId: Int64; readonly limit: number },
  ): Promise<{ userId: Int64; name: string }[]> {
    const rows = await db
      .selectFrom('contacts as c')
      .innerJoin('users as u', (join) =>
        join.onRef('u.app_id', '=', 'c.app_id').onRef('u.user_id', '=', 'c.peer_id'),
      )
      .select(camelCase(['user_id', 'nick_name', 'username'], 'u'))
      .where('c.app_id', '=', appId)
      .where('c.user_id', '=', userId)
      .where('c.state', '=', relation.contact)
      .where('c.peer_id', '>', afterId)
      .orderBy('c.peer_id')
      .limit(limit)
      .execute()
    return rows.map((row) => ({ userId: row.userId, name: row.nickName || row.username }))
  }

  /** Finds the time of the latest change in the user's relations, removals included; 0 without any. */
  async lastChange(db: Queryable, appId: string, userId: Int64): Promise<number> {
    const row = await db
      .selectFrom('contacts')
      .select(({ fn }) => fn.max('updated_at').as('at'))
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .executeTakeFirst()
    return Number(row?.at ?? 0)
  }

  /** By user ID. */
  async listBlocked(db: Queryable, appId: string, userId: Int64): Promise<Int64[]> {
    const rows = await db
      .selectFrom('contacts')
      .select('peer_id')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('is_blocked', '=', sql.lit(1))
      .orderBy('peer_id')
      .execute()
    return rows.map((row) => row.peer_id)
  }

  /** Lists users as the viewer sees them, in no particular order, without unknown and deleted ones. */
  async findEntries(
    db: Queryable,
    appId: string,
    viewerId: Int64,
    by: { userIds: readonly Int64[] } | { username: string } | { mobile: string },
  ): Promise<ContactEntry[]> {
    const users = db
      .selectFrom('users as u')
      .leftJoin('user_settings as s', (join) =>
        join.onRef('s.app_id', '=', 'u.app_id').onRef('s.user_id', '=', 'u.user_id'),
      )
      .leftJoin('contacts as c', (join) =>
        join
          .onRef('c.app_id', '=', 'u.app_id')
          .on('c.user_id', '=', viewerId)
          .onRef('c.peer_id', '=', 'u.user_id'),
      )
      .select(camelCase(['user_id', 'username', 'nick_name', 'avatar'], 'u'))
      .select(camelCase(['description', 'public_info', 'is_bot'], 'u'))
      .select(camelCase(['auth_mode', 'auth_question'], 's'))
      .select(camelCase(['alias', 'ext', 'mute_notification'], 'c'))
      .select(camelCase(['state', 'is_blocked', 'is_unasked'], 'c'))
      .where('u.app_id', '=', appId)
      .where('u.deleted_at', 'is', null)
    const found =
      'userIds' in by
        ? users.where('u.user_id', 'in', paddedForPlanCache(by.userIds))
        : 'username' in by
          ? users.where('u.username_key', '=', usernameKey(by.username))
          : users.where('u.mobile_key', '=', mobileKey(by.mobile))
    return (await found.execute()).map((row) =>
      convert(row, {
        authMode: row.authMode ?? authMode.open,
        authQuestion: row.authQuestion ?? '',
        state: row.state ?? relation.stranger,
        ...flagsOf(row),
        alias: row.alias ?? '',
        ext: row.ext ?? '',
        isMuted: row.muteNotification === 1,
        isBot: row.isBot === 1,
      }),
    )
  }
}

const emptyContact = { alias: '', ext: '', muteNotification: 0 }

function contactsOf(db: Queryable, appId: string, userId: Int64) {
  return db
    .selectFrom('contacts')
    .where('app_id', '=', appId)
    .where('user_id', '=', userId)
    .where('state', '=', relation.contact)
}

function flagsOf(row: { readonly [Name in 'isBlocked' | 'isUnasked']: number | null }) {
  return { isBlocked: row.isBlocked === 1, isUnasked: row.isUnasked === 1 }
}
