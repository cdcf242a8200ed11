import { gatewayPath, gatewayProtocol } from '@hermod/protocol/gateway'
import { WebSocket } from 'ws'
import type { Envelope } from '../api.js'
import { parseExactJson, stringifyExactJson } from '../exact-json.js'
import { type Patience, waitFor } from '../wait.js'
import { Cursor } from './cursor.js'
import { CuttableSocket } from './cuttable-socket.js'
import type { GatewayEvent, GatewayFrame } from './frame.js'
import { frameFault } from './frame-check.js'

export interface GatewayClientOptions {
  /** Default: that of the gateway. */
  readonly protocols?: string | readonly string[]
  readonly origin?: string
  readonly headers?: Readonly<Record<string, string>>
  /** False leaves pings unanswered. */
  readonly answersPings?: boolean
  /** The cursor of an earlier connection of the same client. */
  readonly cursor?: Cursor
  /** Time limit of the handshake and of each answer; default 60 000. */
  readonly timeoutMs?: number
  /** False accepts frames that break the contract. */
  readonly checksFrames?: boolean
  /** Called with each frame as it arrives, after the cursor has moved. */
  readonly onFrame?: (frame: GatewayFrame) => void
}

export interface OpenOptions {
  readonly appId: string
  readonly accessToken: string
  readonly deviceGuid?: string
  /** The user of the session, for an Admin token. */
  readonly userId?: number | bigint
  /** Default: the pos of the cursor, if it has one. */
  readonly pos?: string
  /** A number of the enumeration `platform`; default 5, Linux. */
  readonly platform?: number
  /** Additions to the contract that the client names; default: it names none. */
  readonly features?: readonly string[]
}

/** The identity of a call with an Admin token. */
export interface ActingAs {
  readonly userId?: number | bigint
  readonly groupId?: number | bigint
}

/** The close of a connection; the code is 1006 when it was cut. */
export interface GatewayClose {
  readonly code: number
  readonly reason: string
}

/** The handshake was answered with an HTTP status instead of an upgrade. */
export class HandshakeRefused extends Error {
  readonly status: number

  constructor(status: number) {
    super(`the handshake was answered with HTTP ${status}`)
    this.status = status
  }
}

interface PendingCall {
  readonly op: string
  resolve(answer: Envelope): void
  reject(error: Error): void
}

const standardPatience: Patience = { what: 'a frame of the gateway', timeoutMs: 10_000 }

/** A WebSocket client of the gateway, which keeps all that it receives in order. */
export class GatewayClient implements Disposable {
  readonly cursor: Cursor
  /** All events so far, `sync.needed` and `session.closing` included. */
  readonly events: GatewayEvent[] = []
  /** Events, heartbeats, and answers to frames that {@link send} wrote. */
  readonly frames: GatewayFrame[] = []
  /** Number of WebSocket pings so far. */
  pings = 0
  /**
   * The fault of the first frame that breaks the contract; null: all keep it. Waits and calls fail
   * with it.
   */
  fault: string | null = null
  /** Null while the connection lives. */
  ended: GatewayClose | null = null
  readonly #websocket: WebSocket
  readonly #socket: CuttableSocket
  readonly #options: GatewayClientOptions
  readonly #calls = new Map<number, PendingCall>()
  #lastId = 0
  /** Frames before this index are behind the last one that {@link next} returned. */
  #nextIndex = 0

