/** Messages between nodes that share a PostgreSQL: how soon events of other nodes come, and what their loss costs. */
import {
  GatewayClient,
  type ServerProcess,
  type Session,
  startServer,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import { DatabaseProxy } from '@hermod/testkit/chaos'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { openSql, type Sql } from '../support/database/sql.js'
import { aGroup } from '../support/groups/groups.js'
import { sendText, textTo } from '../support/messaging/messaging.js'
import { sharedKey, sharedTokens } from '../support/shared-settings.js'

/** Half of the time between two looks into the database, the mean without a bus. */
const polledMs = 500

describe.each(testBackends().filter(({ name }) => name === 'postgres'))(
  'the bus of several nodes',
  (backend) => {
    let database: Awaited<ReturnType<typeof backend.createDatabase>>
    let nodes: ServerProcess[] = []
    let first: ServerProcess
    let second: ServerProcess
    /** Between the second node and its database. */
    let network: DatabaseProxy
    let sql: Sql
    const clients: GatewayClient[] = []

    beforeAll(async () => {
      database = await backend.createDatabase()
      network = await DatabaseProxy.start(() => new URL(database.url as string))
      const options = {
        ...sharedTokens,
        env: { HERMOD_CHECK_ANSWERS: 'on', ...sharedKey },
      }
      nodes = await Promise.all(
        [database.url as string, network.url].map((databaseUrl) =>
          startServer({ ...options, databaseUrl }),
        ),
      )
      ;[first, second] = nodes as [ServerProcess, ServerProcess]
      sql = await openSql({ dataDir: '', databaseUrl: database.url })
    })
    afterEach(() => {
      for (const client of clients.splice(0)) client[Symbol.dispose]()
    })
    afterAll(async () => {
      await sql?.[Symbol.asyncDispose]()
      for (const node of nodes) await node[Symbol.asyncDispose]()
      await network?.[Symbol.asyncDispose]()
      await database?.[Symbol.asyncDispose]()
    })

    async function open(node: ServerProcess, { token }: Session): Promise<GatewayClient> {
      const client = await GatewayClient.connect(node.url)
      clients.push(client)
      const { appId } = node.api.options
      const answer = await client.open({ appId, accessToken: token, deviceGuid: 'phone' })
      expect(answer.code).toBe(200)
      return client
    }

    /** A user on the first node, and the device of another one on the second node. */
    async function pair() {
      const [user, friend] = [await first.api.newSession(), await first.api.newSession()]
      return { user, friend, phone: await open(second, friend) }
    }

    /** Answered with 200, also without the bus. */
    async function readiness({ url }: ServerProcess): Promise<{ degraded?: readonly string[] }> {
      const answer = await fetch(`${url}/readyz`)
      expect(answer.status).toBe(200)
      return answer.json() as Promise<{ degraded?: readonly string[] }>
    }

    /** The median of the time from a call on one node to the event on the other. */
    async function medianMs(pair: { user: Session; friend: Session; phone: GatewayClient }) {
      const times: number[] = []
      for (let count = 0; count < 9; count++) {
        const startedAt = performance.now()
        await sendText(pair.user.api, pair.friend.id, `text ${count}`)
        await pair.phone.next('message.stored')
        times.push(performance.now() - startedAt)
      }
      return times.sort((a, b) => a - b)[4] as number
    }

    it('brings messages of other nodes at once', async () => {
      expect(await medianMs(await pair())).toBeLessThan(polledMs / 2)
    })

    it('brings signals of other nodes, of any length', async () => {
      const { user, friend, phone } = await pair()
      for (const content of ['now', 'x'.repeat(20_000)]) {
        const body = textTo([friend.id], content, { online_only: true })
        await user.api.succeed('POST', '/message/send', { body })
        expect((await phone.next('message.transient')).data).toMatchObject({ content })
      }
    })

    it('brings typing to the members of a group on other nodes, and not back', async () => {
      const { user, friend, phone } = await pair()
      const own = await open(second, user)
      const group = await aGroup(user, { members: [friend] })
      const ext = JSON.stringify({ input_status: 'typing' })
      // The other node knows the member once it has an event of the group.
      const first = { ...textTo([group], 'first'), type: 2 }
      await user.api.succeed('POST', '/message/send', { body: first })
      await phone.next('message.stored')
      const body = { ...textTo([group], '', { ext }), type: 2 }
      await user.api.succeed('POST', '/message/send', { body })
      expect((await phone.next('typing')).data).toMatchObject({ user_id: user.id })
      await sendText(user.api, friend.id, 'later')
      await phone.next('message.stored')
      expect(own.events.filter(({ event }) => event === 'typing')).toEqual([])
    })

    it('without its bus a node is ready, has messages of other nodes within about a second, and at once again with it', async () => {
      const pairOfUsers = await pair()
      const { user, friend, phone } = pairOfUsers
      network.cutBus()
      await waitFor(async () => (await readiness(second)).degraded?.includes('bus'), {
        what: 'a bus that is told as degraded',
        timeoutMs: 10_000,
      })
      for (let count = 0; count < 3; count++) {
        const startedAt = performance.now()
        await sendText(user.api, friend.id, 'meanwhile')
        await phone.next('message.stored')
        expect(performance.now() - startedAt).toBeLessThan(4 * polledMs)
      }
      network.mend()
      await waitFor(async () => !(await readiness(second)).degraded?.includes('bus'), {
        what: 'a bus that works',
        timeoutMs: 20_000,
      })
      expect(await medianMs(pairOfUsers)).toBeLessThan(polledMs / 2)
    })

    it('goes on when a stranger sends nonsense', async () => {
      const [{ channel }] = (await sql.run(
        'select bus_channel as channel from database_identity',
      )) as [{ channel: string }]
      const nonsense = ['', 'hello', '{"from":"x","messages":[["outbox.appended",null]]}']
      for (const text of nonsense) await sql.run(`select pg_notify('${channel}', '${text}')`)
      expect(await medianMs(await pair())).toBeLessThan(polledMs / 2)
      for (const { url } of nodes) {
        const metrics = await (await fetch(`${url}/metrics`)).text()
        expect(metrics).toMatch(
          /^hermod_bus_lost_messages_total\{reason="not_understood",topic="unknown"\} [1-9]/m,
        )
      }
    })
  },
)
