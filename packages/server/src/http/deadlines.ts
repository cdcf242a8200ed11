/** How long a request may take to arrive. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/** A request has to arrive within this time as a whole. */
export const requestTimeoutMs = 30_000
/** A large body may take longer, but not stand still for longer than this. */
const stallTimeoutMs = 60_000

/** Lets the request take as long as it makes progress, for bodies that are larger than what is read into memory. */
export function bindToProgress(request: IncomingMessage): void {
  const { socket } = request
  // Nobody listens for the event, so that a socket that stands still is destroyed.
  socket.setTimeout(stallTimeoutMs)
  request.once('close', () => {
    if (isBoundToProgress(socket)) socket.setTimeout(0)
  })
}

/** The request on the socket is bound to its progress, not to the time that a whole request may take. */
export function isBoundToProgress(socket: Socket): boolean {
  return socket.timeout === stallTimeoutMs
}
