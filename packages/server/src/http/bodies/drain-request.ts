import type { IncomingMessage } from 'node:http'
import { requestTimeoutMs } from '../../edge/deadlines.js'

/**
 * Reads on after the answer of a request, since closing would take the answer from its client, but no longer than a whole request may
 * take.
 */
export function drainRequest(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return
  const timer = setTimeout(() => request.destroy(), requestTimeoutMs)
  request.once('close', () => clearTimeout(timer))
}
