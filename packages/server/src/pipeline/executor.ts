import { AppError, type CallerRule, errorCatalogue, type Operation } from '@hermod/protocol'
import type { EventLoopBudget } from '../lib/concurrency/event-loop-budget.js'
import { Slots } from '../lib/concurrency/slots.js'
import { stringifyJson } from '../lib/json.js'
import { type MaybePromise, thenMaybe } from '../lib/maybe-promise.js'
import { isOutOfDescriptors } from '../lib/system/out-of-descriptors.js'
import { type Allowance, unlimited } from './allowance.js'
import { type Authenticator, authenticate } from './authenticate.js'
import { compileSubject, type RequireSubject, requireCaller } from './authorize.js'
import {
  type Call,
  type CallContext,
  type Handler,
  movesFiles,
  type Payload,
  type Reply,
} from './call.js'
import { answerCost, bodyCost, type CallCost, compileCost } from './call-cost.js'
import type { CallLimits } from './call-limits.js'
import { type AnswerCheck, answerEncoder, compileAnswerCheck, type EncodeAnswer } from './encode.js'
import { compileParameters, type Parameters, type ReadParameters } from './parameters.js'
import type { Principal, UserDirectory } from './principal.js'

/** Gets a report of every call. */
export interface CallObserver {
  finished(call: Call, operation: Operation, code: number, startedAt: number): void
  /**
   * Reports a failure of the service: a thrown value that is no AppError, or a storage failure with
   * its cause.
   */
  failed(call: Call, operation: Operation, error: unknown): void
}

export interface ExecutorOptions {
  readonly handlers: readonly Handler[]
  readonly authenticator: Authenticator
  readonly users: UserDirectory
  readonly limits: Pick<CallLimits, 'arrived' | 'refused' | 'authenticated' | 'bodyArrived'>
  /** The state of the service, which may refuse calls; absent: it serves. */
  readonly state?: {
    /** @throws AppError unavailable */
    admit(operation: Operation, principal: Principal): void
    /**
     * Admits a call that begins to run.
     * @returns true when its end must be reported
     * @throws AppError unavailable
     */
    begin(operation: Operation, principal: Principal): boolean
    writeEnded(): void
  }
  readonly observer: CallObserver
  readonly budget: EventLoopBudget
  /** Checks every answer against the operation's definition; for development and tests. */
  readonly checkAnswers: boolean
}

/**
 * Writes a success as its transport needs it: as the text of the envelope, or as the value itself.
 * It is called within the call, so its failure is one of the call.
 */
export type WritePayload<Encoded> = (
  payload: Payload,
  encode: EncodeAnswer,
) => MaybePromise<Encoded>

/** The envelope as JSON text. */
export const asEnvelope: WritePayload<string> = (payload, encode) => encode(payload)

/**
 * Returns the writer of a success as NDJSON.
 * @param member the list in `data` whose entries become lines; a last line has the other members
 */
export function asLines(member: string): WritePayload<string> {
  return ({ data }) => {
    const { [member]: entries, ...rest } = data as Readonly<Record<string, unknown>>
    return [...(entries as readonly unknown[]), rest]
      .map((line) => `${stringifyJson(line)}\n`)
      .join('')
  }
}

/** The value itself, for callers in this process. */
export const asValue: WritePayload<Payload> = (payload) => payload

/** Extends the way of all calls for some operations; see {@link FileCalls}. */
export interface CallExtension {
  /**
   * Runs once the caller is known and may call the operation.
   * @throws AppError that the call is answered with
   */
  admit(allowance: Allowance): void
  /** Members that the handler's context has in addition. */
  readonly context?: object
  /** Takes over the end of a call that succeeds: the call counts until `end` is called. */
  keepOpen?(allowance: Allowance, end: () => void): void
}

interface Compiled {
  readonly read: ReadParameters
  readonly requireSubject: RequireSubject
  readonly handler: Handler | undefined
  readonly cost: CallCost | null
  readonly movesFiles: boolean
  readonly encode: EncodeAnswer
  readonly check: AnswerCheck | null
}

interface Timing {
  /** When the whole call had arrived, as performance.now(). */
  startedAt: number
}

/** A token that ends is refused within this time, on every node (rule C6). */
const tokenEndsWithinMs = 1_000

/** The caller of a call that waits is checked this often. */
const waitCheckMs = 500

/** Large look-ups that run at once; each holds some 10 MB. */
const largeLookUps = 4
const waitingLookUps = 100

