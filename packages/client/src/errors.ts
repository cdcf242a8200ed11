import type { Failure } from './core/inputs.js'

/**
 * Names of failures that are the client's own, with their codes below 0. All others are those of
 * the server: docs/reference/errors.md.
 */
export const clientErrors = {
  /** There is no connection, or it ended before the answer. */
  not_connected: -1,
  /** The client was closed, or the user has logged out. */
  closed: -2,
  /** The caller's AbortSignal was aborted. */
  aborted: -3,
  /** The server answered something that is no answer. */
  bad_answer: -4,
  /** The message may have been stored; the server does not know it any more. */
  undecided: -5,
  /** The file could not be uploaded. */
  upload_failed: -6,
  /** The app's token function failed. */
  token_failed: -7,
  /** The token is of another user than the one that was named. */
  wrong_user: -8,
  /** What the app asks for is not there, such as an unsent message that was sent. */
  not_found: -9,
  /** An argument is wrong; the message names it. */
  invalid_argument: -10,
  /** More messages wait to be sent than the client keeps: 10,000. */
  outbox_full: -11,
  /** 1,000 calls wait for their turn. */
  too_many_calls: -12,
} as const

/** The name of a failure of the client. */
export type ClientErrorName = keyof typeof clientErrors

/** A failed call of the client: an error of the server, or one of {@link clientErrors}. */
export class ClientError extends Error implements Failure {
  /** The code of the server; below 0: of the client. */
  readonly code: number
  /** The name of the error, in snake case. */
  override readonly name: string
  /** True: the same call may succeed later. */
  readonly retry: boolean
  /** Time to wait before that, milliseconds; absent: not known. */
  readonly retryAfterMs?: number

  constructor({ code, name, message, retry, retryAfterMs }: Failure) {
    super(message)
    this.code = code
    this.name = name
    this.retry = retry
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs
  }
}

/** Returns a failure of the client. */
export function failureOf(name: ClientErrorName, message: string, retry = false): Failure {
  return { code: clientErrors[name], name, message, retry }
}
