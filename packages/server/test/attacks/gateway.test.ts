/** WebSockets that never open, flood, or do not read. */
import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import {
  GatewayClient,
  isFullRun,
  type ServerProcess,
  type Session,
  waitFor,
} from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import {
  Attackers,
  AttackingProcess,
  attackMs,
  costlyMessages,
  expectUnharmed,
  Honest,
  metric,
  patience,
  sessionsOf,
  shortStall,
  startAttacked,
} from '../support/attack.js'
import { clientFrame, handshakeHeaders, opcodes } from '../support/gateway/raw-gateway.js'

const { text, ping } = opcodes

/** The bytes of a handshake, as latin1 text. */
const handshake = `${[
  'GET /gateway HTTP/1.1',
  ...Object.entries(handshakeHeaders).map(([name, value]) => `${name}: ${value}`),
].join('\r\n')}\r\n\r\n`

const latin1 = (bytes: Buffer) => bytes.toString('latin1')
const callFrame = (id: number, op: string, data = {}) =>
  latin1(clientFrame(text, JSON.stringify({ id, op, data })))

/** The bytes of a handshake and session.open. */
function opening(server: ServerProcess, { token }: Session): string {
  const data = { app_id: server.appId, access_token: token }
  return handshake + callFrame(0, 'session.open', data)
}

const veryPatient = { ...patience, timeoutMs: 180_000 }

/** Connects sessions of an attacker, whose answers are read. */
async function openSessions(
  attackers: Attackers,
  server: ServerProcess,
  { user, count }: { readonly user: Session; readonly count: number },
): Promise<Socket[]> {
  const sockets = await attackers.connect(count)
  const answered = sockets.map(async (socket) => {
    let received = ''
    socket.on('data', (chunk) => {
      received = (received + chunk.toString('latin1')).slice(0, 2_000)
    })
    socket.resume()
    socket.write(opening(server, user), 'latin1')
    await waitFor(() => received.includes('session_id'), { what: 'a session', ...patience })
  })
  await Promise.all(answered)
  return sockets
}

/** Connections of the gateway that have ended with a code. */
async function gatewayClosed(server: ServerProcess, code: number): Promise<number> {
  const count = await metric(server, `hermod_gateway_closed_total{code="${code}"}`)
  return Number.isNaN(count) ? 0 : count
}

/** A call of the honest user on a session that is opened for it. */
function opensAndCalls(server: ServerProcess, user: Session) {
  return async () => {
    using client = await GatewayClient.connect(server.url)
    await client.open({ appId: server.appId, accessToken: user.token })
    const { code } = await client.call('message.unread')
    return { status: 200, text: `"code":${code}` } as never
  }
}

