import {
  type GatewayFrame,
  type ServerProcess,
  type Session,
  startServer,
  testPython,
  waitFor,
} from '@hermod/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { type ForeignClient, foreignClients } from '../support/realtime/foreign-clients.js'

const python = testPython(['websockets', 'aiohttp'])
const text = 'Grüße, 你好 👋'

let server: ServerProcess
let alice: Session
let bob: Session

beforeAll(async () => {
  server = await startServer({ env: { HERMOD_GATEWAY_PING_SECONDS: '1' } })
})

afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
})

beforeEach(async () => {
  ;[alice, bob] = [await server.api.newSession(), await server.api.newSession()]
})

function frame(client: ForeignClient, passes: (frame: GatewayFrame) => unknown) {
  const find = () => client.frames.find((each) => passes(each))
  return waitFor(find, { what: 'a frame', timeoutMs: 20_000 })
}

function openingOf(session: Session, members: object = {}) {
  const data = { app_id: server.appId, access_token: session.token, platform: 5, ...members }
  return { id: 'open', op: 'session.open', data: { user_agent: 'foreign', ...data } }
}

/** A connection with an open session. */
async function openAs(session: Session, client: ForeignClient): Promise<ForeignClient> {
  client.send(openingOf(session))
  const { data } = await frame(client, ({ id }) => id === 'open')
  expect(data).toMatchObject({ user_id: session.id })
  return client
}

const messageTo = (user: Session, content: string) => ({
  type: 1,
  targets: [user.id],
  content_type: 0,
  content,
})

describe.each(Object.entries(foreignClients(python)))('%s', (_, connect) => {
  it('receives what another user sends, and answers over the socket', async () => {
    using client = await openAs(bob, await connect(server.url))
    await alice.api.succeed('POST', '/message/send', { body: messageTo(bob, text) })
    const stored = await frame(client, ({ event }) => event === 'message.stored')
    expect(stored).toMatchObject({ change: 1, data: { content: text, seq: 1 } })
    client.send({ id: 7, op: 'message.send', data: messageTo(alice, 'hello back') })
    const answer = await frame(client, ({ id }) => id === 7)
    expect(answer).toMatchObject({ code: 200, data: true, message: null })
    const query = { opposite_id: bob.id, msg_id_start: 0, limit: 1 }
    const { data } = await alice.api.succeed('GET', '/message/conversation', { query })
    expect(data.messages[0]).toMatchObject({ msg_id: answer.msg_ids[0], content: 'hello back' })
  })

  it('sends a call in fragments, where the library can', async () => {
    using client = await connect(server.url)
    const opening = JSON.stringify(openingOf(bob, { sdk: text }))
    if (client.sendFragments) client.sendFragments(opening.match(/.{1,8}/gsu) ?? [])
    else client.send(JSON.parse(opening))
    expect(await frame(client, ({ id }) => id === 'open')).toMatchObject({ code: 200 })
  })

  it('pings, is pinged, and lives on', async () => {
    using client = await openAs(bob, await connect(server.url))
    await client.ping?.()
    const heartbeat = await frame(client, ({ id, event }) => id === undefined && !event)
    expect(Object.keys(heartbeat).filter((name) => name !== 'pos')).toEqual([])
    const { pings = () => 1 } = client
    await waitFor(() => pings.call(client) > 0, { what: 'a ping', timeoutMs: 20_000 })
    client.send({ id: 2, op: 'user.profile.get', data: {} })
    expect(await frame(client, ({ id }) => id === 2)).toMatchObject({ code: 200 })
  })

  it('closes, and is closed with a code and a reason', async () => {
    using leaving = await openAs(bob, await connect(server.url))
    leaving.close(1000)
    expect(await leaving.ended()).toMatchObject({ code: 1000 })
    using kicked = await openAs(bob, await connect(server.url))
    await bob.api.succeed('POST', '/user/kick')
    const closing = await frame(kicked, ({ event }) => event === 'session.closing')
    expect(closing.data).toMatchObject({ code: 4501, reason: 'kicked' })
    expect((await kicked.ended()).code).toBe(4501)
  })

  it('is refused with the error and a close code', async () => {
    using client = await connect(server.url)
    client.send(openingOf({ ...bob, token: 'hmu_wrong' }))
    expect(await frame(client, ({ id }) => id === 'open')).toMatchObject({
      code: answerCode.token_invalid,
    })
    expect((await client.ended()).code).toBe(4505)
  })
})
