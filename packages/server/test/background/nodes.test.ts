import type { Message } from '@hermod/protocol'
import {
  Api,
  GatewayClient,
  type ServerProcess,
  startServer,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { countOfWaiting, openSql } from '../support/database/sql.js'
import { broadcast, newestId } from '../support/messaging/broadcasts.js'
import {
  acknowledge,
  contents,
  deleteConversation,
  history,
  integrityFaults,
  sendText,
  unreadCounts,
} from '../support/messaging/messaging.js'
import { namedScope, scopedToken, setScopes } from '../support/scoped-tokens.js'
import { sharedKey, sharedTokens } from '../support/shared-settings.js'

const nodeCount = 3

describe.each(testBackends().filter(({ name }) => name === 'postgres'))(
  'several nodes',
  (backend) => {
    let database: Awaited<ReturnType<typeof backend.createDatabase>>
    let nodes: ServerProcess[] = []
    let first: ServerProcess
    let second: ServerProcess

    beforeAll(async () => {
      database = await backend.createDatabase()
      const options = {
        ...sharedTokens,
        databaseUrl: database.url as string,
        env: { HERMOD_CHECK_ANSWERS: 'on', ...sharedKey },
      }
      // All at the same moment and on an empty database: each wants to make the schema, the
      // application and its tokens.
      nodes = await Promise.all(Array.from({ length: nodeCount }, () => startServer(options)))
      ;[first, second] = nodes as [ServerProcess, ServerProcess]
    })

    afterAll(async () => {
      for (const node of nodes) await node[Symbol.asyncDispose]()
      await database?.[Symbol.asyncDispose]()
    })

    it('a common start on an empty database: each node serves', async () => {
      expect(nodes).toHaveLength(nodeCount)
      for (const [index, node] of nodes.entries()) {
        const next = nodes[(index + 1) % nodeCount] as ServerProcess
        const alice = await node.api.newSession()
        const bob = await next.api.newSession()
        await sendText(alice.api, bob.id, `by node ${index}`)
        expect(await contents(bob.api, alice.id)).toEqual([`by node ${index}`])
        expect(await unreadCounts(node.api.as(bob.token))).toEqual({ [alice.id]: 1 })
        await acknowledge(node.api.as(bob.token))
        expect((await history(next.api.as(alice.token), bob.id))[0]?.status).toBe('READ')
      }
    })

    it('IDs: are unique over all nodes', async () => {
      const ids = await Promise.all(
        Array.from({ length: 30 }, async (_, index) => {
          const { api } = nodes[index % nodeCount] as ServerProcess
          const { id } = await api.register()
          const messages: number[] = []
          for (let each = 0; each < 10; each++)
            messages.push(await sendText(api.admin(), id, `${each}`))
          return [id, ...messages]
        }),
      )
      expect(new Set(ids.flat()).size).toBe(30 * 11)
      for (const id of ids.flat()) expect(Number.isSafeInteger(id) && id > 0).toBe(true)
      // Nodes that started together did not take IDs from one another, which would put one of them
      // ahead of the clock by a reservation.
      const [newest] = await Promise.all(
        ids.map(([user = 0]) => history(first.api.admin({ userId: user }), 0)),
      )
      for (const { timestamp } of newest ?? []) expect(timestamp).toBeLessThan(Date.now() + 10_000)
    })

    it('broadcasts: every node shows them within a second, in one order with registrations', async () => {
      const third = nodes[2] as ServerProcess
      const alice = await second.api.newSession()
      const bot = await third.api.newSession()
      await broadcast(first.api.admin(), 'hello', { from_user_id: bot.id })
      expect(await contents(first.api.as(alice.token), bot.id)).toEqual(['hello'])
      for (const { api } of nodes)
        await waitFor(async () => (await unreadCounts(api.as(alice.token)))[bot.id] === 1, {
          what: 'the broadcast on every node',
          timeoutMs: 2_000,
        })
      // The order of IDs does not hang on which node has heard of it.
      const answers = await Promise.all(
        Array.from({ length: 60 }, async (_, index) => {
          const { api } = nodes[index % nodeCount] as ServerProcess
          if (index % 4 === 0) return (await api.newSession()).id
          const content = `${index}`
          if (index % 4 === 1) await broadcast(api.admin(), content, { from_user_id: bot.id })
          else await sendText(api.admin({ userId: bot.id }), alice.id, content)
          return null
        }),
      )
      const shown = await history(first.api.as(alice.token), bot.id)
      expect(shown).toHaveLength(46)
      const sent = shown.filter(({ content }) => Number(content) % 4 === 1)
      const order = sent.map(({ content }) => content)
      expect(order).toHaveLength(15)
      await broadcast(third.api.admin(), 'to all who came', { from_user_id: bot.id })
      for (const userId of answers.filter((id) => id !== null)) {
        const own = await contents(second.api.admin({ userId }), bot.id)
        expect(own).toEqual(['to all who came', ...order.slice(0, own.length - 1)])
      }
      const last = await sendText(second.api.admin({ userId: bot.id }), alice.id, 'last')
      expect(last).toBeGreaterThan(Number(shown[0]?.msg_id))
      await acknowledge(third.api.as(alice.token))
      expect(await unreadCounts(second.api.as(alice.token))).toEqual({})
    })

    it('acknowledgement of a conversation: includes a first broadcast that another node has just stored', async () => {
      const carol = await second.api.newSession()
      const bot = await first.api.newSession()
      const reader = second.api.as(carol.token)
      await broadcast(first.api.admin(), 'somebody else was first')
      await waitFor(async () => (await unreadCounts(reader))[0] === 1, {
        what: 'the broadcast on the other node',
        timeoutMs: 10_000,
      })
      await broadcast(first.api.admin(), 'hello', { from_user_id: bot.id })
      expect((await unreadCounts(reader))[bot.id]).toBe(1)
      await acknowledge(reader, { peer: bot.id })
      expect(bot.id in (await unreadCounts(reader))).toBe(false)
    })

    it('answer: reads the first broadcast of a user that another node has just stored', async () => {
      const erin = await second.api.newSession()
      const bots = await Promise.all([1, 2, 3, 4, 5].map(() => first.api.newSession()))
      for (const bot of bots) {
        // The other node knows now who has broadcast so far, and for a second it would ask nobody.
        await sendText(second.api.as(erin.token), bot.id, 'before')
        await broadcast(first.api.admin(), 'hello', { from_user_id: bot.id })
        await sendText(second.api.as(erin.token), bot.id, 'answer')
        expect(bot.id in (await unreadCounts(first.api.as(erin.token)))).toBe(false)
      }
    })

    it('acknowledgement by ID: finds the first broadcast that another node has just stored', async () => {
      const operator = first.api.as(sharedTokens.operatorToken)
      const { data } = await operator.succeed('POST', '/operator/v1/app/create', {
        body: { app_id: 'quiet' },
      })
      const [here, there] = [first, second].map(
        ({ url }) => new Api({ url, appId: 'quiet', adminToken: data.admin_token }),
      ) as [Api, Api]
      const dora = await there.login(await there.admin().register())
      expect(await unreadCounts(dora.api)).toEqual({})
      await broadcast(here.admin(), 'the first one')
      const message = await newestId(here.as(dora.token), 0)
      await acknowledge(dora.api, { message })
      expect(await unreadCounts(here.as(dora.token))).toEqual({})
      for (const api of [here, there]) api.close()
    })

    it('send after a broadcast of a node whose clock is ahead: gets a greater ID', async () => {
      const bob = await second.api.newSession()
      const bot = await first.api.newSession()
      const ahead = (Date.now() + 3_000 - Date.UTC(2015, 0, 1)) * 4_096
      const sql = await openSql({ dataDir: first.dataDir, databaseUrl: database.url })
      await sql.run(`update user_counts set last_broadcast_id = ${ahead} where app_id = 'test'`)
      await sql[Symbol.asyncDispose]()
      await broadcast(first.api.admin(), 'from the future', { from_user_id: bot.id })
      const [message] = await history(first.api.as(bob.token), bot.id)
      expect(Number(message?.msg_id)).toBeGreaterThan(ahead)
      const sent = await sendText(second.api.admin({ userId: bot.id }), bob.id, 'later')
      expect(sent).toBeGreaterThan(Number(message?.msg_id))
      expect(await integrityFaults(first)).toEqual([])
    })

    it('registration: one node gets a name', async () => {
      for (let round = 0; round < 3; round++) {
        const body = { username: `only_once_${round}`, password: 'correct horse' }
        const answers = await Promise.all(
          nodes.map(({ api }) => api.call('POST', '/user/register/v2', { body })),
        )
        expect(answers.filter(({ code }) => code === 200)).toHaveLength(1)
        expect(answers.filter(({ code }) => code === answerCode.user_exists)).toHaveLength(
          nodeCount - 1,
        )
      }
    })

    it('a conversation that all nodes write to: has one order', async () => {
      const alice = await first.api.newSession()
      const bob = await second.api.newSession()
      const answered = await Promise.all(
        Array.from({ length: 8 * nodeCount }, async (_, sender) => {
          const api = (nodes[sender % nodeCount] as ServerProcess).api.as(
            sender % 2 === 0 ? alice.token : bob.token,
          )
          const sent: { id: number; content: string }[] = []
          for (let number = 0; number < 10; number++) {
            const content = `${sender}/${number}`
            sent.push({
              id: await sendText(api, sender % 2 === 0 ? bob.id : alice.id, content),
              content,
            })
          }
          return sent
        }),
      )
      for (const sent of answered)
        for (const [index, { id }] of sent.entries())
          expect(id).toBeGreaterThan(sent[index - 1]?.id ?? 0)
      const expected = answered.flat().sort((a, b) => b.id - a.id)
      expect(new Set(expected.map(({ id }) => id)).size).toBe(8 * nodeCount * 10)
      const shown = (messages: readonly Message[]) =>
        messages.map(({ msg_id, content }) => ({ id: msg_id, content }))
      for (const node of nodes) {
        expect(shown(await history(node.api.as(alice.token), bob.id))).toEqual(expected)
        expect(shown(await history(node.api.as(bob.token), alice.id))).toEqual(expected)
      }
    })

    it('a message after the answer of another node: has the greater msg_id', async () => {
      const alice = await first.api.newSession()
      const { id } = await first.api.register()
      const ids: number[] = []
      for (let number = 0; number < 10 * nodeCount; number++)
        ids.push(
          await sendText(
            (nodes[number % nodeCount] as ServerProcess).api.as(alice.token),
            id,
            `${number}`,
          ),
        )
      expect((await history(alice.api, id)).map(({ msg_id }) => msg_id)).toEqual(ids.toReversed())
      expect(ids).toEqual(ids.toSorted((a, b) => a - b))
    })

    it('one transaction_id on all nodes at once: stores one message', async () => {
      const alice = await first.api.newSession()
      const bob = await first.api.register()
      const rounds = 15
      for (let transaction_id = 1; transaction_id <= rounds; transaction_id++) {
        const copies = Array.from({ length: 3 * nodeCount }, (_, copy) => {
          const { api } = nodes[copy % nodeCount] as ServerProcess
          return sendText(api.as(alice.token), bob.id, `copy ${copy}`, { transaction_id })
        })
        expect(new Set(await Promise.all(copies)).size).toBe(1)
      }
      expect(await history(alice.api, bob.id)).toHaveLength(rounds)
      expect(await unreadCounts(second.api.admin({ userId: bob.id }))).toEqual({
        [alice.id]: rounds,
      })
    })

    it('a deleted conversation: no node shows it', async () => {
      const alice = await first.api.newSession()
      const bob = await first.api.newSession()
      await sendText(alice.api, bob.id, 'gone')
      await deleteConversation(bob.api, alice.id)
      for (const node of nodes) expect(await contents(node.api.as(bob.token), alice.id)).toEqual([])
    })

    it('a user disabled on one node: every node refuses its tokens', async () => {
      const alice = await first.api.newSession()
      const bob = await first.api.register()
      const onSecond = second.api.as(alice.token)
      await sendText(onSecond, bob.id, 'while enabled')
      await first.api.admin().succeed('PUT', '/user/disable', { body: { list: [alice.id] } })
      await expectCode(alice.api.call('GET', '/user/profile'), 'token_expired')
      const ended = async () =>
        (await onSecond.call('GET', '/user/profile')).code === answerCode.token_expired
      await waitFor(ended, { what: 'the end of the token on the other node', timeoutMs: 10_000 })
      const body = { type: 1, content_type: 0, targets: [bob.id], content: 'too late' }
      await expectCode(onSecond.call('POST', '/message/send', { body }), 'token_expired')
      await expectCode(
        second.api.call('POST', '/token/id', {
          body: { user_id: alice.id, password: alice.password },
        }),
        'user_disabled',
      )
      await second.api.admin().succeed('PUT', '/user/enable', { body: { list: [alice.id] } })
      const again = await first.api.login(alice)
      expect(await contents(again.api, bob.id)).toEqual(['while enabled'])
    })

    it('an Admin token narrowed on one node: is refused and loses its session on another', async () => {
      const { id } = await first.api.newSession()
      const { appId } = first
      const made = await scopedToken(first, ['messages:read', 'users:read'])
      using client = await GatewayClient.connect(second.url)
      await client.open({ appId, accessToken: made.token, userId: id })
      const list = () => second.api.as(made.token).call('GET', '/user/list')
      await expectCode(list(), 'ok')
      await setScopes(first, made, ['push'])
      expect((await client.closed()).code).toBe(4502)
      const refused = async () => namedScope((await list()).envelope) === 'users:read'
      await waitFor(refused, { what: 'the refusal on the other node', timeoutMs: 10_000 })
    })

    it('deletion on one node during a send on another: moves no position back', async () => {
      const alice = await first.api.newSession()
      const bob = await first.api.register()
      const onSecond = second.api.as(alice.token)
      await sendText(alice.api, bob.id, 'old')
      await using sql = await openSql({ dataDir: first.dataDir, databaseUrl: database.url })
      const waiting = (count: number) => async () =>
        Number((await sql.run(countOfWaiting))[0]?.count) >= count
      // Holds the send up: the deletion sees the end before it.
      await sql.run('begin')
      await sql.run(`select 1 from conversations where ${alice.id} in (low_id, high_id) for update`)
      const sending = sendText(alice.api, bob.id, 'new')
      await waitFor(waiting(1), { what: 'the send to wait', timeoutMs: 10_000 })
      await deleteConversation(onSecond, bob.id)
      await sql.run('commit')
      await sending
      expect(await unreadCounts(alice.api)).toEqual({})
      expect((await contents(alice.api, bob.id)).filter((content) => content !== 'new')).toEqual([])
      expect(await contents(second.api.admin({ userId: bob.id }), alice.id)).toEqual(['new', 'old'])
      expect(await integrityFaults(first)).toEqual([])
    })

    it('a killed node: the other nodes serve', async () => {
      const alice = await first.api.newSession()
      const bob = await first.api.register()
      const before = await sendText(
        (nodes[2] as ServerProcess).api.as(alice.token),
        bob.id,
        'before',
      )
      await (nodes[2] as ServerProcess).kill9()
      const after = await sendText(second.api.as(alice.token), bob.id, 'after')
      expect(after).toBeGreaterThan(before)
      nodes[2] = await (nodes[2] as ServerProcess).startAgain()
      const again = await sendText((nodes[2] as ServerProcess).api.as(alice.token), bob.id, 'again')
      expect(again).toBeGreaterThan(after)
      expect(await contents(alice.api, bob.id)).toEqual(['again', 'after', 'before'])
    })

    it('integrity check: finds no fault after all of it', async () => {
      expect(await integrityFaults(first)).toEqual([])
    })
  },
)
