import { isDeepStrictEqual } from 'node:util'
import {
  AppError,
  type Caller,
  type ErrorName,
  errorCatalogue,
  type Operation,
  object,
} from '@hermod/protocol'
import { parseJson, stringifyJson } from '../lib/json.js'
import { type Authenticator, authenticate, checkCaller } from './authenticate.js'
import type { Answer, Call, CallContext, Handler, Result } from './call.js'
import type { CallLimits } from './call-limits.js'
import { compileDecoder } from './decode.js'
import { compileEncoder, type EncodeSuccess } from './encode.js'
import { compileParameters, type ReadParameters } from './parameters.js'

/** What the pipeline reports about every call. */
export interface CallObserver {
  finished(call: Call, operation: Operation, code: number, startedAt: number): void
  /** A fault of ours: something was thrown that is no AppError, or a storage failure with its cause. */
  failed(call: Call, operation: Operation, error: unknown): void
}

export interface ExecutorOptions {
  readonly handlers: readonly Handler[]
  readonly authenticator: Authenticator
  readonly limits: Pick<CallLimits, 'arrived' | 'refused' | 'authenticated'>
  readonly observer: CallObserver
  /** `mirror` gives failures their HTTP class (decision A1). */
  readonly httpStatus: 'envelope' | 'mirror'
  /** Checks every answer against the operation's definition; for development and tests. */
  readonly checkAnswers: boolean
}

interface Compiled {
  readonly read: ReadParameters
  readonly handler: Handler | undefined
  readonly encode: EncodeSuccess
  readonly check: AnswerCheck | null
}

/**
 * The way of every call on every transport: limit by address, authenticate, limit by user and application, check the caller, read and
 * check parameters, run, encode.
 * It knows nothing of sockets; see decision A1 and A2 for what becomes of failures.
 */
export class Executor {
  readonly #options: ExecutorOptions
  readonly #handlers: ReadonlyMap<string, Handler>
  readonly #compiled = new Map<Operation, Compiled>()
  #isDraining = false
  #running = 0
  #whenIdle: (() => void) | null = null

  constructor(options: ExecutorOptions) {
    this.#options = options
    this.#handlers = new Map(options.handlers.map((handler) => [handler.operation.id, handler]))
  }

  /** The operations that have a handler; the others answer not_built. */
  get builtOperationIds(): ReadonlySet<string> {
    return new Set(this.#handlers.keys())
  }

  get isDraining(): boolean {
    return this.#isDraining
  }

  async execute(operation: Operation, call: Call): Promise<Answer> {
    const startedAt = performance.now()
    this.#running++
    let answer: Answer
    try {
      answer = success(await this.#run(operation, call))
    } catch (error) {
      if (!(error instanceof AppError) || error.entry.code === errorCatalogue.storage_failed.code) {
        this.#options.observer.failed(call, operation, error)
      }
      answer = this.failure(
        error instanceof AppError
          ? error
          : new AppError('internal_error', `request ${call.requestId}`, { cause: error }),
      )
    }
    this.#options.observer.finished(call, operation, answer.code, startedAt)
    if (--this.#running === 0) this.#whenIdle?.()
    return answer
  }

  /** The answer for a failure that no operation had a part in, such as an unknown path. */
  failure(error: AppError): Answer {
    const { entry, options } = error
    return {
      status: entry.always || this.#options.httpStatus === 'mirror' ? entry.http : 200,
      code: entry.code,
      retryAfterSeconds:
        options.retryAfterSeconds ?? (entry.always && entry.retryable ? 1 : undefined),
      body: stringifyJson({ code: entry.code, data: null, message: error.message }),
    }
  }

  fail(name: ErrorName): Answer {
    return this.failure(new AppError(name))
  }

  /** Refuses new calls with 503 and resolves when those under way are answered. */
  async drain(): Promise<void> {
    this.#isDraining = true
    if (this.#running === 0) return
    await new Promise<void>((resolve) => {
      this.#whenIdle = resolve
    })
  }

  /** @returns the envelope of the success */
  async #run(operation: Operation, call: Call): Promise<string> {
    const { limits } = this.#options
    if (this.#isDraining) throw new AppError('unavailable', 'shutting down')
    limits.arrived(call)
    const caller = await this.#authenticate(operation, call)
    limits.authenticated(call, caller)
    checkCaller(operation, caller)
    const { read, handler, encode, check } = this.#compile(operation)
    const params = read(call)
    if (!handler) throw new AppError('not_built')
    const context: CallContext<Caller> = {
      caller,
      requestId: call.requestId,
      address: call.address,
      userAgent: call.userAgent,
    }
    const result = await handler.run(params as never, context as never)
    const body = encode(result)
    check?.(result, body)
    return body
  }

  async #authenticate(operation: Operation, call: Call): Promise<Caller> {
    const { authenticator, limits } = this.#options
    try {
      return await authenticate(authenticator, operation, call)
    } catch (error) {
      limits.refused(call, error)
      throw error
    }
  }

  // Compiled on first use: a server is up before it has looked at every operation.
  #compile(operation: Operation): Compiled {
    const known = this.#compiled.get(operation)
    if (known) return known
    const compiled = {
      read: compileParameters(operation),
      handler: this.#handlers.get(operation.id),
      encode: compileEncoder(operation),
      check: this.#options.checkAnswers ? answerCheck(operation) : null,
    }
    this.#compiled.set(operation, compiled)
    return compiled
  }
}

function success(body: string): Answer {
  return { status: 200, code: 200, retryAfterSeconds: undefined, body }
}

type AnswerCheck = (result: Result<unknown, unknown>, body: string) => void

function answerCheck(operation: Operation): AnswerCheck {
  const decodeData = compileDecoder(operation.data, 'exact')
  const decodeExtras = compileDecoder(object(operation.extras), 'exact')
  return ({ data, extras }, body) => {
    const violations: string[] = []
    decodeData(data, 'data', violations)
    decodeExtras(extras ?? {}, 'extras', violations)
    if (
      !isDeepStrictEqual(
        parseJson(body),
        parseJson(
          stringifyJson({ code: 200, data, message: null, ...(extras as object | undefined) }),
        ),
      )
    )
      violations.push('it is written differently than it is')
    if (violations.length > 0)
      throw new Error(
        `the answer of ${operation.id} breaks its definition: ${violations.join('; ')}`,
      )
  }
}
