import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { gatewayProtocol } from '@hermod/protocol/gateway'

/** Gets the events of the socket of a WebSocket. */
export interface SocketEvents {
  heard(chunk: Buffer): void
  /** The socket has sent all that was unread. */
  countUnread(): void
  /** The client sends nothing more. */
  left(): void
  /** The connection is gone. */
  ended(): void
}

const connectionOf = Symbol('connection')

/** A socket that knows its connection, so that all of them share their listeners. */
type ConnectionSocket = Socket & { [connectionOf]: SocketEvents }

/** The GUID of RFC 6455, section 1.3. */
const acceptSuffix = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

/**
 * Answers the handshake of a request, and connects the events of its socket to the connection.
 * @param head bytes after the request
 */
export function acceptSocket(
  { headers }: IncomingMessage,
  socket: Socket,
  head: Buffer,
  to: SocketEvents,
): void {
  const key = `${headers['sec-websocket-key']}${acceptSuffix}`
  const answer = [
    'HTTP/1.1 101 Switching Protocols',
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${createHash('sha1').update(key).digest('base64')}`,
    `Sec-WebSocket-Protocol: ${gatewayProtocol}`,
  ]
  socket.write(`${answer.join('\r\n')}\r\n\r\n`)
  socket.setTimeout(0)
  socket.setNoDelay()
  if (head.length > 0) socket.unshift(head)
  Object.assign(socket, { [connectionOf]: to })
  socket.on('drain', onDrain)
  socket.on('end', onEnd)
  socket.on('error', onError)
  socket.on('close', onClose)
  socket.on('data', onData)
}

function onData(this: Socket, chunk: Buffer): void {
  ;(this as ConnectionSocket)[connectionOf].heard(chunk)
}

function onDrain(this: Socket): void {
  ;(this as ConnectionSocket)[connectionOf].countUnread()
}

function onEnd(this: Socket): void {
  ;(this as ConnectionSocket)[connectionOf].left()
}

function onError(this: Socket): void {
  this.destroy()
}

function onClose(this: Socket): void {
  ;(this as ConnectionSocket)[connectionOf].ended()
}
