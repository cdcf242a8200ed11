/**
 * Any node answers any call, also while no node hears of the others: rights that were given on one
 * node hold on every other one at once, and those that were taken end within a second.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  Api,
  GatewayClient,
  isFullRun,
  type ServerProcess,
  type Session,
  startServer,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import { DatabaseProxy } from '@hermod/testkit/chaos'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { buildAssertion, hmacSigner, sharedSecret } from '../support/assertions/builder.js'
import { roundRobin } from '../support/balancer.js'
import { block, mayMessage, unblock } from '../support/contacts.js'
import { aGroup, groupCall } from '../support/groups/groups.js'
import { add, ban, kick, unban } from '../support/groups/members.js'
import { recall } from '../support/messaging/message-operations.js'
import {
  contents,
  history,
  integrityFaults,
  send,
  sendText,
  textTo,
} from '../support/messaging/messaging.js'
import { scopedToken, setScopes } from '../support/scoped-tokens.js'
import { sharedKey, sharedTokens } from '../support/shared-settings.js'

/** The promise of a second, and the time of the call that notices it on a busy machine. */
const endsWithinMs = 1_500

/** An application of a test with a group of three users, as one node serves it. */
interface Place {
  readonly node: ServerProcess
  readonly api: Api
  readonly owner: Session
  readonly bob: Session
  readonly carol: Session
  readonly groupId: number
}

/** A right of a user, an app or a token. Each node is asked for the use of it, and one of them takes and gives it. */
interface Right {
  readonly what: string
  take(place: Place): Promise<unknown>
  give(place: Place): Promise<unknown>
  /** Whether a node grants it. */
  isGranted(place: Place): Promise<boolean>
}

const isOk = async (answer: Promise<{ readonly code: number }>) =>
  (await answer).code === answerCode.ok
const toGroup = ({ bob, groupId }: Place) =>
  isOk(send(bob.api, { ...textTo([groupId], 'hello'), type: 2 }))
const toUser = ({ owner, bob }: Place) => isOk(send(bob.api, textTo([owner.id], 'hello')))

const operate = ({ api }: Place, path: string, body: object) =>
  api
    .as(sharedTokens.operatorToken)
    .succeed('POST', `/operator/v1/${path}`, { body: { app_id: api.options.appId, ...body } })

/** A right that is a value of the application. */
const ofApp = (what: string, [given, taken]: readonly [object, object]) => ({
  what,
  give: (place: Place) => operate(place, 'app/update', given),
  take: (place: Place) => operate(place, 'app/update', taken),
})

const issuer = 'https://login.example.org'
const assertion = () => {
  const iat = Math.floor(Date.now() / 1000)
  return buildAssertion({
    header: { alg: 'HS256', typ: 'JWT' },
    payload: { iss: issuer, sub: 'person', iat, exp: iat + 300 },
    signer: hmacSigner(sharedSecret),
  })
}
const setIssuer = (place: Place, hmac_secret: string) =>
  operate(place, 'identity/set', { issuer, hmac_secret, create: 'first_login' })
const exchange = ({ api }: Place) =>
  isOk(api.call('POST', '/token/exchange', { body: { assertion: assertion() } }))

let names = 0

const rights: readonly Right[] = [
  {
    ...ofApp('calls of an application', [{ status: 0 }, { status: 1 }]),
    isGranted: ({ bob }) => isOk(bob.api.call('GET', '/user/profile')),
  },
  {
    ...ofApp('registration', [{ open_registration: true }, { open_registration: false }]),
    isGranted: ({ api }) =>
      isOk(
        api.call('POST', '/user/register/v2', {
          body: { username: `new_${++names}`, password: 'correct horse' },
        }),
      ),
  },
  {
    ...ofApp('recall', [
      { settings: { recall_enabled: true } },
      { settings: { recall_enabled: false } },
    ]),
    async isGranted({ owner, bob }) {
      return isOk(recall(bob.api, owner.id, await sendText(bob.api, owner.id, 'oops')))
    },
  },
  {
    ...ofApp('messages of users who are no contacts', [
      { settings: { stranger_chat_default: 1 } },
      { settings: { stranger_chat_default: 2 } },
    ]),
    isGranted: toUser,
  },
  {
    what: 'messages to a user who blocks',
    take: ({ owner, bob }) => block(owner.api, bob.id),
    give: ({ owner, bob }) => unblock(owner.api, bob.id),
    isGranted: toUser,
  },
  {
    what: 'messages of a user who is disabled',
    take: ({ api, carol }) =>
      api.admin().succeed('PUT', '/user/disable', { body: { list: [carol.id] } }),
    give: ({ api, carol }) =>
      api.admin().succeed('PUT', '/user/enable', { body: { list: [carol.id] } }),
    isGranted: ({ bob, carol, owner }) => mayMessage(owner.api.admin(), carol.id, bob.id),
  },
  {
    what: 'messages of a banned member',
    take: ({ owner, bob, groupId }) => ban(owner.api, groupId, bob),
    give: ({ owner, bob, groupId }) => unban(owner.api, groupId, bob),
    isGranted: toGroup,
  },
  {
    what: 'messages to a banned group',
    take: ({ owner, groupId }) =>
      groupCall(owner.api, '/group/settings/ban_all', groupId, { duration: 10 }),
    give: ({ owner, groupId }) => groupCall(owner.api, '/group/settings/unban_all', groupId),
    isGranted: toGroup,
  },
  {
    what: 'messages of a member who is removed',
    take: ({ owner, bob, groupId }) => kick(owner.api, groupId, bob),
    give: ({ owner, bob, groupId }) => add(owner.api, groupId, bob),
    isGranted: toGroup,
  },
  {
    what: 'exchange of assertions',
    take: (place) => operate(place, 'identity/remove', { issuer }),
    give: (place) => setIssuer(place, sharedSecret),
    isGranted: exchange,
  },
  {
    what: 'assertions signed with a new secret',
    take: (place) => setIssuer(place, 'another secret of at least thirty-two bytes'),
    give: (place) => setIssuer(place, sharedSecret),
    isGranted: exchange,
  },
]

