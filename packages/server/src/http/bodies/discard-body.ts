/**
 * The rest of a body whose request is answered: closing while the client still sends would take the
 * answer from it.
 */
import type { IncomingMessage } from 'node:http'
import { requestTimeoutMs } from '../../edge/deadlines.js'
import { type BodySink, receiveBody } from './receive-body.js'

const ignored: BodySink = { take() {}, end() {}, fail() {} }

/** Reads on without keeping anything, within the limits of all bodies. */
export function discardBody(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return
  receiveBody(request, Number.POSITIVE_INFINITY, ignored)
}

/**
 * Calls back when the rest of a request has arrived, or when it has taken as long as a whole
 * request may take.
 */
export function whenDiscarded(request: IncomingMessage, done: () => void): void {
  const timer = setTimeout(() => request.destroy(), requestTimeoutMs)
  request.once('close', () => {
    clearTimeout(timer)
    done()
  })
}
