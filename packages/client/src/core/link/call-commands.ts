import { type Failure, failureOf, notConnected } from '../../errors.js'
import type { CallOutcome, CoreContext } from '../core-context.js'
import type { Command } from '../inputs.js'
import type { Part } from '../part.js'
import { unanswered } from './calls.js'

/** Time that a call of the app waits for a session. */
export const sessionWaitMs = 10_000
/** Calls of the app that wait for a session. */
export const maxPendingCommands = 1_000

type CallCommand = Extract<Command, { readonly type: 'call' }>

/** Calls of the app: they wait a moment for a session, and each has one outcome. */
export class CallCommands implements Part {
  readonly #context: CoreContext
  readonly #isWanted: () => boolean
  /** Those that wait for a session. */
  readonly #pending = new Map<string, CallCommand>()
  /** Cancels those that are called. */
  readonly #running = new Map<string, () => void>()

  constructor(context: CoreContext, isWanted: () => boolean) {
    this.#context = context
    this.#isWanted = isWanted
  }

  command(id: string, command: Command): boolean {
    if (command.type !== 'call') return false
    if (command.op === 'session.open')
      this.#fail(id, failureOf('invalid_argument', 'op: the client itself opens the session'))
    else if (this.#context.isOpen) this.#call(id, command)
    else if (!this.#isWanted()) this.#fail(id, notConnected)
    else if (this.#pending.size >= maxPendingCommands)
      this.#fail(id, failureOf('too_many_calls', `${maxPendingCommands} calls wait`, true))
    else {
      this.#pending.set(id, command)
      this.#context.after(`call.${id}`, sessionWaitMs, () => {
        this.#pending.delete(id)
        this.#fail(id, notConnected)
      })
    }
    return true
  }

  opened(): void {
    const pending = [...this.#pending]
    this.#pending.clear()
    for (const [id, command] of pending) {
      this.#context.cancel(`call.${id}`)
      this.#call(id, command)
    }
  }

  cancel(id: string): void {
    if (this.#pending.delete(id)) this.#context.cancel(`call.${id}`)
    this.#running.get(id)?.()
    this.#running.delete(id)
  }

  #call(id: string, command: CallCommand): void {
    const { op, data, userId, groupId } = command
    const done = (outcome: CallOutcome) => {
      this.#running.delete(id)
      if (outcome.type === 'answer')
        this.#context.emit({ type: 'result', id, value: outcome.answer })
      else if (outcome.type === 'failure') this.#fail(id, outcome.failure)
      else if (outcome.isSent) this.#fail(id, unanswered)
      else this.command(id, command)
    }
    this.#running.set(id, this.#context.call(op, data, done, { userId, groupId }))
  }

  #fail(id: string, failure: Failure): void {
    this.#context.emit({ type: 'failure', id, failure })
  }
}
