import {
  AppError,
  isWholeBody,
  maxBodyBytes,
  type Operation,
  operationsById,
} from '@hermod/protocol'
import { retainedBytes } from '../../lib/system/retained-bytes.js'
import type { Call, Credentials } from '../../pipeline/call.js'
import { asEnvelope, type Executor } from '../../pipeline/executor.js'
import { invalid } from '../../pipeline/parameters.js'
import type { Connection } from '../connection.js'
import { failureText, successText } from '../frames/answers.js'
import { dataOf, type ReceivedCall } from '../frames/client-frame.js'
import { callsInProgress, maxNameLength, refusedPauseMs, waitingCalls } from '../limits.js'
import { PendingCalls, type ReadyCall } from './pending-calls.js'

interface CallRunnerOptions {
  readonly executor: Executor
  nextRequestId(): string
  /** The most bytes of all frames whose calls are waiting. */
  readonly maxWaitingBytes: number
  /** Reads nothing more of the connection for a time. */
  throttle(connection: Connection, ms: number): void
}

/** Bytes of a frame around the data. */
const envelopeBytes = 512
const noQuery = {}

/**
 * Runs the calls of connections through the pipeline: some of a connection at once, some wait, and
 * the others are refused.
 */
export class CallRunner {
  readonly #bodyLimits = new Map<Operation, number>()
  #waitingBytes = 0

  constructor(private readonly options: CallRunnerOptions) {}

  /** Bytes of frames whose calls wait. */
  get waitingBytes(): number {
    return this.#waitingBytes
  }

  /** Runs the call of a frame, or answers why it is not run. */
  receive(connection: Connection, frame: ReceivedCall): void {
    const found = this.#find(frame)
    if (found instanceof AppError) {
      connection.countIdle(frame.bytes.length)
      connection.fail(frame.id, found)
      return
    }
    const call = { frame, operation: found }
    connection.calls ??= new PendingCalls()
    const { calls } = connection
    if (calls.waiting.length === 0 && this.#mayBegin(connection)) this.#run(connection, call)
    else if (this.#mayWait(calls, frame)) {
      calls.waiting.push(call)
      this.#waitingBytes += retainedBytes(frame.bytes)
    } else {
      const detail = `${callsInProgress} calls are in progress, and ${calls.waiting.length} wait`
      const error = new AppError('too_many_requests', detail, { retryAfterSeconds: 1 })
      connection.fail(frame.id, error)
      connection.countRefused(frame.bytes.length)
      if (!connection.isClosing) this.options.throttle(connection, 0)
    }
  }

  /** Begins waiting calls as far as there is room. */
  resume(connection: Connection): void {
    const { calls } = connection
    if (calls === null) return
    while (calls.waiting.length > 0 && this.#mayBegin(connection)) {
      const call = calls.waiting.shift() as ReadyCall
      this.#waitingBytes -= retainedBytes(call.frame.bytes)
      this.#run(connection, call)
    }
    if (calls.running === 0 && calls.waiting.length === 0) connection.calls = null
  }

  /**
   * The connection closes: its waiting calls are not run, and answered so; calls that wait for an
   * event end.
   */
  refuseWaiting(connection: Connection): void {
    connection.calls?.end()
    const error = new AppError('unavailable', 'the connection closes')
    for (const { frame } of connection.calls?.waiting.splice(0) ?? []) {
      this.#waitingBytes -= retainedBytes(frame.bytes)
      connection.answer(failureText(frame.id, error))
    }
  }

  #find({ op, bytes }: ReceivedCall): Operation | AppError {
    if (typeof op !== 'string' || op.length > maxNameLength)
      return invalid([`op must be a text of at most ${maxNameLength} characters`])
    const operation = operationsById.get(op)
    if (!operation) return new AppError('operation_unknown', op)
    if (operation.socket === false) return new AppError('http_needed', op)
    const limit = this.#bodyLimit(operation)
    return bytes.length > limit + envelopeBytes
      ? new AppError('body_too_large', `at most ${limit} bytes`)
      : operation
  }

  #bodyLimit(operation: Operation): number {
    const known = this.#bodyLimits.get(operation)
    if (known !== undefined) return known
    const limit = maxBodyBytes(operation)
    this.#bodyLimits.set(operation, limit)
    return limit
  }

  #mayBegin({ state, calls, isBehind }: Connection): boolean {
    return state === 'open' && !isBehind && (calls?.running ?? 0) < callsInProgress
  }

  #mayWait({ waiting }: PendingCalls, { bytes }: ReceivedCall): boolean {
    return (
      waiting.length < waitingCalls &&
      this.#waitingBytes + retainedBytes(bytes) <= this.options.maxWaitingBytes
    )
  }

  #run(connection: Connection, { frame, operation }: ReadyCall): void {
    const { calls } = connection
    if (calls === null) return
    calls.running++
    const call = this.#callOf(connection, frame, operation)
    void this.options.executor.execute(operation, call, asEnvelope).then((reply) => {
      calls.running--
      if (reply.kind === 'payload') connection.answer(successText(frame.id, reply.encoded))
      else {
        connection.answer(failureText(frame.id, reply.error))
        noteRefusal(connection, reply.error)
        if (isLimit(reply.error) && !connection.isClosing)
          this.options.throttle(connection, refusedPauseMs)
      }
      this.resume(connection)
    })
  }

  #callOf(connection: Connection, frame: ReceivedCall, operation: Operation): Call {
    const { source, session, userAgent } = connection
    const { body } = operation
    const gone = operation.waits ? connection.calls?.gone : undefined
    return {
      requestId: this.options.nextRequestId(),
      address: source.address,
      baseUrl: source.baseUrl,
      userAgent,
      query: noQuery,
      body(arrived) {
        arrived(frame.bytes.length)
        const data = dataOf(frame)
        return isWholeBody(body) ? data[body.whole] : data
      },
      credentials: callCredentials(connection, frame),
      ...(session === null ? {} : { session }),
      ...(gone === undefined ? {} : { gone }),
    }
  }
}

/**
 * Members next to data are the headers of these names. A session of an Admin token acts for its
 * user by default.
 */
function callCredentials({ credentials }: Connection, frame: ReceivedCall): Credentials {
  return {
    appId: credentials?.appId,
    accessToken: credentials?.accessToken,
    userId: headerText(frame.userId) ?? credentials?.userId,
    groupId: headerText(frame.groupId),
  }
}

/** The text of a header with this value; a value that no header has becomes a text that is no ID. */
export function headerText(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  return typeof value === 'object' ? 'object' : String(value)
}

/** Reports whether the caller has called too much. */
function isLimit({ errorName }: AppError): boolean {
  return errorName === 'too_many_requests' || errorName === 'address_limited'
}

/** Credentials that are refused once stay refused. */
function noteRefusal(connection: Connection, { errorName }: AppError): void {
  if (errorName === 'token_expired') connection.refusedWith = 'tokenRevoked'
  else if (errorName === 'token_invalid') connection.refusedWith = 'invalidToken'
  else if (errorName === 'app_inactive' || errorName === 'app_not_found')
    connection.refusedWith = 'unknownApplication'
}
