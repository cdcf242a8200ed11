import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createConnection, type Socket } from 'node:net'
import { type Json, type Session, waitFor } from '@hermod/testkit'

/** A frame as the server sends it. */
export interface ServerFrame {
  readonly opcode: number
  readonly payload: Buffer
}

export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

/** The parts of a client frame that tests break. */
export interface FrameOptions {
  readonly fin?: boolean
  /** The three reserved bits. */
  readonly rsv?: number
  readonly isMasked?: boolean
  /** The announced length instead of that of the payload. */
  readonly length?: number | bigint
}

/** Returns the bytes of a client frame (RFC 6455, section 5.2). */
export function clientFrame(
  opcode: number,
  payload: string | Uint8Array,
  { fin = true, rsv = 0, isMasked = true, length }: FrameOptions = {},
): Buffer {
  const bytes = Buffer.from(payload as string)
  const announced = BigInt(length ?? bytes.length)
  const head = [(fin ? 0x80 : 0) | (rsv << 4) | opcode]
  const mask = isMasked ? randomBytes(4) : Buffer.alloc(0)
  const maskBit = isMasked ? 0x80 : 0
  if (announced < 126n) head.push(maskBit | Number(announced))
  else if (announced < 65_536n) {
    const short = Buffer.alloc(2)
    short.writeUInt16BE(Number(announced))
    head.push(maskBit | 126, ...short)
  } else {
    const long = Buffer.alloc(8)
    long.writeBigUInt64BE(announced)
    head.push(maskBit | 127, ...long)
  }
  const masked = isMasked ? bytes.map((byte, at) => byte ^ (mask[at % 4] as number)) : bytes
  return Buffer.concat([Buffer.from(head), mask, masked])
}

/** The usual headers of a handshake. */
export const handshakeHeaders = {
  host: 'hermod',
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'sec-websocket-protocol': 'hermod.v1.json',
}

/** A WebSocket client that writes its frames byte by byte. */
export class RawGateway implements Disposable {
  readonly #socket: Socket
  #received = Buffer.alloc(0)
  #isClosed = false

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (chunk) => {
      this.#received = Buffer.concat([this.#received, chunk])
    })
    socket.on('close', () => {
      this.#isClosed = true
    })
    socket.on('error', () => {})
  }

  /** Connects without a handshake. */
  static async connect(url: string): Promise<RawGateway> {
    const { hostname, port } = new URL(url)
    const socket = createConnection({ host: hostname, port: Number(port), noDelay: true })
    await once(socket, 'connect')
    return new RawGateway(socket)
  }

  /** Connects and upgrades. */
  static async upgraded(url: string): Promise<RawGateway> {
    const raw = await RawGateway.connect(url)
    const head = await raw.handshake()
    if (!head.startsWith('HTTP/1.1 101')) throw new Error(head)
    return raw
  }

  /** Connects, upgrades and opens a session. */
  static async opened(url: string, appId: string, { token }: Session): Promise<RawGateway> {
    const raw = await RawGateway.upgraded(url)
    raw.call(0, 'session.open', { app_id: appId, access_token: token, platform: 5 })
    const { code } = await raw.answer()
    if (code !== 200) throw new Error(`session.open answered ${code}`)
    return raw
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  write(bytes: string | Uint8Array): void {
    this.#socket.write(bytes)
  }

  frame(opcode: number, payload: string | Uint8Array = '', options?: FrameOptions): void {
    this.write(clientFrame(opcode, payload, options))
  }

  call(id: number | string, op: string, data: object = {}): void {
    this.frame(opcodes.text, JSON.stringify({ id, op, data }))
  }

  /** Sends the handshake. @returns the head of the answer, and its body */
  async handshake(
    headers: Readonly<Record<string, string | undefined>> = {},
    requestLine = 'GET /gateway HTTP/1.1',
  ): Promise<string> {
    const all = Object.entries({ ...handshakeHeaders, ...headers })
    const lines = all.flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]))
    this.write(`${[requestLine, ...lines].join('\r\n')}\r\n\r\n`)
    return this.head()
  }

  /** The head of the next HTTP answer, and its body. */
  async head(): Promise<string> {
    return waitFor(
      () => {
        const end = this.#received.indexOf('\r\n\r\n')
        if (end < 0) return undefined
        const head = this.#received.subarray(0, end).toString()
        const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
        if (this.#received.length < end + 4 + length) return undefined
        const text = this.#received.subarray(0, end + 4 + length).toString()
        this.#received = this.#received.subarray(end + 4 + length)
        return text
      },
      { what: 'an HTTP answer', timeoutMs: 20_000, everyMs: 2 },
    )
  }

  /** The next frame of the server. */
  async next(): Promise<ServerFrame> {
    return waitFor(() => this.#take(), { what: 'a frame', timeoutMs: 20_000, everyMs: 2 })
  }

  /** The next answer; events and heartbeats before it are dropped. */
  async answer(): Promise<Json> {
    for (;;) {
      const { opcode, payload } = await this.next()
      const frame = opcode === opcodes.text ? JSON.parse(payload.toString()) : {}
      if ('id' in frame) return frame
      if (opcode === opcodes.close) throw new Error(`closed with ${payload.readUInt16BE()}`)
    }
  }

  /** The code of the close frame; further frames before it are dropped. */
  async closeCode(): Promise<number> {
    for (;;) {
      const { opcode, payload } = await this.next()
      if (opcode === opcodes.close) return payload.length === 0 ? 1005 : payload.readUInt16BE()
    }
  }

  async closed(): Promise<void> {
    await waitFor(() => this.#isClosed, {
      what: 'the end of the connection',
      timeoutMs: 20_000,
      everyMs: 2,
    })
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  /** Sends nothing more. */
  end(): void {
    this.#socket.end()
  }

  /** Cuts the connection. */
  [Symbol.dispose](): void {
    this.#socket.destroy()
  }

  #take(): ServerFrame | undefined {
    const bytes = this.#received
    if (bytes.length < 2) {
      if (this.#isClosed) throw new Error('the connection has ended without a close frame')
      return undefined
    }
    let length = (bytes[1] as number) & 0x7f
    let start = 2
    if (length === 126) {
      if (bytes.length < 4) return undefined
      length = bytes.readUInt16BE(2)
      start = 4
    } else if (length === 127) {
      if (bytes.length < 10) return undefined
      length = Number(bytes.readBigUInt64BE(2))
      start = 10
    }
    if (bytes.length < start + length) return undefined
    if (((bytes[0] as number) & 0xf0) !== 0x80 || (bytes[1] as number) & 0x80)
      throw new Error('the server sends whole and unmasked frames only')
    this.#received = bytes.subarray(start + length)
    return { opcode: (bytes[0] as number) & 0xf, payload: bytes.subarray(start, start + length) }
  }
}
