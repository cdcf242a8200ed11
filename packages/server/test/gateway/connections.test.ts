/**
 * Connections of the gateway on a server without operations: their time, their calls, floods,
 * bounds and a stop.
 */
import { AppError } from '@hermod/protocol'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import {
  type Client,
  largeAnswer,
  success,
  turns,
  until,
  World,
} from '../support/gateway/gateway-world.js'

let world: World

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
})

afterEach(async () => {
  vi.useRealTimers()
  await world[Symbol.asyncDispose]()
})

describe('the time of connections', () => {
  it('has a ping and the frame of delivery once in an interval, spread over it', async () => {
    world = await new World().listen()
    const clients: Client[] = []
    for (let i = 0; i < 20; i++) clients.push(await world.open())
    await world.pass(12_500)
    const early = clients.filter(({ pings }) => pings === 1).length
    expect(early).toBeGreaterThan(5)
    expect(early).toBeLessThan(15)
    await world.pass(12_500)
    expect(clients.map(({ pings }) => pings)).toEqual(clients.map(() => 1))
    expect(clients.map(({ frames }) => frames)).toEqual(clients.map(() => [{ pos: 'here' }]))
  })

  it('closes a connection without session.open after 5 s', async () => {
    world = await new World().listen()
    const client = (await world.connect()) as Client
    await world.pass(4_750)
    expect(client.frames).toEqual([])
    await world.pass(500)
    await client.closedWith(4508)
    expect(world.left).toEqual([])
  })

  it('closes a session from which no byte has come for two intervals and 10 s', async () => {
    world = await new World().listen()
    const silent = await world.open({ autoPong: false })
    const answering = await world.open()
    await world.pass(60_000)
    expect(silent.closeCode).toBe(null)
    await world.pass(25_250)
    await silent.closedWith(4002)
    expect(answering.closeCode).toBe(null)
    expect(world.left).toHaveLength(1)
  })

  it('closes a session whose token has expired', async () => {
    world = await new World().listen()
    world.expiresAt = 1_000
    const client = await world.open()
    world.now = 999
    await world.pass(25_000)
    expect(client.closeCode).toBe(null)
    world.now = 1_000
    await world.pass(25_250)
    await client.closedWith(4003)
    expect(client.closing?.data).toMatchObject({ code: 4003 })
  })

  it('closes a session whose token was refused in a call, after the answer', async () => {
    world = await new World().listen()
    const client = await world.open()
    client.call(1)
    await client.until(() => world.running.length === 1)
    world.running[0]?.(new AppError('token_expired'))
    await client.until(() => client.frames.length === 1)
    expect(client.frames[0]).toMatchObject({ id: 1, code: answerCode.token_expired, retry: false })
    await world.pass(25_250)
    await client.closedWith(4502)
  })

  it.each([
    ['expired', 4003],
    ['revoked', 4502],
    ['narrowed', 4502],
  ] as const)(
    'closes a session whose Admin token is %s within a second, with %i',
    async (after, code) => {
      world = await new World().listen()
      world.adminToken = 'valid'
      const client = await world.open()
      await world.pass(25_250)
      expect([client.pings, client.closeCode]).toEqual([1, null])
      world.adminToken = after
      await world.pass(1_250)
      await client.closedWith(code)
    },
  )

  it('closes the sessions of a disabled application within a second', async () => {
    world = await new World().listen()
    const clients = [await world.open(), await world.open()]
    await world.pass(1_250)
    expect(clients.map(({ closeCode }) => closeCode)).toEqual([null, null])
    world.isAppDisabled = true
    await world.pass(1_250)
    for (const client of clients) await client.closedWith(4506)
  })

  it.each(['expired', null] as const)(
    'closes a session whose user token a login has ended without an event (%s)',
    async (after) => {
      world = await new World().listen()
      const client = await world.open()
      await world.pass(25_250)
      expect([client.pings, client.closeCode]).toEqual([1, null])
      world.userToken = after
      await world.pass(25_250)
      await world.pass(25_250)
      await client.closedWith(4502)
    },
  )

  it('closes a session that takes no byte of its answers', async () => {
    world = await new World().listen()
    const client = await world.open()
    client.websocket.pause()
    client.call(1)
    await client.until(() => world.running.length === 1)
    world.running[0]?.(largeAnswer)
    // Twice 15 s, and a second for each 64 KiB.
    await world.pass(30_000 + 16_000_000 / 65.536)
    expect(world.left).toEqual([])
    await world.pass(10_000)
    expect(world.left).toHaveLength(1)
    client.websocket.resume()
    await client.closedWith(4001)
  })

  it('closes a frame that stops in the middle', async () => {
    world = await new World().listen()
    const client = await world.open()
    client.websocket.send(`{"id":1,"data":"${'x'.repeat(200_000)}`, { fin: false })
    await client.until(() => world.bodyBytes > 200_000)
    // The pong of a heartbeat may be the last byte.
    await world.pass(41_000)
    await client.closedWith(4002)
    expect(world.bodyBytes).toBe(0)
  })
})

