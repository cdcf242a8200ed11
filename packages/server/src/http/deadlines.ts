/** How long requests may take to arrive and files to be taken. */
import type { EventEmitter } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/** The head of a request has to arrive within this time, from when its connection was opened or its first byte came. */
export const headersTimeoutMs = 20_000
/** A request has to arrive within this time as a whole. */
export const requestTimeoutMs = 30_000
/** How often both are looked at. */
export const checkIntervalMs = 2_000
/** A file may take longer, but not stand still for longer than this. */
const stallTimeoutMs = 60_000

/** Lets a file that comes in or goes out on a connection take as long as it makes progress. @param exchange says `close` at its end */
export function bindToProgress(socket: Socket, exchange: EventEmitter): void {
  // Nobody listens for the event, so that a socket that stands still is destroyed.
  socket.setTimeout(stallTimeoutMs)
  exchange.once('close', () => {
    if (isBoundToProgress(socket)) socket.setTimeout(0)
  })
}

/** The request on the socket is bound to its progress, not to the time that a whole request may take. */
export function isBoundToProgress(socket: Socket): boolean {
  return socket.timeout === stallTimeoutMs
}

/**
 * The request is answered: what its client goes on to send is read, since closing would take the answer from it, but only for the time that
 * a whole request may take.
 */
export function readOnForAWhile(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return
  const timer = setTimeout(() => request.destroy(), requestTimeoutMs)
  request.once('close', () => clearTimeout(timer))
}
