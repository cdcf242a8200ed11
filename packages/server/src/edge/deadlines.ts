/** Time limits for requests to arrive and for files to make progress. */
import type { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'

/** Limit for the head of a request, from the opening of its connection or from its first byte. */
export const headersTimeoutMs = 20_000
/** Limit for a whole request. */
export const requestTimeoutMs = 30_000
/** Interval at which both are checked. */
export const checkIntervalMs = 2_000
/** A file may take longer, but may not stand still for longer than this. */
const stallTimeoutMs = 60_000

/**
 * Lets a file transfer on a connection take as long as it makes progress.
 * @param exchange emits `close` at its end
 */
export function bindToProgress(socket: Socket, exchange: EventEmitter): void {
  // The event has no listener, so Node destroys a socket that stands still.
  socket.setTimeout(stallTimeoutMs)
  exchange.once('close', () => {
    if (isBoundToProgress(socket)) socket.setTimeout(0)
  })
}

/**
 * Reports whether the request on the socket is bound to its progress and not to the limit for a
 * whole request.
 */
export function isBoundToProgress(socket: Socket): boolean {
  return socket.timeout === stallTimeoutMs
}