describe('the end of a connection', () => {
  it('comes a second after that of its client, which does not read', async () => {
    vi.useFakeTimers({
      toFake: ['setInterval', 'clearInterval', 'performance', 'setTimeout', 'clearTimeout'],
    })
    world = await new World().listen()
    using raw = await world.rawSession()
    raw.pause()
    raw.call(1, 'user.device.list')
    await until(() => world.running.length === 1)
    world.running[0]?.(largeAnswer)
    await turns()
    raw.end()
    await until(() => world.left.length === 1)
    vi.advanceTimersByTime(900)
    await turns()
    expect(world.closed).toEqual([])
    vi.advanceTimersByTime(100)
    await until(() => world.closed.length === 1)
    expect(world.closed).toEqual([1006])
  })
})

describe('unfinished frames', () => {
  const begin = (client: Client, length: number) =>
    client.websocket.send('{'.padEnd(length), { fin: false })

  it('have one deadline for each 64 KiB: bytes now and then do not keep them', async () => {
    world = await new World().listen()
    const [slow, steady] = [await world.open(), await world.open()]
    for (let passed = 0; passed < 24_000; passed += 4_000) {
      begin(slow, 100)
      begin(steady, 30_000)
      await world.pass(4_000)
    }
    await slow.closedWith(4002)
    expect(steady.closeCode).toBe(null)
  })

  it('count from their first read on, until they end or their connection does', async () => {
    world = await new World().listen()
    const client = await world.open()
    for (const isLast of [true, false]) {
      begin(client, 10)
      await client.until(() => world.bodyBytes > 300)
      expect(world.bodyBytes).toBeLessThan(1_000)
      if (isLast) client.websocket.send('}')
      else client.websocket.terminate()
      await client.until(() => world.bodyBytes === 0)
    }
  })

  it('of one user take at most 8 MiB, over all sessions', async () => {
    world = await new World().listen()
    const clients: Client[] = []
    for (let count = 0; count < 9; count++) {
      const client = await world.open()
      clients.push(client)
      begin(client, 1_000_000)
      await client.until(
        () => client.closeCode !== null || world.bodyBytes > (count + 1) * 1_000_000,
      )
    }
    expect(clients.map(({ closeCode }) => closeCode)).toEqual([...Array(8).fill(null), 4004])
    clients[0]?.websocket.terminate()
    await clients[1]?.until(() => world.closed.length === 2)
    const next = await world.open()
    begin(next, 1_000_000)
    await next.until(() => world.bodyBytes > 8_000_000)
    expect(next.closeCode).toBe(null)
  })
})

