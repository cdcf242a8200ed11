import type * as protocol from '@hermod/protocol'

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
  /** The token is of another user, or of another device, than this client. */
  wrong_user: -8,
  /** The object of the call is not there, such as an unsent message that was sent. */
  not_found: -9,
  /** An argument is wrong; the message names it. */
  invalid_argument: -10,
  /** More messages wait to be sent than the client keeps: 10,000. */
  outbox_full: -11,
  /** 1,000 calls wait for their turn. */
  too_many_calls: -12,
  /** No WebSocket can be opened here; in Node, import `@hermod/client/node`. */
  no_web_socket: -13,
} as const

/** The name of a failure of the client. */
export type ClientErrorName = keyof typeof clientErrors

/**
 * Names of failures by the close code of the connection: after 4000 to 4499 the client comes back, after
 * 4500 to 4999 it does not without the user.
 */
export const closeNames = {
  4000: 'shutdown',
  4001: 'slow_reader',
  4002: 'no_pong',
  4003: 'token_expired',
  4004: 'too_many_requests',
  4005: 'server_error',
  4006: 'overloaded',
  4008: 'epoch_changed',
  4500: 'replaced',
  4501: 'kicked',
  4502: 'token_revoked',
  4503: 'user_disabled',
  4504: 'user_deleted',
  4505: 'invalid_token',
  4506: 'unknown_application',
  4507: 'bad_frame',
  4508: 'open_time_out',
  4509: 'opened_twice',
  4510: 'connection_limit',
  4511: 'not_opened',
} as const

/** The name of the end of a session. */
export type CloseName = (typeof closeNames)[keyof typeof closeNames]

/** The name of an error of the server. */
export type ServerErrorName = protocol.ErrorName

/**
 * The name of a failure. A newer server may send others, so an app also expects names that it does
 * not know. `refused`: the server has refused a message or a log-in, and the reason is its code.
 */
export type FailureName =
  | ClientErrorName
  | CloseName
  | ServerErrorName
  | 'refused'
  | `close_${number}`

/** The state of a message that is written piece by piece and has refused a piece. */
export interface StreamPosition {
  /** The index of the next piece. */
  readonly nextIndex: number
  /** Only an `open` one takes pieces. */
  readonly state: 'open' | 'done' | 'failed' | 'cancelled' | 'interrupted' | 'recalled'
}

/** Why a call, a message or a connection failed. */
export interface Failure {
  /** The code of the server; below 0: of the client. */
  readonly code: number
  /** In snake case. */
  readonly name: FailureName
  /** A sentence for people. */
  readonly message: string
  /** True: the same may succeed later. */
  readonly retry: boolean
  /** Time to wait before that, milliseconds; absent: not known. */
  readonly retryAfterMs?: number
  /** Present with `stream_refused`. */
  readonly stream?: StreamPosition
}

/** A failed call of the client: an error of the server, or one of {@link clientErrors}. */
export class ClientError extends Error implements Failure {
  /** The code of the server; below 0: of the client. */
  readonly code: number
  /** The name of the error, in snake case. */
  override readonly name: FailureName
  /** True: the same call may succeed later. */
  readonly retry: boolean
  /** Time to wait before that, milliseconds; absent: not known. */
  readonly retryAfterMs?: number
  /** Present with `stream_refused`. */
  readonly stream?: StreamPosition

  constructor(failure: Failure, options?: ErrorOptions) {
    const { code, name, message, retry, retryAfterMs, stream } = failure
    super(message, options)
    this.code = code
    this.name = name
    this.retry = retry
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs
    if (stream !== undefined) this.stream = stream
  }
}

/** Returns a failure of the client. */
export function failureOf(name: ClientErrorName, message: string, retry = false): Failure {
  return { code: clientErrors[name], name, message, retry }
}

/** The failure of what needs a connection, and has none. */
export const notConnected = failureOf('not_connected', 'there is no connection', true)

/** Returns the failure of a call whose answer has another form. */
export function badAnswer(op: string, retry = true): Failure {
  return failureOf('bad_answer', `the answer to ${op} is none`, retry)
}
