import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { AppError } from '@hermod/protocol'
import { failureAnswer } from './failure.js'
import { jsonContentType, privateAnswer } from './responses.js'

/** Node's code for it. */
export const requestTimedOut = 'ERR_HTTP_REQUEST_TIMEOUT'

/** A body that has stopped in the middle: its client hears that before the connection is closed. */
export function answerStalled(socket: Socket, requestId: string): void {
  answerMalformed({ name: 'stalled', message: '', code: requestTimedOut }, socket, requestId)
  socket.destroySoon()
}

/** What is no HTTP is answered before there is a request, on the bare socket. */
export function answerMalformed(
  error: NodeJS.ErrnoException,
  socket: Socket,
  requestId: string,
): void {
  const { code } = error
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const failure = new AppError(
    isUnknownCoding(error) ? 'transfer_coding_unknown' : 'malformed_request',
  )
  const { body, status: ownStatus } = failureAnswer(failure, 'envelope')
  const status = statusOf(code) ?? ownStatus
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `content-type: ${jsonContentType}`,
    `content-length: ${Buffer.byteLength(body)}`,
    ...privateAnswer.map(([name, value]) => `${name}: ${value}`),
    `x-request-id: ${requestId}`,
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}

/** Statuses that say more than that of the failure. */
function statusOf(code: string | undefined): number | null {
  if (code === 'HPE_HEADER_OVERFLOW') return 431
  return code === requestTimedOut ? 408 : null
}

/** The body ends in a coding that is not chunked; the same code of the parser stands for a length beside chunks. */
function isUnknownCoding(error: NodeJS.ErrnoException & { readonly reason?: string }): boolean {
  const { code, reason } = error
  return code === 'HPE_INVALID_TRANSFER_ENCODING' && reason?.includes('has invalid') === true
}