describe('calls of a connection', () => {
  it('run 16 at once, 64 wait, and further ones are refused and not run', async () => {
    world = await new World().listen()
    const client = await world.open()
    for (let id = 1; id <= 82; id++) client.call(id)
    await client.until(() => client.frames.length > 0)
    expect(world.running).toHaveLength(16)
    const refused = client.frames.map(({ id, code, retry, retry_after_ms }) => [
      ...[id, code, retry, retry_after_ms],
    ])
    expect(refused).toEqual([
      [81, answerCode.too_many_requests, true, 1_000],
      [82, answerCode.too_many_requests, true, 1_000],
    ])
    for (let i = 0; i < 80; i++) {
      await client.until(() => world.running.length > i)
      world.running[i]?.(success)
    }
    await client.until(() => client.frames.length === 82)
    expect(world.running).toHaveLength(80)
    expect(new Set(client.frames.map(({ id }) => id)).size).toBe(82)
  })

  it('are read again after a refused one, with the next tick', async () => {
    world = await new World().listen()
    const client = await world.open()
    for (let id = 1; id <= 81; id++) client.call(id)
    await client.until(() => client.frames.length > 0)
    for (let i = 0; i < 80; i++) {
      await client.until(() => world.running.length > i)
      world.running[i]?.(success)
    }
    client.call(100)
    await turns()
    expect(world.running).toHaveLength(80)
    await world.pass(250)
    await client.until(() => world.running.length === 81)
  })

  it('are read again a second after one that a limit of calls has refused', async () => {
    world = await new World().listen()
    const client = await world.open()
    client.call(1)
    await client.until(() => world.running.length === 1)
    world.running[0]?.(new AppError('too_many_requests'))
    await client.until(() => client.frames.length === 1)
    client.call(2)
    await world.pass(750)
    expect(world.running).toHaveLength(1)
    await world.pass(500)
    await client.until(() => world.running.length === 2)
  })

  it('do not begin while more than 64 KiB of answers are unread', async () => {
    world = await new World().listen()
    const client = await world.open()
    client.websocket.pause()
    client.call(1)
    await client.until(() => world.running.length === 1)
    world.running[0]?.(largeAnswer)
    await turns()
    client.call(2)
    await turns()
    await world.pass(500)
    expect(world.running).toHaveLength(1)
    client.websocket.resume()
    await client.until(() => client.frames.length === 1)
    await world.pass(500)
    await client.until(() => world.running.length === 2)
    expect(world.drained.length).toBeGreaterThan(0)
  })

  it('begin when answers of one turn were larger than what a client may leave unread', async () => {
    world = await new World().listen()
    const client = await world.open()
    for (let id = 1; id <= 20; id++) client.call(id)
    await client.until(() => world.running.length === 16)
    const answer = `{"code":200,"data":"${'x'.repeat(10_000)}","message":null}`
    for (const end of world.running) end(answer)
    await client.until(() => world.running.length === 20)
  })

  it('that wait when the connection closes are answered that they have not run', async () => {
    world = await new World().listen()
    const client = await world.open()
    for (let id = 1; id <= 18; id++) client.call(id)
    await client.until(() => world.running.length === 16)
    world.sessions[0]?.link.close('kicked', 'kicked')
    await client.closedWith(4501)
    expect(client.frames).toMatchObject([
      { id: 17, code: answerCode.unavailable, retry: true },
      { id: 18, code: answerCode.unavailable, retry: true },
      { event: 'session.closing' },
    ])
  })

  it('end with the connection: those that wait are not run', async () => {
    world = await new World().listen()
    const client = await world.open()
    for (let id = 1; id <= 20; id++) client.call(id)
    await client.until(() => world.running.length === 16)
    client.websocket.terminate()
    await client.until(() => world.left.length === 1)
    world.running[0]?.(success)
    await turns()
    expect(world.running).toHaveLength(16)
    expect(world.closed).toEqual([1006])
  })
})

describe('floods', () => {
  it.each(['pings', 'pongs', 'empty objects', 'unknown operations'])(
    'of %s close the connection with 4004',
    async (kind) => {
      world = await new World().listen()
      const client = await world.open()
      const sends: Record<string, () => void> = {
        pings: () => client.websocket.ping('x'),
        pongs: () => client.websocket.pong('x'),
        'empty objects': () => client.websocket.send('{}'),
        'unknown operations': () => client.call(1, 'user.nothing'),
      }
      for (let i = 0; i < 100; i++) sends[kind]?.()
      await turns()
      expect(client.closeCode).toBe(null)
      sends[kind]?.()
      await client.closedWith(4004)
    },
  )

  it.each(['frames without a call', 'unknown operations'])(
    'of long %s count by their bytes',
    async (kind) => {
      world = await new World().listen()
      const client = await world.open()
      const text = 'x'.repeat(1_000_000)
      const send = () =>
        kind === 'unknown operations'
          ? client.call(1, 'user.nothing', { text })
          : client.websocket.send(JSON.stringify({ text }))
      for (let count = 0; count < 6; count++) send()
      await turns()
      expect(client.closeCode).toBe(null)
      send()
      await client.closedWith(4004)
    },
  )

  it('of long frames without a call are paid by the address, and read slowly while it is in debt', async () => {
    world = await new World().listen()
    const client = await world.open()
    const text = 'x'.repeat(40_960)
    client.call(1, 'user.nothing', { text })
    client.websocket.send(JSON.stringify({ text }))
    client.call(2, 'user.nothing')
    await client.until(() => client.frames.length === 2)
    expect(world.paid).toEqual([10, 10])
    world.isAddressInDebt = true
    client.call(3, 'user.nothing', { text })
    await client.until(() => client.frames.length === 3)
    client.call(4)
    await world.pass(750)
    expect(world.running).toHaveLength(0)
    await world.pass(500)
    await client.until(() => world.running.length === 1)
  })

  it('of calls close the connection with 4004 after a thousand refusals', async () => {
    world = await new World().listen()
    const client = await world.open()
    for (let id = 1; id <= 80 + 1_005; id++) client.call(id)
    for (let i = 0; i < 40 && client.closeCode === null; i++) await world.pass(250)
    await client.closedWith(4004)
    expect(world.running).toHaveLength(16)
  })

  it('count anew after 10 s', async () => {
    world = await new World().listen()
    const client = await world.open()
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < 90; i++) client.websocket.send('{}')
      client.call(round)
      await client.until(() => world.running.length === round + 1)
      await world.pass(10_250)
    }
    expect(client.closeCode).toBe(null)
  })
})

