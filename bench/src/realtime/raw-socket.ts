/** One WebSocket client over a plain socket. */
import { connect, type Socket } from 'node:net'
import { clientFrame, closeOpcode, FrameReader, isPing, pongOpcode } from './frames.js'

/** The parts of an answer that the benchmark reads. */
export interface RawAnswer {
  readonly code: number
  readonly message: string | null
  // biome-ignore lint/suspicious/noExplicitAny: data of any operation
  readonly data: any
}

/** Listener of a {@link RawSocket}. */
export interface RawSocketEvents {
  /** An event or heartbeat. The payload is valid during the call only. */
  frame(payload: Buffer): void
  ended(): void
}

const handshakeEnd = Buffer.from('\r\n\r\n')
/** The second character of a name: `{"id":` begins an answer. */
const answerMark = 'i'.charCodeAt(0)
const key = 'dGhlIHNhbXBsZSBub25jZQ=='

/** A WebSocket connection with little work for a frame. */
export class RawSocket {
  readonly #socket: Socket
  readonly #reader = new FrameReader((opcode, payload) => this.#take(opcode, payload))
  readonly #calls = new Map<
    number,
    { resolve(answer: RawAnswer): void; reject(error: Error): void }
  >()
  readonly #connected: Promise<void>
  #head: Buffer | null = Buffer.alloc(0)
  #lastId = 0
  #upgraded = () => {}
  #failed = (_error: Error) => {}

  constructor(
    port: number,
    private readonly events: RawSocketEvents,
  ) {
    this.#connected = new Promise((resolve, reject) => {
      this.#upgraded = resolve
      this.#failed = reject
    })
    this.#connected.catch(() => {})
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true })
    this.#socket.on('connect', () =>
      this.#socket.write(
        `GET /gateway HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: ${key}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: hermod.v1.json\r\n\r\n`,
      ),
    )
    this.#socket.on('data', (chunk) => this.#read(chunk))
    this.#socket.on('error', () => {})
    this.#socket.on('close', () => this.#end())
  }

  /** Resolves when the handshake is answered. */
  connected(): Promise<void> {
    return this.#connected
  }

  /** @throws Error when the connection ends first */
  call(op: string, data: object): Promise<RawAnswer> {
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      this.#calls.set(id, { resolve, reject })
      this.write(clientFrame(JSON.stringify({ id, op, data })))
    })
  }

  /** Sends calls in one write. @returns their answers */
  callTogether(op: string, list: readonly object[]): Promise<RawAnswer[]> {
    this.#socket.cork()
    const answers = list.map((data) => this.call(op, data))
    this.#socket.uncork()
    return Promise.all(answers)
  }

  write(bytes: Buffer): void {
    this.#socket.write(bytes)
  }

  /** Cuts the connection. */
  cut(): void {
    this.#socket.destroy()
  }

  #read(chunk: Buffer): void {
    if (this.#head === null) {
      this.#reader.read(chunk)
      return
    }
    const head = Buffer.concat([this.#head, chunk])
    const end = head.indexOf(handshakeEnd)
    if (end < 0) {
      this.#head = head
      return
    }
    this.#head = null
    const [status = ''] = head.toString('latin1', 0, end).split('\r\n')
    if (status.startsWith('HTTP/1.1 101')) this.#upgraded()
    else {
      this.#failed(new Error(status))
      this.cut()
      return
    }
    if (head.length > end + 4) this.#reader.read(head.subarray(end + 4))
  }

  #take(opcode: number, payload: Buffer): void {
    if (isPing(opcode)) this.write(clientFrame(payload.toString('latin1'), pongOpcode))
    else if (opcode === closeOpcode) this.cut()
    else if (payload[2] === answerMark) this.#answer(payload)
    else this.events.frame(payload)
  }

  #answer(payload: Buffer): void {
    const { id, ...answer } = JSON.parse(payload.toString()) as RawAnswer & { readonly id: number }
    this.#calls.get(id)?.resolve(answer)
    this.#calls.delete(id)
  }

  #end(): void {
    const error = new Error('the connection has ended')
    this.#failed(error)
    for (const { reject } of this.#calls.values()) reject(error)
    this.#calls.clear()
    this.events.ended()
  }
}
