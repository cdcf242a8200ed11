/**
 * A gateway that plays prepared events as fast as its client reads them, so that only the client is
 * measured.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'

/** The user of the client. */
export const replayUserId = 1_000_001

interface Call {
  readonly id: unknown
  readonly op: string
  readonly data?: {
    readonly after?: string
    readonly have?: readonly { readonly log: { readonly high_id: number } }[]
  }
}

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

/** A page of sync: the list of all logs, or only those that the client names. */
function pageOf(logs: readonly number[], each: number, isList: boolean) {
  const heads = logs.map((user) => ({
    log: conversationOf(user),
    kind: 'direct',
    change: each,
    seq: each,
    unread: each,
    read_seq: 0,
    delivered_seq: 0,
    peer_read_seq: 0,
    peer_delivered_seq: 0,
    latest_msg_id: 0,
    hidden_msg_id: 0,
    from: each,
    changes: [],
  }))
  const pos = each === 0 ? 'start' : 'end'
  return { epoch, pos, list: isList, more: false, heads, user: [], gone: [] }
}

function conversationOf(user: number) {
  return { low_id: replayUserId, high_id: replayUserId + 1 + user, is_group: false }
}

/** The server of prepared events. */
export class ReplayGateway implements AsyncDisposable {
  readonly url: string
  readonly #server: WebSocketServer
  readonly #users: number
  readonly #close: () => void
  /** Messages in each conversation. */
  #played = 0

  private constructor(
    server: WebSocketServer,
    { port, users, close }: { port: number; users: number; close: () => void },
  ) {
    this.#server = server
    this.#users = users
    this.#close = close
    this.url = `http://127.0.0.1:${port}`
  }

  /** @param users other users, each with a conversation */
  static async start(users: number): Promise<ReplayGateway> {
    const http = createServer((_, response) => response.writeHead(404).end())
    const server = new WebSocketServer({ server: http, path: '/gateway' })
    server.on('connection', (socket) => {
      socket.on('message', (text) => {
        const call = JSON.parse(String(text)) as Call
        const envelope = gateway.#answer(call)
        socket.send(JSON.stringify({ id: call.id, ...envelope }))
      })
    })
    http.listen(0, '127.0.0.1')
    await once(http, 'listening')
    const close = () => {
      http.closeAllConnections()
      http.close()
    }
    const { port } = http.address() as AddressInfo
    const gateway = new ReplayGateway(server, { port, users, close })
    return gateway
  }

  /** Sends the frames of as many messages to each conversation. */
  play(frames: readonly string[]): void {
    this.#played = Math.floor(frames.length / this.#users)
    for (const client of this.#server.clients) for (const frame of frames) client.send(frame)
  }

  #answer({ op, data }: Call): object {
    const page = () => {
      const named = (data?.have ?? []).map(({ log }) => log.high_id - replayUserId - 1)
      const isList = !data?.after
      const all = Array.from({ length: this.#users }, (_, user) => user)
      return pageOf(isList ? all : named, this.#played, isList)
    }
    const known = op === 'session.open' ? opened : op === 'message.sync' ? page() : undefined
    return known
      ? { code: 200, data: known, message: null }
      : { code: 50100, data: null, message: 'not a part of the replay', retry: false }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#server.clients) client.terminate()
    this.#server.close()
    this.#close()
  }
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
