import { createServer } from 'node:http'
import { createServer as createTcpServer, type AddressInfo, type Server } from 'node:net'
import { waitFor } from '@hermod/testkit'
import type { WebSocket } from 'ws'
import { describe, expect, it } from 'vitest'
import { memoryStore } from '../src/stores/memory-store.js'
import { BadServer, CuttingServer, openAnswer } from './support/bad-server.js'
import { fastClock, TestLeader } from './support/test-leader.js'

const timeoutMs = 10_000

const isOpen = ({ live }: TestLeader) => live.connection.state === 'syncing'

async function untilOpen(client: TestLeader): Promise<void> {
  await waitFor(() => isOpen(client), { what: 'an open session', timeoutMs })
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe('a client on the ports of Node', () => {
  it('opens a session and ends it without leaving anything behind', async () => {
    const opens: Record<string, unknown>[] = []
    await using server = await BadServer.start(({ op, data }, socket) => {
      if (op !== 'session.open') return
      opens.push(data)
      socket.send(openAnswer())
    })
    using client = new TestLeader({ url: server.url })
    client.leader.connect()
    await untilOpen(client)
    expect(opens).toMatchObject([{ app_id: 'app', access_token: 'token', platform: 0 }])
    client.leader.disconnect()
    expect(client.states).toEqual(['idle', 'connecting', 'syncing', 'idle'])
  })

  it('comes back after a server that is cut at any byte of the handshake and its frames', async () => {
    const frames = [openAnswer(), '{"event":"unknown","data":{}}']
    const size = CuttingServer.sizeOf(frames)
    let cut = -1
    await using server = await CuttingServer.start(() => (++cut < size ? cut : undefined), frames)
    using client = new TestLeader({
      url: server.url,
      clock: { ...fastClock(20), random: () => 0 },
    })
    client.leader.connect()
    await waitFor(() => cut >= size && isOpen(client), {
      what: 'the end of the cuts',
      timeoutMs: 60_000,
    })
    expect(client.errors).toEqual([])
    expect(client.connections).toBe(size + 1)
  })

  const faults: Record<string, (socket: WebSocket) => void> = {
    'sends no JSON': (socket) => socket.send('{"id":'),
    'sends bytes': (socket) => socket.send(Buffer.from('{}')),
    'sends an array': (socket) => socket.send('[]'),
    'answers nonsense': (socket) => socket.send('{"id":"open","code":200,"data":7}'),
    'sends a frame of 17 MiB': (socket) => socket.send(' '.repeat(17 * 1024 * 1024)),
    'closes with an unknown code': (socket) => socket.close(4321),
    'closes with 1011': (socket) => socket.close(1011),
    'is cut': (socket) => socket.terminate(),
    'never answers': () => {},
  }
  it.each(Object.entries(faults))('comes back after a server that %s', async (_, fault) => {
    await using server = await BadServer.start((_frame, socket, connection) => {
      if (connection < 3) fault(socket)
      else socket.send(openAnswer())
    })
    using client = new TestLeader({ url: server.url, clock: fastClock(100) })
    client.leader.connect()
    await untilOpen(client)
    expect(client.connections).toBe(3)
    expect(client.states).toEqual(['idle', 'connecting', 'offline', 'syncing'])
    expect(client.errors).toEqual([])
  })

  it('keeps a connection with unknown events, members and answers', async () => {
    await using server = await BadServer.start((frame, socket) => {
      if (frame.op === 'session.open') {
        socket.send(openAnswer({ new_member: [1] }))
        socket.send('{"event":"future.event","data":{"x":1},"more":true}')
        socket.send('{"id":99,"code":200,"data":null}')
        socket.send('{"id":"99","code":200,"data":null}')
        socket.send('{"something":"else"}')
      } else {
        const answer = JSON.stringify({ id: frame.id, code: 200, data: 1, extra: 2 })
        socket.send(answer)
        socket.send(answer)
      }
    })
    const events: string[] = []
    using client = new TestLeader({
      url: server.url,
      onEvent: ({ kind }) => events.push(kind),
    })
    client.leader.connect()
    await untilOpen(client)
    client.leader.execute('c', { type: 'call', op: 'future.operation', data: {} })
    await waitFor(() => client.outcomes.has('c'), { what: 'the answer', timeoutMs })
    expect(client.outcomes.get('c')).toEqual({ type: 'result', value: { data: 1, extra: 2 } })
    expect(events).toContain('future.event')
    expect(client.connections).toBe(1)
  })

  it('names the error of an older server that has not the operation', async () => {
    await using server = await BadServer.start(({ id, op }, socket) => {
      const failure = { code: 40_401, name: 'operation_unknown', message: op, retry: false }
      socket.send(
        op === 'session.open' ? openAnswer() : JSON.stringify({ id, data: null, ...failure }),
      )
    })
    using client = new TestLeader({ url: server.url })
    client.leader.connect()
    await untilOpen(client)
    client.leader.execute('c', { type: 'call', op: 'message.history', data: {} })
    await waitFor(() => client.outcomes.has('c'), { what: 'the answer', timeoutMs })
    expect(client.outcomes.get('c')).toMatchObject({
      type: 'failure',
      failure: { name: 'operation_unknown' },
    })
  })

  it('replaces a connection that is silent after a wakeup, and one without heartbeats', async () => {
    await using server = await BadServer.start(({ op }, socket) => {
      if (op === 'session.open') socket.send(openAnswer())
    })
    let wake = () => {}
    using client = new TestLeader({
      url: server.url,
      clock: fastClock(100),
      ports: {
        wakeups: {
          listen(listener) {
            wake = listener
            return () => {}
          },
        },
      },
    })
    client.leader.connect()
    await untilOpen(client)
    wake()
    await waitFor(() => client.connections === 2 && isOpen(client), {
      what: 'a new connection',
      timeoutMs,
    })
    await waitFor(() => client.connections > 2, { what: 'the end of the silence', timeoutMs })
    expect(client.errors).toEqual([])
  })

  it.each([200, 403, 404, 503])('tries again after HTTP %i at the handshake', async (status) => {
    const server = createServer((_, response) => response.writeHead(status).end('no'))
    server.on('upgrade', (_, socket) => {
      socket.on('error', () => {}).end(`HTTP/1.1 ${status} x\r\n\r\n`)
    })
    const url = await listening(server)
    using client = new TestLeader({ url, clock: fastClock(100) })
    client.leader.connect()
    await waitFor(() => client.connections > 3, { what: 'tries', timeoutMs })
    expect(client.live.connection).toMatchObject({ state: 'offline' })
    client.leader.disconnect()
    server.close()
  })

  it('tries again when a server accepts connections and says nothing', async () => {
    const server = createTcpServer((socket) => socket.on('error', () => {}))
    const url = await listening(server)
    using client = new TestLeader({ url, clock: fastClock(200) })
    client.leader.connect()
    await waitFor(() => client.connections > 2, { what: 'tries', timeoutMs })
    client.leader.disconnect()
    server.close()
  })

  it('survives a token function that throws, rejects, gives nonsense and never settles', async () => {
    await using server = await BadServer.start((_, socket) => socket.send(openAnswer()))
    let asked = 0
    const signals: AbortSignal[] = []
    using client = new TestLeader({
      url: server.url,
      clock: fastClock(500),
      token: ({ signal }) => {
        signals.push(signal)
        switch (++asked) {
          case 1:
            throw new Error('thrown')
          case 2:
            return Promise.reject(new Error('rejected'))
          case 3:
            return undefined as never
          case 4:
            return new Promise<string>(() => {})
          default:
            return 'token'
        }
      },
    })
    client.leader.connect()
    await untilOpen(client)
    expect(signals.map(({ aborted }) => aborted).slice(3)).toEqual([true, false])
    expect(client.errors).toEqual([])
  })

  it('survives listeners and ports that throw', async () => {
    await using server = await BadServer.start(({ op }, socket) => {
      if (op !== 'session.open') return
      socket.send(openAnswer())
      socket.send('{"event":"future.event","data":{}}')
    })
    using client = new TestLeader({
      url: server.url,
      onEvent: () => {
        throw new Error('listener')
      },
    })
    client.leader.connect()
    await waitFor(() => client.errors.length > 0, { what: 'the report', timeoutMs })
    expect(client.errors).toEqual([new Error('listener')])
    expect(isOpen(client)).toBe(true)
  })

  it('stops when its store fails, and says why', async () => {
    await using server = await BadServer.start((_, socket) => socket.send(openAnswer()))
    const store = memoryStore()
    store.apply = () => Promise.reject(new Error('disk'))
    using client = new TestLeader({ url: server.url, store })
    client.leader.connect()
    await waitFor(() => client.failures.length > 0, { what: 'the failure', timeoutMs })
    expect(client.failures).toEqual(['unavailable'])
    expect(client.live.connection.state).toBe('idle')
  })
})
