/** The parts of request bodies as they arrive, and the limits that all bodies share. */
import type { IncomingMessage } from 'node:http'
import { AppError } from '@hermod/protocol'

/**
 * Each part costs as much as a small call, so a body of single bytes would cost as much as a
 * million calls.
 */
const maxSmallParts = 100
const smallPart = 256

/** The reader of a body. */
export interface BodySink {
  take(part: Buffer): void
  /** The body is complete; nothing follows. */
  end(): void
  /** The body failed; nothing follows. */
  fail(error: AppError): void
}

/** Ends the reading of a body. */
export interface BodyReading {
  /** The reader gets the error, unless the body has ended before. */
  fail(error: AppError): void
  /** The reader gets nothing more. */
  stop(): void
}

/**
 * Passes the parts of a request body to its reader, within the limits of all bodies. It fails with
 * body_too_large, and with malformed_request when the client goes away before the end or sends too
 * many small parts.
 * @throws AppError body_too_large, malformed_request
 */
export function receiveBody(
  request: IncomingMessage,
  maxBytes: number,
  sink: BodySink,
): BodyReading {
  requireAnnouncedSize(request, maxBytes)
  if (request.destroyed) throw bodyEndedEarly()
  let length = 0
  let count = 0
  let isDone = false
  const settle = (outcome: () => void) => {
    if (isDone) return
    isDone = true
    request.off('data', take)
    outcome()
  }
  const fail = (error: AppError) => settle(() => sink.fail(error))
  const endEarly = () => settle(() => sink.fail(bodyEndedEarly()))
  const take = (part: Buffer) => {
    length += part.length
    if (length > maxBytes) return fail(bodyTooLarge(maxBytes))
    if (++count > maxSmallParts && length < count * smallPart) {
      endEarly()
      request.destroy()
      return
    }
    sink.take(part)
  }
  request.on('data', take)
  request.on('end', () => settle(() => sink.end()))
  request.on('close', endEarly)
  return { fail, stop: () => settle(() => {}) }
}

/** @throws AppError body_too_large when the announced length exceeds the limit */
export function requireAnnouncedSize(request: IncomingMessage, maxBytes: number): void {
  if (announcedBytes(request) > maxBytes) throw bodyTooLarge(maxBytes)
}

/** 0 when it is not announced. */
export function announcedBytes({ headers }: IncomingMessage): number {
  return Number(headers['content-length'] ?? 0)
}

/** The failure of a body when bodies take too much memory. */
export function tooManyBodies(): AppError {
  return new AppError('unavailable', 'too many bodies are on their way')
}

function bodyTooLarge(maxBytes: number): AppError {
  return new AppError('body_too_large', `at most ${maxBytes} bytes`)
}

function bodyEndedEarly(): AppError {
  return new AppError('malformed_request', 'the body ended early')
}