/**
 * Executes every call of every transport: limit by address, authenticate, limit by user and app,
 * check the caller, read and check parameters, find the user and the group that the call is about,
 * run, encode. It knows no sockets, headers or statuses.
 */
export class Executor {
  readonly #options: ExecutorOptions
  readonly #handlers: ReadonlyMap<string, Handler>
  readonly #compiled = new Map<Operation, Compiled>()
  readonly #largeLookUps = new Slots({
    parallel: largeLookUps,
    maxWaiting: waitingLookUps,
    full: () => new AppError('unavailable', 'too many large look-ups'),
  })
  /** The calls in progress of operations that wait. */
  readonly #waits = new Set<AbortController>()
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

  /**
   * Never throws: every error becomes a failure in the reply.
   * @param extension of an operation that moves files; without one such an operation is refused
   */
  async execute<Encoded>(
    operation: Operation,
    call: Call,
    write: WritePayload<Encoded>,
    extension: CallExtension | null = null,
  ): Promise<Reply<Encoded>> {
    const timing = { startedAt: performance.now() }
    const calledAt = timing.startedAt
    this.#running++
    let allowance = unlimited
    let refundable = 0
    let slots: Slots | null = null
    let isWrite = false
    let wait: AbortController | null = null
    let check: NodeJS.Timeout | undefined
    let reply: Reply<Encoded>
    let code = 200
    const end = () => {
      allowance.end()
      this.#ended()
    }
    try {
      const compiled = this.#compile(operation)
      const admitted = this.#admit(operation, call)
      const principal = admitted instanceof Promise ? await admitted : admitted
      allowance = this.#options.limits.authenticated(call, principal, operation.countsForApp)
      requireCaller(operation, principal)
      this.#options.state?.admit(operation, principal)
      if (operation.socket === 'only' && !call.session) throw new AppError('socket_needed')
      if (extension !== null) extension.admit(allowance)
      else if (compiled.movesFiles) throw new AppError('http_needed')
      let bodyBytes = 0
      const reading = compiled.read(call, (bytes) => {
        bodyBytes = bytes
        const tokens = bodyCost(bytes, operation.bodyBytesPerToken)
        this.#options.limits.bodyArrived(call, principal, tokens)
        allowance.chargeBody(tokens)
      })
      const params = reading instanceof Promise ? await this.#arrived(reading, timing) : reading
      // A body may come slowly, and its caller be logged out before its end.
      if (timing.startedAt - calledAt > tokenEndsWithinMs) await this.#admitAgain(operation, call)
      isWrite = this.#options.state?.begin(operation, principal) ?? false
      const { cost } = compiled
      if (cost !== null) {
        // A message, which pays its copies, gets the tokens of its body back.
        if (bodyBytes > 0)
          allowance.charge(bodyCost(cost.parsedBytes(params, bodyBytes)) - bodyCost(bodyBytes))
        refundable = cost.bytes(params)
        allowance.charge(cost.entries(params) + refundable)
        if (cost.isLarge(params)) slots = await this.#enterLarge()
      }
      const context = contextOf(call, principal, allowance)
      if (extension?.context) Object.assign(context, extension.context)
      if (operation.waits) {
        wait = this.#beginWait()
        check = this.#checkDuring(wait, operation, call)
        const signals = call.gone ? [wait.signal, call.gone] : [wait.signal]
        Object.assign(context, { signal: AbortSignal.any(signals) })
      }
      const answer = await this.#run(compiled, params, context)
      // A token that has ended or lost a scope during the wait gets no answer.
      if (operation.waits) await this.#admitAgain(operation, call)
      const text = encoded(answer, compiled, write)
      reply = { kind: 'payload', encoded: text instanceof Promise ? await text : text }
      allowance.charge(answerCost(reply.encoded))
    } catch (thrown) {
      const error = this.#errorOf(operation, call, thrown)
      code = error.entry.code
      reply = { kind: 'failure', error }
      allowance.charge(-refundable)
    }
    slots?.leave()
    if (isWrite) this.#options.state?.writeEnded()
    clearInterval(check)
    if (wait !== null) this.#waits.delete(wait)
    this.#options.observer.finished(call, operation, code, timing.startedAt)
    if (reply.kind === 'payload' && extension?.keepOpen) extension.keepOpen(allowance, end)
    else end()
    return reply
  }

  /** Refuses new calls with 503, ends all waits and resolves when all calls in progress have ended. */
  async drain(): Promise<void> {
    this.#isDraining = true
    for (const wait of this.#waits) wait.abort()
    if (this.#running === 0) return
    await new Promise<void>((resolve) => {
      this.#whenIdle = resolve
    })
  }

  #ended(): void {
    if (--this.#running === 0) this.#whenIdle?.()
  }

  #errorOf(operation: Operation, call: Call, thrown: unknown): AppError {
    const isOurs = !(thrown instanceof AppError)
    if (isOurs || thrown.entry.code === errorCatalogue.storage_failed.code)
      this.#options.observer.failed(call, operation, thrown)
    if (!isOurs) return thrown
    return isOutOfDescriptors(thrown)
      ? new AppError('unavailable', undefined, { cause: thrown })
      : new AppError('internal_error', `request ${call.requestId}`, { cause: thrown })
  }

  #admit(operation: Operation, call: Call): MaybePromise<Principal> {
    if (this.#isDraining) shuttingDown()
    this.#options.limits.arrived(call)
    return this.#authenticate(operation, call)
  }

  /** Waits for a body. That time does not count as the service's, and a stop does not wait for it. */
  async #arrived(reading: Promise<Parameters>, timing: Timing): Promise<Parameters> {
    this.#ended()
    try {
      const params = await reading
      if (this.#isDraining) shuttingDown()
      return params
    } finally {
      this.#running++
      timing.startedAt = performance.now()
    }
  }

  #beginWait(): AbortController {
    const wait = new AbortController()
    if (this.#isDraining) wait.abort()
    else this.#waits.add(wait)
    return wait
  }

  /** Ends the wait soon after its caller loses the access. */
  #checkDuring(wait: AbortController, operation: Operation, call: Call): NodeJS.Timeout {
    const check = () => this.#admitAgain(operation, call).catch(() => wait.abort())
    return setInterval(check, waitCheckMs).unref()
  }

  async #enterLarge(): Promise<Slots> {
    await this.#largeLookUps.enter()
    return this.#largeLookUps
  }

  #run(
    { requireSubject, handler }: Compiled,
    params: Parameters,
    context: CallContext<CallerRule>,
  ): MaybePromise<Payload> {
    if (!handler) throw new AppError('not_built')
    return thenMaybe(requireSubject(this.#options.users, context.principal, params), () =>
      handler.run(params as never, context as never),
    )
  }

  /** The end of a token, and the loss of a scope, count for calls that take long. */
  async #admitAgain(operation: Operation, call: Call): Promise<void> {
    requireCaller(operation, await this.#authenticate(operation, call))
  }

  #authenticate(operation: Operation, call: Call): MaybePromise<Principal> {
    if (call.principal) return call.principal
    const { authenticator, limits } = this.#options
    const refused = (error: unknown): never => {
      limits.refused(call, error)
      throw error
    }
    try {
      const found = authenticate(authenticator, operation, call)
      return found instanceof Promise ? found.catch(refused) : found
    } catch (error) {
      return refused(error)
    }
  }

  // Compiled at the first use, so that the server starts sooner.
  #compile(operation: Operation): Compiled {
    const known = this.#compiled.get(operation)
    if (known) return known
    const compiled = {
      read: compileParameters(operation),
      requireSubject: compileSubject(operation),
      handler: this.#handlers.get(operation.id),
      cost: compileCost(operation),
      movesFiles: movesFiles(operation),
      encode: answerEncoder(operation, this.#options.budget),
      check: this.#options.checkAnswers ? compileAnswerCheck(operation) : null,
    }
    this.#compiled.set(operation, compiled)
    return compiled
  }
}

function shuttingDown(): never {
  throw new AppError('unavailable', 'shutting down')
}

function contextOf(
  call: Call,
  principal: Principal,
  allowance: Allowance,
): CallContext<CallerRule> {
  const { requestId, address, userAgent, baseUrl, session = null } = call
  const known = { principal, requestId, address, userAgent, baseUrl, session, allowance }
  return known as CallContext<CallerRule>
}

function encoded<Encoded>(
  payload: Payload,
  { encode, check }: Compiled,
  write: WritePayload<Encoded>,
): MaybePromise<Encoded> {
  return check === null ? write(payload, encode) : checked(payload, { encode, check }, write)
}

async function checked<Encoded>(
  payload: Payload,
  { encode, check }: { readonly encode: EncodeAnswer; readonly check: AnswerCheck },
  write: WritePayload<Encoded>,
): Promise<Encoded> {
  check(payload, await encode(payload))
  return write(payload, encode)
}