/** A stored limit, which calls at once on both nodes must not exceed. */
interface Limit {
  readonly what: string
  readonly settings: object
  /** The attempts that succeed. */
  readonly granted: number
  readonly needsUsers?: boolean
  attempt(
    place: Place,
    given: { readonly index: number; readonly userId: number },
  ): Promise<{ readonly code: number }>
}

const attempts = 16
const devicesPerUser = 5

/** Each place has three users and two groups. */
const limits: readonly Limit[] = [
  {
    what: 'users of an application',
    settings: { user_limit: 8 },
    granted: 5,
    attempt: ({ api }, { index }) =>
      api
        .admin()
        .call('POST', '/token/issue', { body: { issuer: 'app', subject: `${index}`, create: {} } }),
  },
  {
    what: 'groups of an application',
    settings: { group_limit: 7 },
    granted: 5,
    attempt: ({ carol }) =>
      carol.api.call('POST', '/group/create', { body: { name: 'Group', type: 0 } }),
  },
  {
    what: 'groups of an owner',
    settings: { group_owner_limit: 5 },
    granted: 5,
    attempt: ({ carol }) =>
      carol.api.call('POST', '/group/create', { body: { name: 'Group', type: 0 } }),
  },
  {
    what: 'contacts of a user',
    settings: { contact_limit: 5 },
    granted: 5,
    needsUsers: true,
    attempt: ({ api, carol }, { userId }) =>
      api
        .admin({ userId: carol.id })
        .call('POST', '/user/add_roster', { body: { list: [userId] } }),
  },
]