describe.skipIf(process.platform !== 'linux')('the gateway', () => {
  if (isFullRun)
    it('10,000 connections that never open: others open sessions and call', async () => {
      const silent = 10_000
      const unopened = 2_000
      await using server = await startAttacked()
      const honest = await Honest.on(server)
      const user = await server.api.newSession()
      using attackers = new Attackers(server.url)
      const figures = await honest.beside(
        '10,000 connections without session.open',
        async () => {
          for (let left = silent; left > 0; left -= 100)
            for (const socket of await attackers.connect(100)) socket.write(handshake)
          expect(await metric(server, 'hermod_gateway_unopened_connections')).toBeLessThanOrEqual(
            unopened,
          )
          const ended = async () => (await metric(server, 'hermod_gateway_connections')) < 10
          await waitFor(ended, { what: 'the end of those that never open', ...patience })
        },
        { sessions: opensAndCalls(server, user) },
      )
      expectUnharmed(figures)
      const gaveWay = await gatewayClosed(server, 4006)
      expect(gaveWay + (await gatewayClosed(server, 4508))).toBeGreaterThanOrEqual(unopened)
    })

  if (isFullRun)
    it('floods of pings, of empty objects and of calls: are paced or closed', async () => {
      await using server = await startAttacked()
      const honest = await Honest.on(server)
      const user = await server.api.newSession()
      const attacker = await server.api.newSession()
      using attackers = new Attackers(server.url)
      const sockets = await openSessions(attackers, server, { user: attacker, count: 32 })
      const large = callFrame(2, 'message.send', { targets: [], content: 'x'.repeat(60_000) })
      const floods = [
        latin1(clientFrame(ping, 'x')).repeat(20_000),
        latin1(clientFrame(text, '{}')).repeat(20_000),
        callFrame(1, 'message.unread').repeat(20_000),
        large.repeat(100),
      ]
      const figures = await honest.beside(
        'floods on 32 sessions',
        async () => {
          for (const [index, socket] of sockets.entries())
            socket.write(floods[index % floods.length] as string, 'latin1')
          const closed = async () => (await gatewayClosed(server, 4004)) >= 24
          await waitFor(closed, { what: 'the end of floods of small frames', ...patience })
          await pause(attackMs)
        },
        { sessions: opensAndCalls(server, user) },
      )
      expectUnharmed(figures)
      expect(
        await metric(server, 'hermod_gateway_refused_total{error="too_many_requests"}'),
      ).toBeGreaterThan(0)
    })

  if (isFullRun)
    it('sessions that ask and do not read: their bytes are bounded, and they are closed', async () => {
      await using server = await startAttacked({ env: shortStall })
      const honest = await Honest.on(server)
      const users = [await server.api.newSession(), await server.api.newSession()] as const
      const body = {
        ...{ type: 1, targets: [users[1].id], content_type: 0, content: 'x'.repeat(65_536) },
      }
      const sender = server.api.admin({ userId: users[0].id })
      await Promise.all(
        Array.from({ length: 60 }, () => sender.succeed('POST', '/message/send', { body })),
      )
      const data = { opposite_id: users[0].id, limit: 100, msg_id_start: 0 }
      const first =
        opening(server, users[1]) +
        Array.from({ length: 6 }, (_, id) => callFrame(id, 'message.conversation.get', data)).join(
          '',
        )
      const figures = await honest.beside('sessions with 6 unread pages each', async () => {
        await using _ = new AttackingProcess(server.url, Array(30).fill({ first }))
        // A large answer gets a second for each 64 KiB. Calls beyond the limit of the user have
        // short answers, which the system keeps.
        const closed = async () =>
          (await gatewayClosed(server, 4001)) > 0 &&
          (await metric(server, 'hermod_unread_answer_bytes')) === 0
        await waitFor(closed, { what: 'the end of those that do not read', ...veryPatient })
      })
      expectUnharmed(figures)
      expect(await metric(server, 'hermod_unread_answer_bytes')).toBe(0)
    }, 200_000)

  if (isFullRun)
    it('frames that never end: their memory is bounded, and the slowest are closed', async () => {
      const bound = 4_194_304
      await using server = await startAttacked({ env: { HERMOD_BODY_BYTES: `${bound}` } })
      const honest = await Honest.on(server)
      const user = await server.api.newSession()
      const frame = latin1(clientFrame(text, 'x'.repeat(900_000), { fin: false }))
      using attackers = new Attackers(server.url)
      const sockets = await openSessions(attackers, server, { user, count: 30 })
      const figures = await honest.beside('30 sessions with 900 KB of a frame', async () => {
        for (const socket of sockets) socket.write(frame, 'latin1')
        const closed = async () => (await gatewayClosed(server, 4006)) > 20
        await waitFor(closed, { what: 'the end of the slowest', ...patience })
        expect(await metric(server, 'hermod_arriving_body_bytes')).toBeLessThanOrEqual(bound)
      })
      expectUnharmed(figures)
    })

  if (isFullRun)
    it('unfinished frames in reads of one byte, on 640 sessions of 20 users: are closed', async () => {
      await using server = await startAttacked()
      const honest = await Honest.on(server)
      const users = await sessionsOf(server, 20)
      const begun = latin1(clientFrame(text, '{'.padEnd(4_000))).slice(0, 9)
      const sessions = users.flatMap((user) =>
        Array(32).fill({ first: opening(server, user) + begun, singleBytes: 3_000, reads: true }),
      )
      const figures = await honest.beside('640 sessions with reads of one byte', async () => {
        await using _ = new AttackingProcess(server.url, sessions)
        const closed = async () => (await gatewayClosed(server, 4004)) >= sessions.length
        await waitFor(closed, { what: 'the end of the sessions', ...patience })
      })
      expectUnharmed(figures)
    })

  it('frames of 1 MB of JSON on 8 sessions of one user: nearly all are refused unparsed', async () => {
    await using server = await startAttacked()
    const honest = await Honest.on(server)
    const user = await server.api.newSession()
    const frames = costlyMessages().map((data) =>
      clientFrame(text, `{"id":1,"op":"message.send","data":${data}}`),
    )
    using attackers = new Attackers(server.url)
    const sockets = await openSessions(attackers, server, { user, count: 8 })
    const figures = await honest.beside('frames of 1 MB of JSON on 8 sessions', async () => {
      const endsAt = performance.now() + attackMs
      while (performance.now() < endsAt) {
        for (const [index, socket] of sockets.entries())
          if (!socket.writableNeedDrain) socket.write(frames[index % frames.length] ?? '')
        await pause(10)
      }
    })
    expectUnharmed(figures)
  })

  it('as many connections as there may be: requests still find room', async () => {
    await using server = await startAttacked({ env: { HERMOD_CONNECTIONS: '40' } })
    const honest = await Honest.on(server)
    const user = await server.api.newSession()
    using attackers = new Attackers(server.url)
    const figures = await honest.beside('40 sessions of at most 36', async () => {
      for (let i = 0; i < 40; i++)
        for (const socket of await attackers.connect(1))
          socket.write(opening(server, user), 'latin1')
      const open = async () => (await metric(server, 'hermod_gateway_connections')) >= 30
      await waitFor(open, { what: 'sessions', ...patience })
      await pause(attackMs / 4)
    })
    expectUnharmed(figures)
    server.api.close()
    expect((await honest.send('on a new connection')).code).toBe(200)
    expect(await gatewayClosed(server, 1006)).toBe(0)
  })

  if (isFullRun)
    it('connections whose clients are gone without a word: end with 4002', async () => {
      await using server = await startAttacked({ env: { HERMOD_GATEWAY_PING_SECONDS: '2' } })
      const user = await server.api.newSession()
      using attackers = new Attackers(server.url)
      await openSessions(attackers, server, { user, count: 20 })
      const closed = async () => (await gatewayClosed(server, 4002)) === 20
      await waitFor(closed, { what: 'the end of silent connections', ...patience })
    })
})