  private constructor(websocket: WebSocket, socket: CuttableSocket, options: GatewayClientOptions) {
    this.#websocket = websocket
    this.#socket = socket
    this.#options = options
    this.cursor = options.cursor ?? new Cursor()
    websocket.on('message', (data) => this.#receive(parseExactJson(String(data)) as GatewayFrame))
    websocket.on('ping', () => this.pings++)
    websocket.on('close', (code, reason) => this.#end({ code, reason: String(reason) }))
  }

  /**
   * Opens a connection, without a session.
   * @param url the address of the service; a path replaces /gateway
   * @throws HandshakeRefused
   */
  static connect(url: string, options: GatewayClientOptions = {}): Promise<GatewayClient> {
    const address = new URL(url)
    if (address.pathname === '/') address.pathname = gatewayPath
    const { protocols = gatewayProtocol, origin, headers = {}, answersPings = true } = options
    const socket = new CuttableSocket()
    const websocket = new WebSocket(address, [protocols].flat(), {
      perMessageDeflate: false,
      handshakeTimeout: options.timeoutMs ?? 60_000,
      autoPong: answersPings,
      headers: { ...headers },
      ...(origin !== undefined && { origin }),
      // The type of the option is that of net.connect, of which the library uses one form.
      createConnection: (() =>
        socket.connect(Number(address.port || 80), address.hostname)) as never,
    })
    const client = new GatewayClient(websocket, socket, options)
    return new Promise((resolve, reject) => {
      websocket.once('open', () => resolve(client))
      websocket.once('unexpected-response', (request, { statusCode = 0 }) => {
        reject(new HandshakeRefused(statusCode))
        request.destroy()
      })
      // Later errors are followed by the event `close`, which reports them.
      websocket.on('error', reject)
    })
  }

  /** Opens a session, and keeps its pos. */
  open(options: OpenOptions): Promise<Envelope> {
    const { appId, accessToken, deviceGuid, userId, platform = 5, features } = options
    const pos = options.pos ?? (this.cursor.pos || undefined)
    return this.call('session.open', {
      app_id: appId,
      access_token: accessToken,
      device_guid: deviceGuid,
      user_id: userId,
      platform,
      user_agent: 'hermod-testkit',
      pos,
      features,
    })
  }

  /**
   * Calls an operation and returns its answer of any code.
   * @throws Error when the connection ends first
   */
  call(op: string, data: object = {}, { userId, groupId }: ActingAs = {}): Promise<Envelope> {
    const id = ++this.#lastId
    const { timeoutMs = 60_000 } = this.#options
    let timer: NodeJS.Timeout | undefined
    const answered = new Promise<Envelope>((resolve, reject) => {
      if (this.ended) return reject(this.#lost(op, this.ended))
      this.#calls.set(id, { op, resolve, reject })
      const late = () => reject(new Error(`${op}: no answer within ${timeoutMs} ms`))
      timer = setTimeout(late, timeoutMs)
      this.send(stringifyExactJson({ id, op, data, user_id: userId, group_id: groupId }))
    })
    return answered.finally(() => clearTimeout(timer))
  }

  /**
   * Returns the answer of a call that must succeed.
   * @throws Error with the answer when its code is not 200
   */
  async succeed(op: string, data: object = {}, as: ActingAs = {}): Promise<Envelope> {
    const answer = await this.call(op, data, as)
    if (answer.code === 200) return answer
    throw new Error(`${op} answered ${stringifyExactJson(answer)}`)
  }

  /** Sends a frame as it is; `fin: false` sends a fragment. */
  send(frame: string | Uint8Array, options: { readonly fin?: boolean } = {}): void {
    if (this.#websocket.readyState === WebSocket.OPEN) this.#websocket.send(frame, options)
  }

  /** Sends a WebSocket ping. */
  ping(): void {
    this.#websocket.ping()
  }

  /**
   * Returns the first frame that passes, among those after the last one that was returned.
   * @param wanted a kind of event, or a test of a frame
   */
  next<Frame extends GatewayFrame = GatewayEvent>(
    wanted: string | ((frame: GatewayFrame) => boolean),
    patience: Partial<Patience> = {},
  ): Promise<Frame> {
    const passes =
      typeof wanted === 'string' ? (frame: GatewayFrame) => frame.event === wanted : wanted
    const what = typeof wanted === 'string' ? wanted : standardPatience.what
    let index = this.#nextIndex
    return waitFor(
      () => {
        if (this.fault !== null) throw new Error(this.fault)
        for (; index < this.frames.length; index++) {
          const frame = this.frames[index] as Frame
          if (!passes(frame)) continue
          this.#nextIndex = index + 1
          return frame
        }
        if (this.ended) throw this.#lost(what, this.ended)
        return undefined
      },
      { ...standardPatience, what, ...patience },
    )
  }

  /** Waits for the end of the connection. */
  closed(patience: Partial<Patience> = {}): Promise<GatewayClose> {
    const what = 'the close of a connection'
    return waitFor(() => this.ended ?? undefined, { ...standardPatience, what, ...patience })
  }

  /** Reads nothing more, so that unread bytes collect at the server. */
  pause(): void {
    this.#websocket.pause()
  }

  /** Reads on. */
  resume(): void {
    this.#websocket.resume()
  }

  /** Cuts the connection once so many further bytes have arrived, even inside a frame. */
  cutAfter(bytes: number): void {
    this.#socket.cutAfter(bytes)
  }

  /** Closes with a close frame, and waits for the one of the server. */
  close(code = 1000): Promise<GatewayClose> {
    this.#websocket.close(code)
    return this.closed()
  }

  /** Cuts the connection without a close frame. */
  terminate(): void {
    this.#websocket.terminate()
  }

  [Symbol.dispose](): void {
    this.terminate()
  }

  #receive(frame: GatewayFrame): void {
    if (this.#options.checksFrames !== false) this.fault ??= frameFault(frame)
    const call = typeof frame.id === 'number' ? this.#calls.get(frame.id) : undefined
    if (call) {
      this.#calls.delete(frame.id as number)
      // At once, since further frames may have been read together with this one.
      if (call.op === 'session.open' && frame.code === 200) this.cursor.open(frame.data)
      if (this.fault === null) call.resolve(frame as Envelope)
      else call.reject(new Error(this.fault))
    } else {
      this.frames.push(frame)
      if (frame.event !== undefined) this.events.push(frame as GatewayEvent)
      if (frame.event === 'sync.needed') this.cursor.requestSync()
      if (frame.pos !== undefined) this.cursor.advance(frame.pos)
    }
    this.#options.onFrame?.(frame)
  }

  #end(close: GatewayClose): void {
    this.ended = close
    for (const call of this.#calls.values()) call.reject(this.#lost(call.op, close))
    this.#calls.clear()
  }

  #lost(what: string, { code, reason }: GatewayClose): Error {
    return new Error(`${what}: the connection ended with ${code} ${reason}`)
  }
}
