import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { AppError } from '@hermod/protocol'
import { failureAnswer } from './failure.js'
import { jsonContentType } from './responses.js'

/** What is no HTTP is answered before there is a request, on the bare socket. */
export function answerMalformed(
  { code }: NodeJS.ErrnoException,
  socket: Socket,
  requestId: string,
): void {
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const status = statusOf(code)
  const { body } = failureAnswer(new AppError('malformed_request'), 'envelope')
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `content-type: ${jsonContentType}`,
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}

function statusOf(code: string | undefined): number {
  if (code === 'HPE_HEADER_OVERFLOW') return 431
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400
}