describe('bounds', () => {
  it('of an address refuse with 429, and of all connections with 503', async () => {
    world = await new World({ addressConnections: 2 }).listen()
    await world.open()
    const second = await world.open()
    expect(await world.connect()).toBe(429)
    second.websocket.close()
    await second.until(() => world.closed.length === 1)
    await world.open()
    await world[Symbol.asyncDispose]()
    world = await new World({ connections: 1 }).listen()
    await world.open()
    expect(await world.connect()).toBe(503)
  })

  it('of the database: a session that it does not store is closed with 4005 and a time of its own', async () => {
    world = await new World().listen()
    world.refusal = new AppError('storage_failed', undefined, { retryAfterSeconds: 2 })
    for (let i = 0; i < 500; i++) world.openRate.opened(4)
    const clients = (await Promise.all(
      Array.from({ length: 50 }, () => world.connect()),
    )) as Client[]
    for (const client of clients) client.call(0, 'session.open')
    for (const client of clients) await client.closedWith(4005)
    const times = clients.map(({ closing }) => closing?.data?.retry_after_ms)
    expect(new Set(times).size).toBeGreaterThan(25)
    expect(clients.map(({ frames }) => frames[0]?.retry_after_ms)).toEqual(times)
  })

  it('of opens that wait: one that would wait longer than 8 s comes back when the others are through', async () => {
    world = await new World().listen()
    for (let i = 0; i < 500; i++) world.openRate.opened(4)
    world.heldOpens = []
    const clients = await Promise.all(Array.from({ length: 98 }, () => world.connect()))
    // 32 open, 65 wait: as many as take a little more than 8 s.
    for (const client of clients.slice(0, -1) as Client[]) client.call(0, 'session.open')
    await (clients[96] as Client).until(() => world.heldOpens?.length === 32)
    const late = clients[97] as Client
    late.call(0, 'session.open')
    await late.closedWith(4006)
    expect(late.frames[0]).toMatchObject({ code: answerCode.unavailable, retry: true })
    expect(late.closing?.data?.retry_after_ms).toBeGreaterThanOrEqual(1_000)
    for (let open = world.heldOpens.splice(0); open.length > 0; open = world.heldOpens.splice(0)) {
      for (const each of open) each()
      await turns()
    }
    await (clients[96] as Client).until(() => world.sessions.length === 97)
  })

  it('leave a tenth of the connections to requests', async () => {
    world = await new World({}, 20).listen()
    for (let i = 0; i < 18; i++) await world.open()
    expect(await world.connect()).toBe(503)
  })

  it('of connections without session.open: an address that has fewer takes a place at once', async () => {
    world = await new World({ unopened: 4 }).listen()
    const many: Client[] = []
    for (let i = 0; i < 4; i++) many.push((await world.connect()) as Client)
    expect(await world.connect()).toBe(503)
    await world.connect({ localAddress: '127.0.0.9' })
    await many[0]?.closedWith(4006)
    expect(many.map(({ closeCode }) => closeCode)).toEqual([4006, null, null, null])
  })

  it('of connections without session.open: the oldest gives way after a second', async () => {
    world = await new World({ unopened: 2 }).listen()
    const oldest = (await world.connect()) as Client
    await world.connect()
    expect(await world.connect()).toBe(503)
    await world.pass(1_250)
    const later = (await world.connect()) as Client
    await oldest.closedWith(4006)
    later.call(0, 'session.open')
    await later.until(() => later.frames.length === 1)
  })
})

describe('a stop', () => {
  it('gives every connection its own time to come back, and cuts those that do not answer', async () => {
    world = await new World().listen()
    const clients: Client[] = []
    for (let i = 0; i < 10; i++) clients.push(await world.open())
    const deaf = await world.open()
    deaf.websocket.pause()
    vi.useRealTimers()
    const startedAt = performance.now()
    await world.gateway.stop()
    expect(performance.now() - startedAt).toBeLessThan(5_000)
    for (const client of clients) await client.closedWith(4000)
    const times = clients.map(({ closing }) => closing?.data?.retry_after_ms ?? 0)
    expect(new Set(times).size).toBe(10)
    expect(Math.min(...times)).toBeGreaterThanOrEqual(1_000)
    expect(world.left).toHaveLength(11)
    await deaf.until(() => world.closed.length === 11)
    expect(await world.connect()).toBe(503)
  })
})
