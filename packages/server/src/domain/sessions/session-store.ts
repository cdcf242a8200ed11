import type { Int64 } from '@hermod/protocol'
import type { Queryable, StatementTx, Tx } from '../../db/database.js'
import { postgresTime } from '../../db/database-now.js'
import { sql } from '../../db/kysely.js'
import { keyText } from '../../lib/ids/key-text.js'
import { stringifyJson } from '../../lib/json.js'
import type {
  DeviceSessionRow,
  DisplacedSession,
  HeldSession,
  SessionFigures,
  SessionKey,
  SessionNode,
  SessionOpening,
  SessionPage,
} from './session-model.js'

const now = sql.raw<number>(postgresTime)
const openColumns = sql`app_id, user_id, device_sn, node_id, lease, session_id, is_reader, since, changed_at`
const restored = sql`set node_id = excluded.node_id, lease = excluded.lease, session_id = excluded.session_id,
  is_reader = excluded.is_reader, changed_at = excluded.changed_at, closed_at = null`

interface KeyRow {
  readonly app_id: string
  readonly user_id: Int64
  readonly session_id: number
}

interface FeedRow extends KeyRow {
  readonly device_sn: number
  readonly node_id: string
  readonly lease: number
  readonly closed_at: number | null
  readonly now: number
}

/** The sessions of all nodes on PostgreSQL; the embedded database has one node, which knows its own. */
export class SessionStore {
  /**
   * Writes sessions, at most one of each user. The commit does not wait for the disk: after a crash
   * of the database, nodes write what is lost again.
   * @param bounds.skipLocked leaves out users that another transaction has locked
   * @returns the ID of each session in the order of the openings, or why it has none; and the
   * sessions of other nodes that they have replaced
   */
  async open(
    tx: Tx,
    node: SessionNode,
    openings: readonly SessionOpening[],
    {
      sessionsPerUser,
      skipLocked,
    }: { readonly sessionsPerUser: number; readonly skipLocked: boolean },
  ): Promise<{
    readonly ids: readonly (number | 'limit' | 'locked')[]
    readonly displaced: readonly DisplacedSession[]
  }> {
    const rowsOf = (some: readonly SessionOpening[]) =>
      givenRows(some.map(({ ownId, ...opening }) => ({ ...opening, id: ownId })))
    const skip = sql.raw(skipLocked ? 'skip locked' : '')
    const [, locked] = await Promise.all([
      withoutWait(tx),
      // Sessions of one user are counted one after the other, and in this order no batch waits for
      // another one that waits for it.
      sql<Pick<KeyRow, 'app_id' | 'user_id'>>`select u.app_id, u.user_id from ${rowsOf(openings)}
        join users u on u.app_id = given.app_id and u.user_id = given.user_id
        order by u.app_id, u.user_id for no key update of u ${skip}`.execute(tx),
    ])
    const free = new Set(
      locked.rows.map(({ app_id, user_id }) => userOf({ appId: app_id, userId: user_id })),
    )
    const isFree = (opening: SessionOpening) => !skipLocked || free.has(userOf(opening))
    const given = rowsOf(openings.filter(isFree))
    const [before, written] = await Promise.all([
      sql<KeyRow & { readonly node_id: string }>`
        select t.app_id, t.user_id, t.session_id, t.node_id from ${given} join sessions t
          on t.app_id = given.app_id and t.user_id = given.user_id and t.device_sn = given.device_sn
        where t.closed_at is null and t.node_id <> ${node.id}`.execute(tx),
      sql<KeyRow>`insert into sessions as t (${openColumns})
        select app_id, user_id, device_sn, ${node.id}, ${node.lease}::bigint, session_id, is_reader, ${now}, ${now}
        from ${given} where (
          select count(*) from sessions other where other.app_id = given.app_id
            and other.user_id = given.user_id and other.is_reader = given.is_reader
            and other.closed_at is null
            and (given.device_sn is null or other.device_sn is distinct from given.device_sn)
        ) < ${sessionsPerUser}::bigint
        order by app_id, user_id
        on conflict (app_id, user_id, device_sn) where device_sn is not null
        do update set node_id = excluded.node_id, lease = excluded.lease,
          session_id = greatest(excluded.session_id, t.session_id + 1),
          is_reader = excluded.is_reader, since = excluded.since,
          changed_at = excluded.changed_at, closed_at = null
        returning app_id, user_id, session_id`.execute(tx),
    ])
    const ids = new Map(written.rows.map((row) => [userOf(toKey(row)), row.session_id]))
    const displaced = before.rows
      .map((row) => ({ ...toKey(row), nodeId: row.node_id }))
      .filter((each) => ids.has(userOf(each)))
    const idOf = (opening: SessionOpening) =>
      isFree(opening) ? (ids.get(userOf(opening)) ?? 'limit') : 'locked'
    return { ids: openings.map(idOf), displaced }
  }

