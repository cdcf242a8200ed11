import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { AppError } from '@hermod/protocol'
import { failureAnswer } from './failure.js'
import { jsonContentType, privateAnswer } from './responses.js'

/** Node's code for it. */
export const requestTimedOut = 'ERR_HTTP_REQUEST_TIMEOUT'

/** Answers a request whose body has stopped in the middle, and closes the connection. */
export function answerStalled(socket: Socket, requestId: string): void {
  answerMalformed({ name: 'stalled', message: '', code: requestTimedOut }, socket, requestId)
  socket.destroySoon()
}

/** Answers on the bare socket what the parser refuses: there is no request then. */
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
  const status = statusOfParserError(code) ?? ownStatus
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

/** Statuses that are more specific than that of the failure. */
function statusOfParserError(code: string | undefined): number | null {
  if (code === 'HPE_HEADER_OVERFLOW') return 431
  return code === requestTimedOut ? 408 : null
}

/**
 * Reports whether the body has another coding than chunked; the parser uses the same code for a
 * length together with chunks.
 */
function isUnknownCoding(error: NodeJS.ErrnoException & { readonly reason?: string }): boolean {
  const { code, reason } = error
  return code === 'HPE_INVALID_TRANSFER_ENCODING' && reason?.includes('has invalid') === true
}
