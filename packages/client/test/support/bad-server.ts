import { createHash } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { createServer, type Server, type Socket } from 'node:net'
import { WebSocket, WebSocketServer } from 'ws'
import { openedSession } from './link-bench.js'

/** A server of WebSockets that does with each frame what the test says. */
export class BadServer implements AsyncDisposable {
  readonly url: string
  readonly #server: WebSocketServer

  private constructor(server: WebSocketServer) {
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  /** @param received called with each frame of a client, and the number of its connection, from 1 */
  static async start(
    received: (frame: ReceivedFrame, socket: WebSocket, connection: number) => void,
  ): Promise<BadServer> {
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0, path: '/gateway' })
    let connections = 0
    server.on('connection', (socket) => {
      const connection = ++connections
      socket.on('error', () => {})
      socket.on('message', (data) =>
        received(JSON.parse(String(data)) as ReceivedFrame, socket, connection),
      )
    })
    await new Promise((resolve) => server.once('listening', resolve))
    return new BadServer(server)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#server.clients) client.terminate()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

export interface ReceivedFrame {
  readonly id: unknown
  readonly op: string
  readonly data: Record<string, unknown>
}

/** The frame that opens a session. */
export function openAnswer(session: object = {}): string {
  const data = { ...openedSession, ...session }
  return JSON.stringify({ id: 'open', code: 200, message: null, data })
}

/** A server whose connections end after so many bytes of what it has to say. */
export class CuttingServer implements AsyncDisposable {
  readonly url: string
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(server: Server) {
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    server.on('connection', (socket) => this.#sockets.add(socket))
  }

  /**
   * @param budget bytes that a connection gets before it is cut, undefined: all, and it stays
   * @param frames what follows the handshake, once the first frame of the client is there
   */
  static async start(
    budget: () => number | undefined,
    frames: readonly string[],
  ): Promise<CuttingServer> {
    const server = createServer((socket) => {
      let left = budget() ?? Number.POSITIVE_INFINITY
      const write = (bytes: Buffer) => {
        if (left <= 0) return
        socket.write(bytes.subarray(0, left))
        left -= bytes.length
        if (left <= 0) socket.destroySoon()
      }
      socket.on('error', () => {})
      if (left === 0) socket.destroy()
      socket.once('data', (request) => {
        write(handshake(String(request)))
        socket.once('data', () => write(Buffer.concat(frames.map(textFrame))))
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new CuttingServer(server)
  }

  /** Bytes of a connection that is not cut. */
  static sizeOf(frames: readonly string[]): number {
    return handshake('').length + Buffer.concat(frames.map(textFrame)).length
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

function handshake(request: string): Buffer {
  const key = /sec-websocket-key: (\S+)/i.exec(request)?.[1] ?? ''
  const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
  return Buffer.from(
    `HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Protocol: hermod.v1.json\r\nSec-WebSocket-Accept: ${accept.digest('base64')}\r\n\r\n`,
  )
}

function textFrame(text: string): Buffer {
  const bytes = Buffer.from(text)
  const { length } = bytes
  const head = length < 126 ? [0x81, length] : [0x81, 126, length >> 8, length & 255]
  return Buffer.concat([Buffer.from(head), bytes])
}

/** A server between a client and another server, which changes what that one says. */
export class FaultyProxy implements AsyncDisposable {
  readonly url: string
  readonly #server: WebSocketServer

  private constructor(server: WebSocketServer) {
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  /**
   * @param change returns the frames that the client gets instead of one of the server
   * @param ask returns the frame that the server gets instead of one of the client
   */
  static async start(
    target: string,
    change: (text: string) => readonly string[],
    ask = (text: string) => text,
  ): Promise<FaultyProxy> {
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0, path: '/gateway' })
    server.on('connection', (client) => {
      const address = `${target.replace('http', 'ws')}/gateway`
      const upstream = new WebSocket(address, 'hermod.v1.json')
      const waiting: string[] = []
      client.on('message', (data) => {
        const text = ask(String(data))
        if (upstream.readyState === WebSocket.OPEN) upstream.send(text)
        else waiting.push(text)
      })
      upstream.on('open', () => {
        for (const text of waiting) upstream.send(text)
      })
      upstream.on('message', (data) => {
        for (const text of change(String(data))) client.send(text)
      })
      for (const socket of [client, upstream]) {
        socket.on('error', () => {})
        socket.on('close', () => {
          client.terminate()
          upstream.terminate()
        })
      }
    })
    await new Promise((resolve) => server.once('listening', resolve))
    return new FaultyProxy(server)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#server.clients) client.terminate()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