describe.each(testBackends().filter(({ name }) => name === 'postgres'))(
  'any of two nodes',
  (backend) => {
    let database: Awaited<ReturnType<typeof backend.createDatabase>>
    let nodes: readonly ServerProcess[] = []
    let proxies: readonly DatabaseProxy[] = []

    beforeAll(async () => {
      database = await backend.createDatabase()
      const proxyOf = () => DatabaseProxy.start(() => new URL(database.url as string))
      proxies = [await proxyOf(), await proxyOf()]
      const [first, second] = proxies as [DatabaseProxy, DatabaseProxy]
      const options = {
        ...sharedTokens,
        env: {
          HERMOD_CHECK_ANSWERS: 'on',
          ...sharedKey,
          HERMOD_DEVICES_PER_USER: `${devicesPerUser}`,
        },
      }
      nodes = [
        await startServer({ ...options, databaseUrl: first.url }),
        await startServer({ ...options, databaseUrl: second.url }),
      ]
      for (const proxy of proxies) proxy.cutBus()
    })

    afterAll(async () => {
      for (const node of nodes) await node[Symbol.asyncDispose]()
      for (const proxy of proxies) await proxy[Symbol.asyncDispose]()
      await database?.[Symbol.asyncDispose]()
    })

    /** An application of its own as each of the nodes serves it. */
    async function places(): Promise<readonly [Place, Place]> {
      const [first] = nodes as readonly [ServerProcess]
      const { data } = await first.api
        .as(sharedTokens.operatorToken)
        .succeed('POST', '/operator/v1/app/create', { body: {} })
      const apis = nodes.map(
        ({ api }) => new Api({ ...api.options, appId: data.app_id, adminToken: data.admin_token }),
      ) as [Api, Api]
      const users = await Promise.all([1, 2, 3].map(() => apis[0].newSession()))
      const [owner, bob, carol] = users as [Session, Session, Session]
      const groupId = await aGroup(owner, { members: [bob, carol] })
      return nodes.map((node, index) => {
        const api = apis[index] as Api
        const on = (user: Session) => ({ ...user, api: api.as(user.token) })
        return { node, api, owner: on(owner), bob: on(bob), carol: on(carol), groupId }
      }) as unknown as [Place, Place]
    }

    it.concurrent.each(rights)('$what: begin at once, and end within a second', async (right) => {
      const [here, there] = await places()
      await right.give(here)
      // Both nodes have just read what they grant.
      expect([await right.isGranted(here), await right.isGranted(there)]).toEqual([true, true])
      await right.take(here)
      for (const node of [there, here])
        await waitFor(async () => !(await right.isGranted(node)), {
          what: `the end of ${right.what}`,
          timeoutMs: endsWithinMs,
        })
      // And what they refuse.
      expect(await right.isGranted(there)).toBe(false)
      await right.give(here)
      expect(await right.isGranted(there)).toBe(true)
    })

    it('a widened Admin token: reaches more on every node at once', async () => {
      const [first, second] = nodes as readonly [ServerProcess, ServerProcess]
      const made = await scopedToken(first, ['push'])
      const list = () => second.api.as(made.token).call('GET', '/user/list')
      await expectCode(list(), 'no_permission')
      await setScopes(first, made, ['push', 'users:read'])
      await expectCode(list(), 'ok')
    })

    it('a call over a socket: is not refused by what the node knew before', async () => {
      const [here, there] = await places()
      using client = await GatewayClient.connect(there.node.url)
      await client.open({ appId: there.api.options.appId, accessToken: there.bob.token })
      const sendOverSocket = () =>
        client.call('message.send', { ...textTo([there.groupId], 'hello'), type: 2 })
      await expectCode(ban(here.owner.api, here.groupId, here.bob), 'ok')
      await expectCode(sendOverSocket(), 'member_banned')
      await unban(here.owner.api, here.groupId, here.bob)
      await expectCode(sendOverSocket(), 'ok')
    })

    it('a report of a push: finds the device to which another node has tied the token', async () => {
      const [here, there] = await places()
      const report = async () =>
        (await there.bob.api.call('POST', '/push/report', { body: { task_id: 1 } })).envelope
          .message
      expect(await report()).toContain('has no device')
      using client = await GatewayClient.connect(here.node.url)
      const { appId } = here.api.options
      await client.open({ appId, accessToken: here.bob.token, deviceGuid: 'phone' })
      expect(await report()).toContain('none of this ID is for this device')
    })

    it.concurrent.each(limits)(
      '$what: is exact for calls of both nodes at once',
      async (limited) => {
        const [here, there] = await places()
        const { api, bob } = here
        await operate(here, 'app/update', { settings: limited.settings })
        const people = await api.addUsers(
          Array.from({ length: limited.needsUsers ? attempts : 0 }, (_, index) => `guest_${index}`),
        )
        const groupId = await aGroup(bob)
        const calls = Array.from({ length: attempts }, (_, index) => {
          const place = { ...(index % 2 === 0 ? here : there), groupId }
          return limited.attempt(place, { index, userId: people[index]?.id ?? 0 })
        })
        const granted = (await Promise.all(calls)).filter(({ code }) => code === answerCode.ok)
        expect(granted).toHaveLength(limited.granted)
      },
    )

    it('devices of a user: logins on both nodes at once keep the limit', async () => {
      const [here, there] = await places()
      const logins = Array.from({ length: attempts }, (_, index) =>
        (index % 2 === 0 ? here : there).api.admin().succeed('POST', '/token/issue', {
          body: { user_id: here.bob.id, device_guid: `device ${index}` },
        }),
      )
      await Promise.all(logins)
      const { data } = await there.bob.api.succeed('GET', '/user/device/list')
      expect(data).toHaveLength(devicesPerUser)
    })

    it.each(['without the bus', 'with the bus'])(
      'a balancer that takes another node for each call: no call is refused %s',
      async (how) => {
        if (how === 'with the bus') for (const proxy of proxies) proxy.mend()
        const api = roundRobin(nodes.map((node) => node.api))
        const operator = api.as(sharedTokens.operatorToken)
        const app = { app_id: `app-${++names}` }
        const { data: made } = await operator.succeed('POST', '/operator/v1/app/create', {
          body: app,
        })
        const own = roundRobin(
          nodes.map(
            ({ api: each }) =>
              new Api({ ...each.options, appId: app.app_id, adminToken: made.admin_token }),
          ),
        )
        for (let round = 0; round < 3; round++) {
          const { data: registered } = await own.succeed('POST', '/user/register/v2', {
            body: { username: `alice_${round}`, password: 'correct horse' },
          })
          const alice = await own.login({
            id: registered.user_id,
            username: `alice_${round}`,
            password: 'correct horse',
          })
          const { data: bob } = await own.admin().succeed('POST', '/token/issue', {
            body: { issuer: 'app', subject: `bob ${round}`, create: {} },
          })
          const bobApi = own.as(bob.token)
          const groupId = await aGroup(alice, { members: [{ id: bob.user_id }] })
          await sendText(bobApi, alice.id, 'direct')
          const toTheGroup = async () =>
            expectCode(send(bobApi, { ...textTo([groupId], 'hello'), type: 2 }), 'ok')
          await toTheGroup()
          await ban(alice.api, groupId, bob.user_id)
          await unban(alice.api, groupId, bob.user_id)
          await toTheGroup()
          await groupCall(alice.api, '/group/settings', groupId, { name: `Group ${round}` })
          await groupCall(alice.api, '/group/admin/add', groupId, { user_list: [bob.user_id] })
          await operator.succeed('POST', '/operator/v1/app/update', {
            body: { ...app, settings: { recall_seconds: 100 + round } },
          })
          const { data: token } = await operator.succeed('POST', '/operator/v1/token/create', {
            body: { ...app, name: `token ${round}`, scopes: ['users:read'] },
          })
          await own.as(token.token).succeed('GET', '/user/list')
          await expectCode(recall(bobApi, alice.id, await sendText(bobApi, alice.id, 'oops')), 'ok')
          expect(await contents(alice.api, groupId)).toHaveLength(2)
          expect((await history(alice.api, bob.user_id)).length).toBeGreaterThan(0)
        }
        expect(await integrityFaults(nodes[0] as ServerProcess)).toEqual([])
      },
    )
  },
)