  /** Closes sessions of the node; one that has another row by now is left alone. */
  async close(tx: Tx, node: SessionNode, sessions: readonly SessionKey[]): Promise<void> {
    const given = givenRows(sessions)
    await Promise.all([
      withoutWait(tx),
      sql`update sessions t set closed_at = ${now}, changed_at = ${now} from ${given}
        where t.app_id = given.app_id and t.user_id = given.user_id
          and t.session_id = given.session_id and t.node_id = ${node.id}
          and t.lease = ${node.lease}::bigint and t.closed_at is null`.execute(tx),
    ])
  }

  /**
   * Writes open sessions of the node again.
   * @returns those that have a row now; a later session of its device has replaced any other one
   */
  async restore(
    tx: Tx,
    node: SessionNode,
    sessions: readonly HeldSession[],
  ): Promise<SessionKey[]> {
    const given = givenRows(sessions)
    const rows = sql`insert into sessions as t (${openColumns})
      select app_id, user_id, device_sn, ${node.id}, ${node.lease}::bigint, session_id, is_reader, ${now}, ${now}
      from ${given}`
    const [, ofDevices, others] = await Promise.all([
      withoutWait(tx),
      sql<KeyRow>`${rows} where device_sn is not null order by app_id, user_id, device_sn
        on conflict (app_id, user_id, device_sn) where device_sn is not null
        do update ${restored} where t.session_id <= excluded.session_id
        returning app_id, user_id, session_id`.execute(tx),
      sql<KeyRow>`${rows} where device_sn is null order by app_id, user_id, session_id
        on conflict (app_id, user_id, session_id) do update ${restored}
        returning app_id, user_id, session_id`.execute(tx),
    ])
    return [...ofDevices.rows, ...others.rows].map(toKey)
  }

  /** Closes all sessions of the node that were written under other leases. */
  async closeEarlier(tx: StatementTx, node: SessionNode): Promise<void> {
    await sql`update sessions set closed_at = ${now}, changed_at = ${now}
      where node_id = ${node.id} and lease <> ${node.lease}::bigint and closed_at is null`.execute(
      tx,
    )
  }

  /** Closes all sessions of the present lease of the node. */
  async closeAll(tx: StatementTx, node: SessionNode): Promise<void> {
    await sql`update sessions set closed_at = ${now}, changed_at = ${now}
      where node_id = ${node.id} and lease = ${node.lease}::bigint and closed_at is null`.execute(
      tx,
    )
  }

  /** Counts the open sessions of the present lease of the node. */
  async figures(db: Queryable, node: SessionNode): Promise<SessionFigures> {
    const { rows } = await sql<{ count: number; sum: string }>`
      select count(*) as count, coalesce(sum(session_id), 0)::text as sum from sessions
      where node_id = ${node.id} and lease = ${node.lease}::bigint and closed_at is null`.execute(
      db,
    )
    return { count: rows[0]?.count ?? 0, sum: BigInt(rows[0]?.sum ?? 0) }
  }

  /**
   * Lists the open sessions of the present lease of the node, by ID.
   * @param openForMs leaves out those that are younger
   */
  async listOf(
    db: Queryable,
    node: SessionNode,
    { after, limit, openForMs }: { after: number; limit: number; openForMs: number },
  ): Promise<SessionKey[]> {
    const { rows } = await sql<KeyRow>`select app_id, user_id, session_id from sessions
      where node_id = ${node.id} and lease = ${node.lease}::bigint and closed_at is null
        and session_id > ${after}::bigint and changed_at <= ${now} - ${openForMs}::bigint
      order by session_id limit ${limit}::bigint`.execute(db)
    return rows.map(toKey)
  }

  /**
   * Lists sessions with a device that were opened or closed after a time, in no order.
   * @param since by the clock of the database
   * @returns with the time of the database
   */
  async changedSince(
    db: Queryable,
    since: number,
  ): Promise<{ readonly now: number; readonly rows: readonly DeviceSessionRow[] }> {
    const { rows } = await sql<FeedRow>`
      select t.app_id, t.user_id, t.device_sn, t.node_id, t.lease, t.session_id, t.closed_at, clock.now
      from (select ${now} as now) clock left join sessions t
        on t.changed_at > ${since}::bigint and t.device_sn is not null`.execute(db)
    const found = rows.filter(({ app_id }) => app_id !== null).map(toDeviceSession)
    return { now: rows[0]?.now ?? 0, rows: found }
  }

