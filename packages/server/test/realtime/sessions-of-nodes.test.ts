/** Sessions, presence and pushes of devices on several nodes (rules E15, G1). */
import { setTimeout as pause } from 'node:timers/promises'
import { closeCodes } from '@hermod/protocol'
import { PushSimulator } from '@hermod/push-simulator'
import {
  descendants,
  GatewayClient,
  isFullRun,
  type LoginSession,
  type PostgresCluster,
  type ServerOptions,
  type ServerProcess,
  type Session,
  startServer,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { connect } from '../support/contacts.js'
import { sendText } from '../support/messaging/messaging.js'
import { PushWorld } from '../support/push/push-world.js'
import { sharedKey, sharedTokens } from '../support/shared-settings.js'

const aheadMs = 8_000
const clockAhead = new URL('../support/clock-ahead.mjs', import.meta.url).pathname

async function isOnline(node: ServerProcess, { token }: Session): Promise<boolean> {
  const { data } = await node.api
    .as(token)
    .succeed<{ online: boolean }>('GET', '/user/online_status')
  return data.online
}

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
        ...sharedTokens,
        databaseUrl: database.url as string,
        env: { HERMOD_CHECK_ANSWERS: 'on', ...sharedKey },
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
      for (let move = 0; move < (isFullRun ? 40 : 10); move++) {
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

    if (isFullRun)
      it('a node that stands still for 20 s: loses its sessions to others, and has those that are left when it goes on', async () => {
        const third = await start()
        const [user, friend] = await people()
        const mover = await first.api.newSession()
        await connect({ api: first.api.admin({ userId: mover.id }) }, friend)
        const viewer = await open(first, friend)
        const [staying, moving] = [await open(third, user), await open(third, mover)]
        for (const each of [user, mover])
          await waitFor(() => isOnline(first, each), { what: 'both users', timeoutMs: 3_000 })
        await viewer.succeed('presence.subscribe', { user_ids: [user.id, mover.id] })
        third.signal('SIGSTOP')
        const moved = await open(second, mover)
        await viewer.next('presence', { timeoutMs: 30_000 })
        third.signal('SIGCONT')
        await viewer.next('presence', { timeoutMs: 10_000 })
        expect(presenceOf(viewer)).toEqual([
          [{ user_id: user.id, online: false }],
          [{ user_id: user.id, online: true }],
        ])
        expect((await moving.closed()).code).toBe(closeCodes.replaced)
        for (const client of [staying, moved]) await client.succeed('user.online_status')
        for (const node of nodes.slice(0, 2)) expect(await isOnline(node, mover)).toBe(true)
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

const awayMs = 60_000
/** Ways in which it goes; each returns what brings it back. */
const ways: Readonly<Record<string, (cluster: PostgresCluster) => Promise<() => Promise<void>>>> = {
  halted: async (cluster) => {
    const pids = [cluster.postmasterPid, ...descendants(cluster.postmasterPid)]
    for (const pid of pids) process.kill(pid, 'SIGSTOP')
    return async () => {
      for (const pid of pids) process.kill(pid, 'SIGCONT')
    }
  },
  stopped: async (cluster) => {
    await cluster.stop()
    return () => cluster.restart()
  },
}

for (const backend of isFullRun ? testBackends('own') : [])
  if ('cluster' in backend)
    describe('PostgreSQL that is away', () => {
      let simulator: PushSimulator
      let nodes: [ServerProcess, ServerProcess]
      let world: PushWorld
      const clients: GatewayClient[] = []

      beforeAll(async () => {
        simulator = await PushSimulator.start()
        const { url: databaseUrl } = await backend.createDatabase()
        const options = {
          ...sharedTokens,
          databaseUrl: databaseUrl as string,
          env: sharedKey,
        }
        const first = await startServer(options)
        nodes = [first, await startServer(options)]
        world = new PushWorld(
          {
            api: first.api,
            appId: first.api.options.appId,
            operatorToken: sharedTokens.operatorToken,
          },
          simulator,
        )
        await world.setCertificates(['vendor_x'])
      })
      afterEach(() => {
        for (const client of clients.splice(0)) client[Symbol.dispose]()
      })
      afterAll(async () => {
        for (const node of nodes ?? []) await node[Symbol.asyncDispose]()
        await backend.end()
        await simulator?.[Symbol.asyncDispose]()
      })

      async function open(node: ServerProcess, user: LoginSession): Promise<GatewayClient> {
        const client = await GatewayClient.connect(node.url)
        clients.push(client)
        const { appId } = node.api.options
        const { code } = await client.open({ appId, accessToken: user.token })
        expect(code).toBe(200)
        return client
      }

      it.each(Object.keys(ways))(
        '%s: changes nothing for those who are connected',
        async (way) => {
          const token = (name: string) => ({ vendor_x: `${way}${name}` })
          const [alice, bob, carol] = [
            await world.user(token('a')),
            await world.user(token('b')),
            await world.user(token('c')),
          ]
          await connect({ api: world.api.admin({ userId: alice.id }) }, bob, carol)
          const viewer = await open(nodes[0], alice)
          const others = [await open(nodes[0], bob), await open(nodes[1], carol)]
          // A node that does not know a session yet pushes at once.
          for (const node of nodes)
            for (const user of [bob, carol])
              await waitFor(() => isOnline(node, user), { what: 'both users', timeoutMs: 5_000 })
          await viewer.succeed('presence.subscribe', { user_ids: [bob.id, carol.id] })
          // Their pushes wait for signs of life while the database goes.
          const before = [
            await sendText(alice.api, bob.id, 'before'),
            await sendText(alice.api, carol.id, 'before'),
          ]
          const comeBack = await (ways[way] as (typeof ways)[string])(await backend.cluster())
          await pause(awayMs)
          await comeBack()
          const sendAgain = async (to: LoginSession) =>
            waitFor(() => sendText(alice.api, to.id, 'after').catch(() => false as const), {
              what: 'a send after the outage',
              timeoutMs: 30_000,
            })
          const after = [await sendAgain(bob), await sendAgain(carol)]
          expect(viewer.events.filter(({ event }) => event === 'presence')).toEqual([])
          expect([viewer, ...others].map(({ ended }) => ended)).toEqual([null, null, null])
          for (const client of others) await client.succeed('user.online_status')
          // The decision about each push takes 15 s.
          if (!isFullRun) return
          for (const [index, user] of [bob, carol, bob, carol].entries()) {
            const { steps } = await world.delivered([...before, ...after][index] as number, user.id)
            expect(steps.at(-1), JSON.stringify(steps)).toMatchObject({ step: 'suppressed' })
          }
          expect(simulator.gateways.vendor_x.calls).toEqual([])
        },
        240_000,
      )
    })
