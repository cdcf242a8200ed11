/** Sessions, presence and pushes of devices on several nodes (rules E15, G1). */
import { closeCodes } from '@hermod/protocol'
import {
  GatewayClient,
  isFullRun,
  type ServerOptions,
  type ServerProcess,
  type Session,
  startServer,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { connect } from '../support/contacts.js'

/** Nodes that share a database are given one. */
const secretKey = `key-${'k'.repeat(40)}`
const tokens = { adminToken: `hma_${'a'.repeat(48)}`, operatorToken: `hmo_${'b'.repeat(48)}` }
const aheadMs = 8_000
const clockAhead = new URL('../support/clock-ahead.mjs', import.meta.url).pathname

describe.each(testBackends().filter(({ name }) => name === 'postgres'))(
  'sessions of several nodes',
  (backend) => {
    let database: Awaited<ReturnType<typeof backend.createDatabase>>
    let nodes: ServerProcess[] = []
    let first: ServerProcess
    let second: ServerProcess
    const clients: GatewayClient[] = []

    beforeAll(async () => {
      database = await backend.createDatabase()
      first = await start()
      // Its clock is ahead of that of the database and of the other node.
      second = await start({
        wrapper: ['env', `NODE_OPTIONS=--import=${clockAhead}`, `CLOCK_AHEAD_MS=${aheadMs}`],
      })
    })
    afterEach(() => {
      for (const client of clients.splice(0)) client[Symbol.dispose]()
    })
    afterAll(async () => {
      for (const node of nodes) await node[Symbol.asyncDispose]()
      await database?.[Symbol.asyncDispose]()
    })

    async function start(options: ServerOptions = {}): Promise<ServerProcess> {
      const node = await startServer({
        ...tokens,
        databaseUrl: database.url as string,
        env: { HERMOD_CHECK_ANSWERS: 'on', HERMOD_SECRET_KEY: secretKey },
        ...options,
      })
      nodes = [...nodes, node]
      return node
    }

    async function open(
      node: ServerProcess,
      { token }: Pick<Session, 'token'>,
      deviceGuid = 'phone',
    ): Promise<GatewayClient> {
      const client = await GatewayClient.connect(node.url)
      clients.push(client)
      const { appId } = node.api.options
      const answer = await client.open({ appId, accessToken: token, deviceGuid })
      expect(answer.code).toBe(200)
      return client
    }

    async function isOnline(node: ServerProcess, { token }: Session): Promise<boolean> {
      const { data } = await node.api
        .as(token)
        .succeed<{ online: boolean }>('GET', '/user/online_status')
      return data.online
    }

    async function people(): Promise<[Session, Session]> {
      const [user, friend] = [await first.api.newSession(), await first.api.newSession()]
      await connect({ api: first.api.admin({ userId: user.id }) }, friend)
      return [user, friend]
    }

    const presenceOf = ({ events }: GatewayClient) =>
      events.filter(({ event }) => event === 'presence').map(({ data }) => data.users)

    it('a device that moves between nodes: is always connected, whatever their clocks say', async () => {
      const [user, friend] = await people()
      const viewer = await open(first, friend)
      let before = await open(second, user)
      await waitFor(() => isOnline(first, user), {
        what: 'the device on both nodes',
        timeoutMs: 3_000,
      })
      await viewer.succeed('presence.subscribe', { user_ids: [user.id] })
      for (let move = 0; move < (isFullRun ? 100 : 10); move++) {
        const after = await open(move % 2 === 0 ? first : second, user)
        expect(await isOnline(move % 2 === 0 ? second : first, user)).toBe(true)
        expect((await before.closed()).code).toBe(closeCodes.replaced)
        expect(after.ended).toBeNull()
        before = after
      }
      await before.succeed('user.online_status')
      expect(presenceOf(viewer)).toEqual([])
    })

    it('a push: reaches devices on every node, and counts as sent where it was written', async () => {
      const users = await people()
      const phones = [await open(first, users[0]), await open(second, users[1])]
      for (const node of nodes)
        for (const user of users)
          await waitFor(() => isOnline(node, user), { what: 'both devices', timeoutMs: 3_000 })
      const { data } = await second.api.admin().succeed('POST', '/push/notify', {
        body: { audience: { user_id: users.map(({ id }) => id) }, message: { body: 'News' } },
      })
      for (const phone of phones) {
        const { data: pushed } = await phone.next('push.notification')
        expect(pushed).toMatchObject({ task_id: data.task_id, body: 'News' })
      }
      await waitFor(
        async () => {
          const { data: counts } = await first.api
            .admin()
            .succeed('POST', '/push/task/detail', { body: { list: [data.task_id] } })
          return counts[0].core_sent === users.length
        },
        { what: 'the count of both', timeoutMs: 5_000 },
      )
    })

    if (isFullRun)
      it('a node that is killed: its users are offline after its lease, those who come back are not', async () => {
        const third = await start()
        const [user, friend] = await people()
        const viewer = await open(first, friend)
        const mover = await first.api.newSession()
        await connect({ api: first.api.admin({ userId: mover.id }) }, friend)
        const [leaving, moving] = [await open(third, user), await open(third, mover)]
        for (const each of [user, mover])
          await waitFor(() => isOnline(first, each), { what: 'both users', timeoutMs: 3_000 })
        await viewer.succeed('presence.subscribe', { user_ids: [user.id, mover.id] })
        const killedAt = performance.now()
        third.signal('SIGKILL')
        await Promise.all([leaving.closed(), moving.closed()])
        const again = await open(second, mover)
        const { data } = await viewer.next('presence', { timeoutMs: 30_000 })
        expect(data.users).toEqual([{ user_id: user.id, online: false }])
        expect(performance.now() - killedAt).toBeGreaterThan(10_000)
        expect(await isOnline(second, user)).toBe(false)
        expect([again.ended, presenceOf(viewer).length]).toEqual([null, 1])
      })

    it('a user who comes and goes on another node: contacts see it, and the device is shown as connected', async () => {
      const [user, friend] = await people()
      const viewer = await open(first, friend)
      await viewer.succeed('presence.subscribe', { user_ids: [user.id] })
      const phone = await open(second, user)
      await viewer.next('presence', { timeoutMs: 4_000 })
      expect(presenceOf(viewer)).toEqual([[{ user_id: user.id, online: true }]])
      const { data } = await first.api.as(user.token).succeed('GET', '/user/device/list')
      expect(data).toMatchObject([{ online: true }])
      if (!isFullRun) return
      await phone.close()
      await waitFor(async () => !(await isOnline(first, user)), {
        what: 'the end of the grace',
        timeoutMs: 15_000,
      })
    })
  },
)
