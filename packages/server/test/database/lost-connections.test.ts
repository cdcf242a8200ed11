/** What a node does after lost connections to PostgreSQL, before any other statement. */
import {
  GatewayClient,
  isFullRun,
  memoryDisk,
  PostgresCluster,
  type ServerProcess,
  startServer,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { LossGuard } from '../../dist/context/database/loss-guard.js'
import { Database } from '../../dist/db/database.js'
import { postgresDialect } from '../../dist/db/dialect/postgres.js'
import { Epoch } from '../../dist/db/identity/epoch.js'
import { IdentityStore } from '../../dist/db/identity/identity-store.js'
import { IdReservations } from '../../dist/db/id-reservations.js'
import { IdGenerator } from '../../dist/lib/ids/ids.js'
import { SeenPositions } from '../../dist/outbox/seen-positions.js'
import { answerCode } from '../support/answer-codes.js'
import { DatabasePlace } from '../support/database/database-place.js'
import { openSql } from '../support/database/sql.js'
import { StallingProxy } from '../support/database/stalling-proxy.js'
import { sendText, sessions, textTo } from '../support/messaging/messaging.js'
import { sharedKey } from '../support/shared-settings.js'

/** Issues IDs over a network of its own. */
class IssuingNode implements AsyncDisposable {
  readonly ids: IdGenerator

  private constructor(
    readonly network: StallingProxy,
    readonly database: Database,
    readonly epoch: Epoch,
  ) {
    const reservations = new IdReservations(database)
    this.ids = new IdGenerator(reservations.reserve, Date.now)
    database.guardConnections(
      new LossGuard({
        ...{ ids: this.ids, reservations, epoch },
        seen: new SeenPositions(),
        store: new IdentityStore(),
        lostHistory: () => {},
      }),
    )
  }

  static async start(databaseUrl: string): Promise<IssuingNode> {
    const { proxy, url } = await StallingProxy.start(databaseUrl)
    const database = new Database(postgresDialect({ url, poolSize: 2, onError: () => {} }))
    const epoch = await Epoch.open({ database, store: new IdentityStore(), stateFound: () => {} })
    return new IssuingNode(proxy, database, epoch)
  }

  async slots(): Promise<readonly { slot: number; owner: string }[]> {
    return this.database.read((db) =>
      db.selectFrom('id_slots').select(['slot', 'owner']).where('owner', '<>', '').execute(),
    )
  }

  /** As the first statement after lost connections. */
  slotsOnNewConnection(): ReturnType<IssuingNode['slots']> {
    const what = 'a new connection'
    return waitFor(() => this.slots().catch(() => false as const), { what, timeoutMs: 10_000 })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.database[Symbol.asyncDispose]()
    await this.network[Symbol.asyncDispose]()
  }
}

for (const backend of testBackends().filter(({ name }) => name === 'postgres')) {
  describe('a lost connection', () => {
    it('IDs are reserved anew before the first statement, where another node has got the lost reservation', async () => {
      await using place = await DatabasePlace.create(backend)
      await using node = await IssuingNode.start(place.url as string)
      await using other = await IssuingNode.start(place.url as string)
      const before = await node.ids.take(100)
      const [reserved] = await node.slots()
      // A failover to a copy from before the reservation.
      await place.database.transaction(async (tx) => {
        await tx.updateTable('id_slots').set({ owner: '', reserved_until: 0 }).execute()
      })
      node.network.resume()
      const others = await other.ids.take(100)
      expect((await other.slots()).map(({ slot }) => slot)).toEqual([reserved?.slot])
      const seen = await node.slotsOnNewConnection()
      expect(seen.map(({ owner }) => owner)).toContain(reserved?.owner)
      expect(seen).toHaveLength(2)
      const after = await node.ids.take(100)
      expect(Math.min(...after)).toBeGreaterThan(Math.max(...before))
      expect(new Set([...others, ...after]).size).toBe(200)
    })

    it('the slot stays where the database has the reservation', async () => {
      await using place = await DatabasePlace.create(backend)
      await using node = await IssuingNode.start(place.url as string)
      const before = await node.ids.take(100)
      const reserved = await node.slots()
      node.network.resume()
      expect(await node.slotsOnNewConnection()).toEqual(reserved)
      const after = await node.ids.take(100)
      expect(Math.min(...after)).toBeGreaterThan(Math.max(...before))
      expect(await node.slots()).toEqual(reserved)
    })

    it('no ID is issued while the database is away, though ticks are reserved', async () => {
      await using place = await DatabasePlace.create(backend)
      await using node = await IssuingNode.start(place.url as string)
      await node.ids.take(1)
      node.network.refuse()
      await waitFor(
        () =>
          node.slots().then(
            () => false,
            () => true,
          ),
        {
          what: 'a lost connection',
          timeoutMs: 10_000,
        },
      )
      await expect(node.ids.take(1)).rejects.toThrow()
      node.network.resume()
      await node.slotsOnNewConnection()
      await node.ids.take(1)
    })

    it('a node with open connections ends with the history that another one has found lost', async () => {
      await using place = await DatabasePlace.create(backend)
      await using node = await IssuingNode.start(place.url as string)
      node.epoch.start()
      await place.database.transaction((tx) => new IdentityStore().renew(tx))
      await node.epoch.ended
      await expect(node.slots()).rejects.toThrow('server database failure')
    })

    it.each([
      ['lacks the last row', 'update outbox_heads set position = position - 1'],
      ['has another row there', 'update outbox set created_at = created_at + 1'],
    ])('a database that %s is of a lost history: 4008, code 75, a fault', async (_, loss) => {
      await using place = await backend.createDatabase()
      const { proxy, url: databaseUrl } = await StallingProxy.start(place.url as string)
      await using __ = proxy
      await using server = await startServer({ databaseUrl })
      await using sql = await openSql({ dataDir: server.dataDir, databaseUrl: place.url })
      const [alice, bob] = await sessions(server, 2)
      using phone = await GatewayClient.connect(server.url)
      await phone.open({ appId: server.appId, accessToken: bob.token })
      await sendText(alice.api, bob.id, 'hi')
      await phone.next(({ data }) => (data as { content?: string })?.content === 'hi')
      const [before] = await sql.run('select epoch from database_identity')
      await sql.run(loss)
      proxy.resume()
      expect((await phone.closed()).code).toBe(4008)
      expect((await server.exited).code).toBe(75)
      const [after] = await sql.run('select epoch from database_identity')
      expect(after?.epoch).not.toBe(before?.epoch)
      expect(await sql.run('select epoch, app_id from lost_histories')).toEqual([
        { epoch: before?.epoch, app_id: server.appId },
      ])
      await server.kill9()
    })
  })
}

const restartCode = 75
const patience = { timeoutMs: 20_000 }

interface CheckFault {
  readonly check: string
  readonly app_id: string
  readonly detail: string
}

async function faultsOf(
  { api, operatorToken }: ServerProcess,
  body = {},
): Promise<readonly CheckFault[]> {
  const { data } = await api.succeed<{ readonly faults: readonly CheckFault[] }>(
    'POST',
    '/operator/v1/check',
    { token: operatorToken, body },
  )
  return data.faults
}

function failover(): void {
  it('killed and started again: sessions stay; failed over with loss: a new history, 4008, code 75, and a fault until it is acknowledged', async () => {
    await using primary = await PostgresCluster.start({
      folder: memoryDisk(),
      settings: { fsync: 'off', full_page_writes: 'off' },
    })
    const database = await primary.createDatabase()
    const name = new URL(database.url).pathname.slice(1)
    await using standby = await primary.startStandby()
    const { proxy, url: databaseUrl } = await StallingProxy.start(database.url)
    await using _ = proxy
    const options = { databaseUrl, env: sharedKey }
    await using node = await startServer(options)
    await using other = await startServer({
      ...options,
      ...{ adminToken: node.adminToken, operatorToken: node.operatorToken },
    })
    const alice = await node.api.newSession()
    const bob = await node.api.newSession()
    using phone = await GatewayClient.connect(node.url)
    const { appId } = node
    await phone.open({ appId, accessToken: bob.token })
    const send = (text: string) => sendText(alice.api, bob.id, text)
    const sendAgain = (text: string) =>
      waitFor(() => send(text).catch(() => false as const), { what: `"${text}" sent`, ...patience })
    const receives = (text: string) =>
      phone.next(({ data }) => (data as { content?: string })?.content === text, patience)

    const read = () => alice.api.call('GET', '/user/profile')

    // A crash without loss.
    await send('one')
    await receives('one')
    await primary.kill9()
    await primary.restart()
    await sendAgain('two')
    expect((await read()).code).toBe(200)
    await receives('two')
    expect(phone.ended).toBeNull()

    // The standby lags, and it still only reads when the address moves.
    await primary.waitForStandby(standby)
    await standby.detach()
    const lost = await send('lost')
    await receives('lost')
    await primary.kill9()
    proxy.moveTo(standby.urlOf(name))
    const reads = [await read(), await read(), await read()]
    expect(reads.map(({ code }) => code)).toEqual(reads.map(() => answerCode.storage_failed))
    expect([phone.ended, node.output().includes('lost events')]).toEqual([null, false])
    await standby.promote()

    expect((await phone.closed(patience)).code).toBe(4008)
    expect([(await node.exited).code, (await other.exited).code]).toEqual([
      restartCode,
      restartCode,
    ])
    const losses = [node, other].flatMap(
      (each) => each.output().match(/.*has lost events.*/g) ?? [],
    )
    expect(losses.filter((line) => 'epoch' in JSON.parse(line))).toHaveLength(1)
    for (const line of losses)
      expect(JSON.parse(line).lost).toEqual([
        expect.objectContaining({ app: node.appId, time: expect.stringMatching(/^2/) }),
      ])

    // It ended by itself, as it should; its folder is not kept.
    await other.kill9()
    await using again = await node.startAgain()
    const [fault, ...others] = await faultsOf(again)
    expect(others).toEqual([])
    expect(fault).toMatchObject({ check: 'lost_history', app_id: again.appId })
    expect(await faultsOf(again, { acknowledge: true })).toEqual([])
    expect(await faultsOf(again)).toEqual([])
    // IDs go on above those of what was lost.
    const next = await again.api.as(alice.token).succeed('POST', '/message/send', {
      body: textTo([bob.id], 'after'),
    })
    expect((next.msg_ids as number[])[0]).toBeGreaterThan(lost)
  })

  it('stopped and killed under load: both nodes go on, no ID repeats, and nothing is taken for lost', async () => {
    await using cluster = await PostgresCluster.start({
      folder: memoryDisk(),
      settings: { fsync: 'off', full_page_writes: 'off' },
    })
    const { url: databaseUrl } = await cluster.createDatabase()
    const options = { databaseUrl, env: sharedKey }
    await using node = await startServer(options)
    const { adminToken, operatorToken } = node
    await using other = await startServer({ ...options, adminToken, operatorToken })
    const [alice, bob] = [await node.api.newSession(), await node.api.newSession()]
    const ids: number[] = []
    let isOver = false
    const load = [node, other].map(async ({ api }) => {
      const caller = api.as(alice.token)
      while (!isOver)
        await sendText(caller, bob.id, 'hi').then(
          (id) => ids.push(id),
          () => {},
        )
    })
    for (const stop of ['stop', 'kill9', 'stop', 'kill9'] as const) {
      await cluster[stop]()
      await cluster.restart()
      const before = ids.length
      await waitFor(() => ids.length > before + 50, { what: 'sends again', ...patience })
    }
    isOver = true
    await Promise.all(load)
    expect(new Set(ids).size).toBe(ids.length)
    expect(await faultsOf(node)).toEqual([])
    for (const each of [node, other])
      expect(each.output()).not.toMatch(/has lost events|another history/)
    expect([(await node.stop()).code, (await other.stop()).code]).toEqual([0, 0])
  })
}

if (isFullRun && testBackends().some(({ name }) => name === 'postgres'))
  describe('failovers of PostgreSQL to a standby, behind one address', failover)
