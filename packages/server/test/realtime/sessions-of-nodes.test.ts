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
