/** How the databases go about their statements. */
import { join } from 'node:path'
import { type BackendDatabase, TempFolder, testBackends } from '@hermod/testkit'
import { CompiledQuery, type RawBuilder, sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Database, type Tx } from '../../dist/db/database.js'
import type { BulkSelect } from '../../dist/db/dialect/dialect.js'
import { postgresDialect } from '../../dist/db/dialect/postgres.js'
import { sqliteDialect } from '../../dist/db/dialect/sqlite.js'
import { sqliteBulk } from '../../dist/db/dialect/sqlite-bulk.js'
import { migrate } from '../../dist/db/migrations/migrate.js'
import { ContactRequestStore } from '../../dist/domain/contacts/contact-request-store.js'
import {
  findLastInvitationChange,
  InvitationStore,
} from '../../dist/domain/groups/admission/invitation-store.js'
import {
  findLastRequestChange,
  JoinRequestStore,
} from '../../dist/domain/groups/admission/join-request-store.js'
import { MemberStore } from '../../dist/domain/groups/membership/member-store.js'
import { RemovalStore } from '../../dist/domain/groups/membership/removal-store.js'
import { BlockStore } from '../../dist/domain/groups/moderation/block-store.js'
import { SessionStore } from '../../dist/domain/sessions/session-store.js'

interface IndexColumns {
  readonly table_name: string
  readonly first: string
  readonly second: string
}

