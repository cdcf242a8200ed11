/** The texts of frames that the gateway writes. */
import { type AppError, type CloseName, closeCodes } from '@hermod/protocol'
import { stringifyJson } from '../../lib/json.js'

/** The wait after a short condition, such as a full queue. */
const briefWaitSeconds = 1

/** @param envelope the answer of the operation, as over HTTP */
export function successText(id: string, envelope: string): string {
  return `{"id":${id},${envelope.slice(1)}`
}

/**
 * Returns the frame of a failed call as JSON.
 * @param retryAfterMs default: the time of the error
 */
export function failureText(
  id: string,
  error: AppError,
  retryAfterMs = retryAfterMsOf(error),
): string {
  const { entry, message, errorName: name, options } = error
  const { retryable, code } = entry
  const failure = {
    code,
    data: null,
    message,
    name,
    retry: retryable,
    ...(retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs }),
    ...options.members,
  }
  return `{"id":${id},${stringifyJson(failure).slice(1)}`
}

/** @param retryAfterMs absent: the client chooses the time */
export function closingText(code: CloseName, reason: string, retryAfterMs?: number): string {
  const data = { code: closeCodes[code], reason, retry_after_ms: retryAfterMs }
  return JSON.stringify({ event: 'session.closing', data })
}

/** Returns a reason as a close frame has it: at most 123 bytes (RFC 6455, section 5.5). */
export function closeReason(reason: string): string {
  return reason.replace(/[^\x20-\x7e]/g, '?').slice(0, 123)
}

/** Returns the close code after a session.open that failed. */
export function closeOfRefusal({ errorName, entry }: AppError): CloseName {
  switch (errorName) {
    case 'token_expired':
      return 'tokenExpired'
    case 'token_missing':
    case 'token_invalid':
    case 'no_permission':
    case 'user_not_found':
      return 'invalidToken'
    case 'app_not_found':
    case 'app_inactive':
      return 'unknownApplication'
    case 'user_disabled':
      return 'userDisabled'
    case 'user_deleted':
      return 'userDeleted'
    case 'too_many_requests':
    case 'address_limited':
      return 'tooManyRequests'
    case 'session_limit_reached':
      return 'connectionLimit'
    case 'storage_failed':
      return 'serverError'
    default:
      if (entry.retryable) return 'overloaded'
      return entry.http >= 500 ? 'serverError' : 'badFrame'
  }
}

/** The time after which the call may be repeated; undefined: not known. */
export function retryAfterMsOf({ entry, options }: AppError): number | undefined {
  const seconds =
    options.retryAfterSeconds ?? (entry.always && entry.retryable ? briefWaitSeconds : undefined)
  return seconds === undefined ? undefined : seconds * 1_000
}
