import type { Socket } from 'node:net'
import { gatewayProtocol } from '@hermod/protocol/gateway'
import { type Server, type ServerOptions, WebSocket, WebSocketServer } from 'ws'
import { closeTimeoutMs, maxFrameBytes } from './limits.js'

/** Gets the events of a WebSocket and of the TCP socket below. */
export interface SocketEvents {
  /** Called before the frames that end in the chunk. */
  heard(chunk: Buffer): void
  /** The TCP socket has sent all that was unread. */
  countUnread(): void
  received(frame: Buffer, isBinary: boolean): void
  pinged(payload: Buffer): void
  /** A pong has arrived. */
  receivedIdle(): void
  /** The client has broken RFC 6455; the library closes the connection. */
  broken(): void
  /** The connection is gone. */
  ended(code: number): void
}

/** A WebSocket that knows its connection, so that all of them share their listeners. */
export class ClientSocket extends WebSocket {
  connection!: SocketEvents
}

const connectionOf = Symbol('connection')

/** The TCP socket below; it knows the connection too. */
export type ConnectionSocket = Socket & { [connectionOf]?: SocketEvents }

/**
 * Returns a server that only turns sockets into WebSockets. Pongs are written by the connection,
 * and no list of clients is kept, since both cost a closure for each socket.
 */
export function createSocketServer(): Server<typeof ClientSocket> {
  return new WebSocketServer({
    noServer: true,
    WebSocket: ClientSocket,
    perMessageDeflate: false,
    clientTracking: false,
    autoPong: false,
    skipUTF8Validation: false,
    maxPayload: maxFrameBytes,
    handleProtocols: () => gatewayProtocol,
    closeTimeout: closeTimeoutMs,
    maxFragments: 1_024,
    maxBufferedChunks: 4_096,
  } as ServerOptions<typeof ClientSocket>) as unknown as Server<typeof ClientSocket>
}

/** Connects the events of both sockets to the connection. */
export function listenToSocket(
  websocket: ClientSocket,
  socket: ConnectionSocket,
  to: SocketEvents,
): void {
  websocket.connection = to
  socket[connectionOf] = to
  socket.prependListener('data', socketData)
  socket.on('drain', socketDrained)
  websocket.on('message', onMessage)
  websocket.on('ping', onPing)
  websocket.on('pong', onPong)
  websocket.on('error', onError)
  websocket.on('close', onClose)
}

function socketData(this: ConnectionSocket, chunk: Buffer): void {
  this[connectionOf]?.heard(chunk)
}

function socketDrained(this: ConnectionSocket): void {
  this[connectionOf]?.countUnread()
}

function onMessage(this: WebSocket, data: WebSocket.RawData, isBinary: boolean): void {
  ;(this as ClientSocket).connection.received(data as Buffer, isBinary)
}

function onPing(this: WebSocket, payload: Buffer): void {
  ;(this as ClientSocket).connection.pinged(payload)
}

function onPong(this: WebSocket): void {
  ;(this as ClientSocket).connection.receivedIdle()
}

function onError(this: WebSocket): void {
  ;(this as ClientSocket).connection.broken()
}

function onClose(this: WebSocket, code: number): void {
  ;(this as ClientSocket).connection.ended(code)
}