describe('plans of SQLite', () => {
  const folder = new TempFolder('plans')
  let database: Database

  beforeAll(async () => {
    database = new Database(sqliteDialect(join(folder.path, 'hermod.db')))
    await migrate(database)
  })

  afterAll(async () => {
    await database[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  async function planOf(statement: RawBuilder<unknown>): Promise<string> {
    const { rows } = await sql<{
      readonly detail: string
    }>`explain query plan ${statement}`.execute(database.writer)
    return rows[0]?.detail ?? ''
  }

  /** A bulk statement as the dialect writes it, for one row. */
  async function planOfBulk(statement: BulkSelect): Promise<string[]> {
    const keys = Object.keys(statement.keys).map(() => 1)
    const text = sqliteBulk(statement).sql
    const { rows } = await database.writer.executeQuery<{ readonly detail: string }>(
      CompiledQuery.raw(`explain query plan ${text}`, keys),
    )
    return rows.map(({ detail }) => detail)
  }

  it('never walk all rows of an application where an index has a second column for it', async () => {
    const { rows } = await sql<IndexColumns>`
      select t.name as table_name, (select name from pragma_index_info(i.name) where seqno = 0) as first,
        (select name from pragma_index_info(i.name) where seqno = 1) as second
      from pragma_table_list t join pragma_index_list(t.name) i
      where t.type = 'table' and i.partial = 0 and first = 'app_id' and second is not null`.execute(
      database.writer,
    )
    expect(rows.length).toBeGreaterThan(30)
    for (const { table_name, second } of rows) {
      const found = sql`explain query plan select * from ${sql.table(table_name)} where app_id = ${'a'} and ${sql.ref(second)} = ${1}`
      const [plan] = (await found.execute(database.writer)).rows as { readonly detail: string }[]
      // Either column alone may have an index that is as good.
      expect(plan?.detail, `${table_name} by ${second}`).toMatch(
        new RegExp(`[( ]${second}=\\?\\)$`),
      )
    }
  })

  it('find the banned members of a group among the banned ones', async () => {
    const group = sql`app_id = ${'a'} and group_id = ${1} and ban_expires_at <> 0 and ban_expires_at > ${5}`
    for (const found of [
      sql`select * from group_members where ${group} and user_id > ${7} order by user_id limit 10`,
      sql`select count(*) from group_members where ${group}`,
    ])
      expect(await planOf(found)).toContain('group_members_banned')
  })

  it('count bans that have ended without the others of the group', async () => {
    const ended = sql`ban_expires_at > 0 and ban_expires_at <= ${5}`
    const ofGroup = sql`app_id = ${'a'} and group_id = ${1} and ${ended}`
    expect(await planOf(sql`select count(*) from group_members where ${ofGroup}`)).toContain(
      'group_members_ban_ends (app_id=? AND group_id=? AND ban_expires_at>? AND ban_expires_at<?)',
    )
    expect(
      await planOf(
        sql`select app_id, group_id from group_members where ${ended} order by ban_expires_at limit 10`,
      ),
    ).toContain('group_members_bans_ended (ban_expires_at>? AND ban_expires_at<?)')
  })

  it('find the valid tokens of a user without the ended ones, and the oldest ones without sorting', async () => {
    const valid = sql`app_id = ${'a'} and user_id = ${1} and revoked_at is null`
    for (const device of [sql`device_sn = ${1}`, sql`device_sn is null`])
      expect(
        await planOf(sql`select token_hash from user_tokens where ${valid} and ${device}`),
      ).toContain('user_tokens_valid (app_id=? AND user_id=? AND device_sn=?)')
    const { rows } = await sql<{ readonly detail: string }>`explain query plan
      select token_hash from user_tokens where app_id = ${'a'} and user_id = ${1}
      order by created_at desc, token_hash desc limit 500 offset 1000`.execute(database.writer)
    expect(rows.map(({ detail }) => detail)).toEqual([expect.stringContaining('user_tokens_user')])
  })

  it.each([
    ['group_join_requests', 'group_id', 'applicant_id'],
    ['group_invitations', 'invitee_id', 'group_id'],
    ['contact_requests', 'user_id', 'applicant_id'],
  ])('read a page of %s in the order of an index', async (table, owner, last) => {
    const found = sql`select * from ${sql.table(table)} where app_id = ${'a'} and ${sql.ref(owner)} + 0 = ${1}
      order by created_at desc, ${sql.ref(last)} desc limit 10`
    const { rows } = await sql<{
      readonly detail: string
    }>`explain query plan ${found}`.execute(database.writer)
    expect(rows.map(({ detail }) => detail)).toEqual([
      `SEARCH ${table} USING INDEX ${table}_newest (app_id=? AND <expr>=?)`,
    ])
  })

  it.each([
    ['group_join_requests', findLastRequestChange, '<expr>'],
    ['group_invitations', findLastInvitationChange, 'invitee_id'],
  ])('find the newest change of %s at the end of an index', async (table, statement, column) => {
    expect(await planOfBulk(statement)).toContainEqual(
      expect.stringContaining(`${table}_changed (app_id=? AND ${column}=?)`),
    )
  })

  it('find no newest change of join requests in an index of an expression by the value of a column', async () => {
    const columns = findLastRequestChange.columns.replace('= t.group_id + 0', '= t.group_id')
    expect(columns).not.toBe(findLastRequestChange.columns)
    const plan = await planOfBulk({ ...findLastRequestChange, columns })
    expect(plan.join()).not.toContain('group_join_requests_changed (app_id=? AND <expr>=?)')
  })
})

const page = 50
const many = 20_000
interface Listed {
  readonly name: string
  readonly owner: string
  readonly other: string
  /** Another column, with its comma. */
  readonly further: string
  readonly first: readonly number[]
  list(database: Database, tx: Tx, asked: Page): Promise<readonly unknown[]>
}
type Page = { readonly before: readonly number[] | null; readonly limit: number }
/** Lists of the newest entries of an owner; `first` are the IDs of an entry, as a cursor has them. */
const tables: readonly Listed[] = [
  {
    name: 'group_join_requests',
    owner: 'group_id',
    other: 'applicant_id',
    further: '',
    first: [1, 1],
    list: (database: Database, tx: Tx, asked: Page) =>
      new JoinRequestStore(database).list(tx, 'a', [1], asked),
  },
  {
    name: 'group_invitations',
    owner: 'invitee_id',
    other: 'group_id',
    further: ', inviter_id',
    first: [1],
    list: (database: Database, tx: Tx, asked: Page) =>
      new InvitationStore(database).list(tx, 'a', 1, asked),
  },
  {
    name: 'contact_requests',
    owner: 'user_id',
    other: 'applicant_id',
    further: ', alias',
    first: [1],
    list: (_: Database, tx: Tx, asked: Page) => new ContactRequestStore().list(tx, 'a', 1, asked),
  },
]

/** As long as a list of users may be, from all over the group. */
const asked = Array.from({ length: 500 }, (_, index) => 1 + index * 37)
const group = { appId: 'a', groupId: 1_000_000 }
const agreed = { status: 'agreed', now: 1 } as const
const admissionColumns = 'reason, status, created_at, expires_at, updated_at'

interface LookedUp {
  readonly name: string
  readonly user: string
  readonly columns: string
  readonly values: string
  lookUp(database: Database, tx: Tx): Promise<unknown>
}
/** What is looked up of the users of a list who are to join a group. */
const lookUps: readonly LookedUp[] = [
  {
    name: 'group_members',
    user: 'user_id',
    columns: 'joined_at',
    values: '1',
    lookUp: (database, tx) => membersOf(database).findMany(tx, group, asked),
  },
  {
    name: 'group_blocks',
    user: 'user_id',
    columns: 'created_at',
    values: '1',
    lookUp: (database, tx) => new BlockStore(database).findMany(tx, group, asked),
  },
  {
    name: 'group_removals',
    user: 'user_id',
    columns: 'kicks, ban_expires_at',
    values: '1, 0',
    lookUp: (database, tx) => new RemovalStore(database).findMany(tx, group, asked),
  },
  {
    name: 'group_join_requests',
    user: 'applicant_id',
    columns: admissionColumns,
    values: "'', 0, 1, 1, 1",
    lookUp: (database, tx) => new JoinRequestStore(database).answer(tx, group, asked, agreed),
  },
  {
    name: 'group_invitations',
    user: 'invitee_id',
    columns: `${admissionColumns}, inviter_id`,
    values: "'', 0, 1, 1, 1, 7",
    lookUp: (database, tx) => new InvitationStore(database).answer(tx, group, asked, agreed),
  },
]

function membersOf(database: Database): MemberStore {
  return new MemberStore(database, { forget: () => {} })
}

describe.each(testBackends().filter(({ name }) => name === 'postgres'))(
  'statements of PostgreSQL on tables that were never analysed',
  (backend) => {
    let place: BackendDatabase
    let database: Database

    beforeAll(async () => {
      place = await backend.createDatabase()
      database = new Database(
        postgresDialect({ url: place.url ?? '', poolSize: 1, onError: () => {} }),
      )
      await migrate(database)
    })

    afterAll(async () => {
      await database[Symbol.asyncDispose]()
      await place[Symbol.asyncDispose]()
    })

    /** How many rows of a table a statement reads. */
    async function rowsRead(table: string, read: (tx: Tx) => Promise<unknown>): Promise<number> {
      return database.transaction(async (tx) => {
        const count = async () => {
          const { rows } = await sql<{ readonly count: string }>`
            select seq_tup_read + coalesce(idx_tup_fetch, 0) as count
            from pg_stat_xact_user_tables where relname = ${table}`.execute(tx)
          return Number(rows[0]?.count)
        }
        const before = await count()
        await read(tx)
        return (await count()) - before
      })
    }

    /** As one transaction writes them: many rows of owner 1, in no order, and one row for each of others. */
    async function fill({ name, owner, other, further }: Listed): Promise<void> {
      await fillWith(`insert into ${name}
        (app_id, ${owner}, ${other}, reason, status, created_at, expires_at, updated_at${further})
        select 'a', case when i <= ${many} then 1 else i end, i, '', 0, (i * 7919) % 1000003, 1, i${further && ", '7'"}
        from generate_series(1, ${1.2 * many}) i`)
    }

    /** Runs statements; nobody analyses the tables that they fill. */
    async function fillWith(...statements: readonly string[]): Promise<void> {
      for (const statement of statements) {
        const [, table = ''] = /insert into (\w+)/.exec(statement) ?? []
        await sql`alter table ${sql.table(table)} set (autovacuum_enabled = off)`.execute(
          database.writer,
        )
        await sql.raw(statement).execute(database.writer)
      }
    }

    it.each(tables)('read no more of $name than a page shows', async (table) => {
      await fill(table)
      for (const before of [null, [500_000, ...table.first]]) {
        const list = (tx: Tx) => table.list(database, tx, { before, limit: page })
        expect(await database.transaction(list)).toHaveLength(page)
        expect(await rowsRead(table.name, list)).toBeLessThanOrEqual(page + 1)
      }
    })

    it.each(lookUps)(
      'read no more of $name than the users of a list have there',
      async ({ name, user, columns, values, lookUp }) => {
        await fillWith(
          `insert into ${name} (app_id, group_id, ${user}, ${columns})
          select 'a', ${group.groupId}, i, ${values} from generate_series(1, ${many}) i`,
        )
        const read = await rowsRead(name, (tx) => lookUp(database, tx))
        expect(read).toBeGreaterThan(0)
        // Once to be found, and once to be changed.
        expect(read).toBeLessThanOrEqual(2 * asked.length)
      },
    )

    it('read no more sessions than changed, than a page has, and than the users have', async () => {
      const store = new SessionStore()
      const node = { id: 'x', lease: 1 }
      await fillWith(
        `insert into sessions (app_id, user_id, device_sn, node_id, lease, session_id, is_reader,
            since, changed_at)
          select 'a', i, 1, 'node' || i % 3, 1, i, 0, 1, i from generate_series(1, ${many}) i`,
      )
      const read = (statement: (tx: Tx) => Promise<unknown>) => rowsRead('sessions', statement)
      expect(await read((tx) => store.changedSince(tx, many - 50))).toBeLessThanOrEqual(50)
      expect(await read((tx) => store.page(tx, null, 50))).toBeLessThanOrEqual(51)
      const after = { appId: 'a', userId: many / 2, id: 0 }
      expect(await read((tx) => store.page(tx, after, 50))).toBeLessThanOrEqual(51)
      const own = { id: 'node1', lease: 1 }
      const listed = { after: 9, limit: 50, openForMs: 0 }
      expect(await read((tx) => store.listOf(tx, own, listed))).toBeLessThanOrEqual(51)
      const openings = Array.from({ length: 50 }, (_, index) => ({
        ...{ appId: 'a', userId: index + 1, deviceSn: 1, isReader: false, ownId: many + index },
      }))
      const bounds = { sessionsPerUser: 9, skipLocked: false }
      // The session before, the count of the user, and the row that is changed.
      expect(await read((tx) => store.open(tx, node, openings, bounds))).toBeLessThanOrEqual(200)
      const keys = openings.map(({ ownId: id, ...key }) => ({ ...key, id }))
      expect(await read((tx) => store.close(tx, node, keys))).toBeLessThanOrEqual(100)
      expect(await read((tx) => store.restore(tx, node, keys))).toBeLessThanOrEqual(150)
      expect(await read((tx) => store.closeEnded(tx, own, 50))).toBeLessThanOrEqual(150)
    })

    it('read no more groups than those are in who may be in too many', async () => {
      const [limit, busy, groupsOfBusy] = [50, asked.slice(0, 5), 60]
      await fillWith(
        `insert into apps (app_id, name, status, open_registration, registration_secret, file_link_key,
            settings, created_at)
          values ('b', 'b', 0, 0, '', '', '{}', 1)`,
        `insert into users (app_id, user_id, username, password_hash, status, nick_name, avatar,
            description, public_info, private_info, last_device_sn, credential_epoch, created_at)
          select 'b', i, i, '', 0, '', '', '', '', '', 0, 0, 1 from generate_series(1, ${many}) i`,
        `insert into groups (app_id, group_id, type, name, avatar, description, owner_id, capacity,
            member_count, created_at, updated_at, members_changed_at)
          select 'b', i, 0, '', '', '', i, 10, 1, 1, 1, 1 from generate_series(1, ${many}) i`,
        `insert into group_members (app_id, group_id, user_id, joined_at)
          select 'b', i, i, 1 from generate_series(1, ${many}) i`,
        `insert into group_members (app_id, group_id, user_id, joined_at)
          select 'b', ${many} - i, u, 1
          from generate_series(1, ${groupsOfBusy - 1}) i, unnest(array[${busy}]) u`,
      )
      const find = (tx: Tx) => membersOf(database).findInTooMany(tx, 'b', asked, limit)
      expect(await database.transaction(find)).toEqual(new Set(busy))
      expect(await rowsRead('users', find)).toBeLessThanOrEqual(asked.length + busy.length)
      const rough = asked.length - busy.length + busy.length * limit
      const exact = busy.length * groupsOfBusy
      expect(await rowsRead('group_members', find)).toBeLessThanOrEqual(rough + exact)
      expect(await rowsRead('groups', find)).toBeLessThanOrEqual(exact)
    })
  },
)
