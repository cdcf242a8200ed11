/** A gateway that plays prepared events as fast as its client reads them, so that only the client is measured. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'

/** The user of the client. */
export const replayUserId = 1_000_001

const epoch = '00000000-0000-4000-8000-000000000001'
const opened = {
  session_id: 1,
  user_id: replayUserId,
  device_sn: 1,
  epoch,
  server_time: Date.now(),
  ping_ms: 25_000,
  max_frame: 1_052_672,
  max_in_flight: 16,
  transaction_ttl_ms: 86_400_000,
  sync: 'needed',
}

/** The end of the list of logs: one direct conversation with each of some users, all empty. */
function synced(users: number) {
  const heads = Array.from({ length: users }, (_, index) => ({
    log: conversationOf(index),
    kind: 'direct',
    change: 0,
    seq: 0,
    unread: 0,
    read_seq: 0,
    delivered_seq: 0,
    peer_read_seq: 0,
    peer_delivered_seq: 0,
    latest_msg_id: 0,
    hidden_msg_id: 0,
    changes: [],
    messages: [],
  }))
  return { epoch, pos: 'start', list: true, more: false, heads, user: [], gone: [] }
}

function conversationOf(user: number) {
  return { low_id: replayUserId, high_id: replayUserId + 1 + user, is_group: false }
}

export class ReplayGateway implements AsyncDisposable {
  readonly url: string
  readonly #server: WebSocketServer
  readonly #close: () => void

  private constructor(server: WebSocketServer, port: number, close: () => void) {
    this.#server = server
    this.#close = close
    this.url = `http://127.0.0.1:${port}`
  }

  /** @param users other users, each with a conversation */
  static async start(users: number): Promise<ReplayGateway> {
    const http = createServer((_, response) => response.writeHead(404).end())
    const server = new WebSocketServer({ server: http, path: '/gateway' })
    server.on('connection', (socket) => {
      socket.on('message', (text) => answer(socket, JSON.parse(String(text)), synced(users)))
    })
    http.listen(0, '127.0.0.1')
    await once(http, 'listening')
    const close = () => {
      http.closeAllConnections()
      http.close()
    }
    return new ReplayGateway(server, (http.address() as AddressInfo).port, close)
  }

  /** Sends frames to every client. */
  play(frames: readonly string[]): void {
    for (const client of this.#server.clients) for (const frame of frames) client.send(frame)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#server.clients) client.terminate()
    this.#server.close()
    this.#close()
  }
}

function answer(
  socket: WebSocket,
  { id, op }: { readonly id: unknown; readonly op: string },
  page: object,
): void {
  const known = { 'session.open': opened, 'message.sync': page }[op]
  const envelope = known
    ? { code: 200, data: known, message: null }
    : { code: 50100, data: null, message: 'not a part of the replay', retry: false }
  socket.send(JSON.stringify({ id, ...envelope }))
}

/**
 * Returns frames of new messages from several users in turn, the last one with a position.
 * @param bytes length of each text
 */
export function messageFrames(messages: number, users: number, bytes: number): string[] {
  const begun = Date.now()
  return Array.from({ length: messages }, (_, index) => {
    const conversation = conversationOf(index % users)
    const seq = 1 + Math.floor(index / users)
    const data = {
      conversation,
      msg_id: 2_000_000 + index,
      seq,
      sender_id: conversation.high_id,
      sender_device_sn: 1,
      content_type: 0,
      content: `${index} `.padEnd(bytes, 'x'),
      attachment: '',
      config: '',
      ext: '',
      is_system: false,
      timestamp: begun + index,
      edit_timestamp: 0,
    }
    const pos = index === messages - 1 ? { pos: 'end' } : {}
    return JSON.stringify({ event: 'message.stored', data, change: seq, ...pos })
  })
}