  /**
   * Lists sessions by app, user and ID, those that closed a moment ago included.
   * @param after null: from the first one
   * @returns those with a device
   */
  async page(db: Queryable, after: SessionKey | null, limit: number): Promise<SessionPage> {
    const start = after
      ? sql`(app_id, user_id, session_id) > (${after.appId}, ${after.userId}::bigint, ${after.id}::bigint)`
      : sql`true`
    // With any other condition the planner of a young table reads and sorts all of it.
    const { rows } = await sql<FeedRow & { readonly device_sn: number | null }>`
      select app_id, user_id, device_sn, node_id, lease, session_id, closed_at, ${now} as now
      from sessions where ${start} order by app_id, user_id, session_id limit ${limit}::bigint`.execute(
      db,
    )
    const last = rows.length < limit ? undefined : rows.at(-1)
    const found = rows.filter(({ device_sn }) => device_sn !== null).map(toDeviceSession)
    return { rows: found, next: last ? toKey(last) : null }
  }

  /** The time by the clock of the database. */
  async now(db: Queryable): Promise<number> {
    const { rows } = await sql<{ now: number }>`select ${now} as now`.execute(db)
    return rows[0]?.now ?? 0
  }

  /** Lists the nodes with a valid lease. */
  async liveNodes(db: Queryable): Promise<readonly SessionNode[]> {
    const { rows } = await sql<{ node_id: string; lease: number }>`
      select node_id, lease from nodes where ended_at is null`.execute(db)
    return rows.map((row) => ({ id: row.node_id, lease: row.lease }))
  }

  /**
   * Closes sessions of a node whose lease is over. Nobody reads them as changed: they may be very
   * many, and every node sees that the lease is over.
   * @returns how many
   */
  async closeEnded(tx: StatementTx, node: SessionNode, limit: number): Promise<number> {
    const { numAffectedRows = 0n } = await sql`
      update sessions set closed_at = ${now} where (app_id, user_id, session_id) in (
        select app_id, user_id, session_id from sessions
        where node_id = ${node.id} and lease = ${node.lease}::bigint and closed_at is null
        limit ${limit}::bigint) and closed_at is null`.execute(tx)
    return Number(numAffectedRows)
  }

  /** Lists the leases that have open sessions although they are over. */
  async listEnded(db: Queryable): Promise<readonly SessionNode[]> {
    const { rows } = await sql<{ node_id: string; lease: number }>`
      select distinct node_id, lease from sessions t where closed_at is null and not exists (
        select 1 from nodes n where n.node_id = t.node_id and n.lease = t.lease and n.ended_at is null)`.execute(
      db,
    )
    return rows.map((row) => ({ id: row.node_id, lease: row.lease }))
  }

  /** Deletes sessions that closed longer ago than a time. @returns how many */
  async deleteClosed(tx: StatementTx, closedForMs: number, limit: number): Promise<number> {
    const { numAffectedRows = 0n } =
      await sql`delete from sessions where (app_id, user_id, session_id) in (
      select app_id, user_id, session_id from sessions
      where closed_at < ${now} - ${closedForMs}::bigint limit ${limit}::bigint)`.execute(tx)
    return Number(numAffectedRows)
  }
}

/** Sets `synchronous_commit` by a statement with parameters, which shares the round trip of the next ones. */
function withoutWait(tx: Tx) {
  return sql`select set_config('synchronous_commit', ${'off'}, true)`.execute(tx)
}

/** A table of given rows under the name `given`. */
function givenRows(sessions: readonly (SessionKey & Partial<HeldSession>)[]) {
  const rows = sessions.map(({ appId, userId, id, deviceSn = null, isReader = false }) => ({
    app_id: appId,
    user_id: userId,
    device_sn: deviceSn,
    session_id: id,
    is_reader: isReader ? 1 : 0,
  }))
  return sql`jsonb_to_recordset(${stringifyJson(rows)}::jsonb)
    as given(app_id text, user_id bigint, device_sn integer, session_id bigint, is_reader smallint)`
}

function userOf({ appId, userId }: Pick<SessionKey, 'appId' | 'userId'>): string {
  return keyText(appId, userId)
}

function toKey({ app_id, user_id, session_id }: KeyRow): SessionKey {
  return { appId: app_id, userId: user_id, id: session_id }
}

function toDeviceSession(row: FeedRow): DeviceSessionRow {
  const { device_sn: deviceSn, node_id: nodeId, lease, closed_at: closedAt } = row
  const closedForMs = closedAt === null ? null : Math.max(0, row.now - closedAt)
  return { ...toKey(row), deviceSn, nodeId, lease, closedForMs }
}