/** Limits of calls, which nodes divide and add up with each heartbeat. */
if (isFullRun)
  describe.each(testBackends().filter(({ name }) => name === 'postgres'))(
    'limits of two nodes',
    (backend) => {
      const perSecond = 50
      let database: Awaited<ReturnType<typeof backend.createDatabase>>
      let nodes: readonly ServerProcess[] = []

      beforeAll(async () => {
        database = await backend.createDatabase()
        const options = {
          ...sharedTokens,
          databaseUrl: database.url as string,
          env: {
            ...sharedKey,
            HERMOD_RATE_LIMIT: 'on',
            HERMOD_APP_RATE: `${perSecond}`,
            HERMOD_APP_BURST: `${perSecond}`,
            HERMOD_USER_RATE: '100000',
            HERMOD_USER_BURST: '100000',
            HERMOD_ADDRESS_RATE: '100000',
            HERMOD_ADDRESS_BURST: '100000',
            HERMOD_LOGIN_USER_FAILURES: '6',
          },
        }
        const first = await startServer(options)
        nodes = [first, await startServer(options)]
      })

      afterAll(async () => {
        for (const node of nodes) await node[Symbol.asyncDispose]()
        await database?.[Symbol.asyncDispose]()
      })

      it('failed logins: those of one node count on the other', async () => {
        const [first, second] = nodes as readonly [ServerProcess, ServerProcess]
        const { id, password } = await first.api.register()
        const login = ({ api }: ServerProcess, text: string) =>
          api.call('POST', '/token/id', { body: { user_id: id, password: text } })
        for (const node of [first, second])
          for (let attempt = 0; attempt < 3; attempt++)
            await expectCode(login(node, 'wrong password'), 'password_incorrect')
        await waitFor(
          async () => (await login(second, 'wrong password')).code === answerCode.too_many_requests,
          { what: 'the failures of the other node', timeoutMs: 15_000, everyMs: 3_000 },
        )
        await waitFor(async () => (await login(second, password)).code === answerCode.ok, {
          what: 'the end of the wait',
          timeoutMs: 60_000,
          everyMs: 1_000,
        })
      })

      it('an application: all nodes together let through no more than its limit', async () => {
        const users = await Promise.all(
          Array.from({ length: 8 }, () => (nodes[0] as ServerProcess).api.newSession()),
        )
        /** Calls for some seconds at three times the limit on one node, and once on the other. */
        const grantedIn = async (seconds: number) => {
          const end = performance.now() + seconds * 1_000
          let granted = 0
          const callers = users.map(async ({ token }, index) => {
            const { api } = nodes[index % 4 === 0 ? 1 : 0] as ServerProcess
            while (performance.now() < end) {
              if ((await api.as(token).call('GET', '/user/profile')).code === answerCode.ok)
                granted++
              await sleep(20)
            }
          })
          await Promise.all(callers)
          return granted / seconds
        }
        await grantedIn(16)
        const granted = await grantedIn(10)
        expect(granted).toBeLessThan(perSecond * 1.15)
        expect(granted).toBeGreaterThan(perSecond * 0.8)
      })
    },
  )
