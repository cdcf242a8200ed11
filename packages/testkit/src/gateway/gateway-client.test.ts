import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type WebSocket, WebSocketServer } from 'ws'
import { stringifyExactJson } from '../exact-json.js'
import { GatewayClient, type GatewayClientOptions, HandshakeRefused } from './gateway-client.js'

const opening = { appId: 'test', accessToken: 'hmu_test' }
let server: WebSocketServer
let peer: WebSocket
let received: string[]

beforeEach(async () => {
  server = new WebSocketServer({ host: '127.0.0.1', port: 0, path: '/gateway' })
  received = []
  server.on('connection', (socket) => {
    peer = socket
    socket.on('message', (data) => received.push(String(data)))
  })
  await once(server, 'listening')
})

afterEach(() => {
  for (const socket of server.clients) socket.terminate()
  server.close()
})

const url = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const connect = (options?: GatewayClientOptions) =>
  GatewayClient.connect(url(), { checksFrames: false, ...options })

/** Sends frames in one write, so that the client reads them together. */
async function push(...frames: readonly object[]): Promise<void> {
  const socket = (peer as unknown as { _socket: { cork(): void; uncork(): void } })._socket
  socket.cork()
  for (const frame of frames) peer.send(stringifyExactJson(frame))
  socket.uncork()
}

/** Opens a session that the server answers with `data`, followed by frames in the same write. */
async function opened(client: GatewayClient, data: object, ...frames: readonly object[]) {
  const before = received.length
  const answer = client.open(opening)
  while (received.length === before) await once(peer, 'message')
  const { id } = JSON.parse(received.at(-1) ?? '')
  await push({ id, code: 200, message: null, data }, ...frames)
  return answer
}

describe('the client of the gateway', () => {
  it('returns the answer to its call, and sends and reads IDs beyond 2^53 exactly', async () => {
    using client = await connect()
    peer.once('message', () => push({ id: 1, code: 200, message: null, data: 2n ** 62n }))
    const answer = await client.call('user.profile.get', { user_id: 2n ** 62n }, { userId: 7 })
    expect(answer.data).toBe(2n ** 62n)
    expect(received[0]).toContain('"data":{"user_id":4611686018427387904},"user_id":7}')
  })

  it('returns events in order, each once', async () => {
    using client = await connect()
    const events = [1, 2, 3].map((change) => ({ event: 'message.stored', data: {}, change }))
    await push({ event: 'typing', data: {} }, ...events)
    expect(await client.next('message.stored')).toMatchObject({ change: 1 })
    expect(await client.next(({ change }) => change === 3)).toMatchObject({ change: 3 })
    await expect(client.next('typing', { timeoutMs: 20 })).rejects.toThrow('typing: not within')
    expect(client.events).toHaveLength(4)
  })

  it('keeps the pos of frames while its session is current', async () => {
    using client = await connect()
    await opened(client, { sync: 'current', pos: 'a' })
    await push({ pos: 'b' }, { event: 'typing', data: {} })
    await client.next('typing')
    expect(client.cursor).toMatchObject({ pos: 'b', isCurrent: true })
  })

  it('ignores the pos of frames that arrive together with an answer that is not current', async () => {
    using client = await connect()
    await opened(client, { sync: 'needed' }, { pos: 'b' })
    expect(client.cursor).toMatchObject({ pos: '', isCurrent: false })
  })

  it('syncs again when the server asks for it during a sync', async () => {
    using client = await connect()
    await opened(client, { sync: 'current', pos: 'a' }, { event: 'sync.needed' })
    const starts: string[] = []
    await client.cursor.sync(async (pos) => {
      starts.push(pos)
      if (starts.length > 1) return 'c'
      await push({ event: 'sync.needed' }, { pos: 'x' })
      await client.next(({ pos }) => pos === 'x')
      return 'b'
    })
    expect(starts).toEqual(['a', 'b'])
    expect(client.cursor).toMatchObject({ pos: 'c', isCurrent: true })
  })

  it('counts pings, and answers them unless that is switched off', async () => {
    using answering = await connect()
    peer.ping()
    await once(peer, 'pong')
    expect(answering.pings).toBe(1)
    using silent = await connect({ answersPings: false })
    let pongs = 0
    peer.on('pong', () => pongs++)
    peer.ping()
    await push({})
    await silent.next(() => true)
    await silent.close()
    expect([silent.pings, pongs]).toEqual([1, 0])
  })

  it('reports the close code and reason, and fails calls that are unanswered', async () => {
    using client = await connect()
    const call = client.call('user.profile.get')
    call.catch(() => {})
    peer.close(4501, 'kicked')
    expect(await client.closed()).toEqual({ code: 4501, reason: 'kicked' })
    await expect(call).rejects.toThrow('user.profile.get: the connection ended with 4501 kicked')
  })

  it('reports the status of a refused handshake', async () => {
    await expect(GatewayClient.connect(`${url()}/other`)).rejects.toEqual(new HandshakeRefused(400))
  })

  it('is cut after any byte, inside a frame too', async () => {
    using client = await connect()
    const frame = { event: 'typing', data: {} }
    const frameBytes = 2 + JSON.stringify(frame).length
    client.cutAfter(2 * frameBytes + 5)
    await push(frame, frame, frame)
    expect(await client.closed()).toEqual({ code: 1006, reason: '' })
    expect(client.events).toHaveLength(2)
  })

  it('fails at frames that break the contract', async () => {
    const wrong = [
      [{ event: 'nonsense', data: {} }, 'nonsense is no kind of event'],
      [
        { event: 'presence', data: { users: [{ user_id: 1 }] } },
        'presence.data.users[0].online is missing',
      ],
      [
        { event: 'presence', data: { users: [], more: 1 } },
        'presence.data.more is not in the contract',
      ],
      [{ pos: 7 }, 'heartbeat.pos is no string'],
      [{ id: 'x', code: 10008, data: null, message: 'no' }, 'failure.name is missing'],
    ] as const
    for (const [frame, fault] of wrong) {
      using client = await connect({ checksFrames: true })
      await push(frame)
      await expect(client.next(() => true)).rejects.toThrow(fault)
    }
    using client = await connect({ checksFrames: true })
    await push(
      { event: 'sync.needed' },
      {},
      { pos: 'a' },
      { event: 'presence', data: { users: [] } },
    )
    expect(await client.next('presence')).toMatchObject({ data: { users: [] } })
  })

  it('reads nothing while it is paused', async () => {
    using client = await connect()
    client.pause()
    await push({ event: 'typing', data: {} })
    await expect(client.next('typing', { timeoutMs: 50 })).rejects.toThrow('not within')
    client.resume()
    await client.next('typing')
  })
})
