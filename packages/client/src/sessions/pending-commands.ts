import type { Command } from '../core/inputs.js'
import { ClientError, type ClientErrorName, failureOf } from '../errors.js'
import type { CommandOutcome } from '../runtime/leader.js'

/** A command with the ID that all tabs know it by. */
export interface PendingCommand {
  readonly id: string
  readonly command: Command
}

interface Entry extends PendingCommand {
  /** A leader has it, so it may have run. */
  isTaken: boolean
  readonly settle: (outcome: CommandOutcome) => void
}

/** More commands of one tab without an outcome are refused. */
const maxPending = 10_000

/**
 * The commands of a tab that have no outcome yet, and its standing ones: the newest `watch`, `presence`,
 * `onScreen` and `quotes` of each caller.
 */
export class PendingCommands {
  readonly #tab: string
  readonly #entries = new Map<string, Entry>()
  readonly #standing = new Map<string, PendingCommand>()
  #count = 0

  constructor(tab: string) {
    this.#tab = tab
  }

  /** IDs of the commands without an outcome. */
  get ids(): readonly string[] {
    return [...this.#entries.keys()]
  }

  /**
   * Adds a command.
   * @returns the command as a leader gets it, and its outcome
   * @throws ClientError `too_many_calls`
   */
  add(command: Command): { readonly sent: PendingCommand; readonly outcome: Promise<unknown> } {
    if (this.#entries.size >= maxPending)
      throw clientError('too_many_calls', `${maxPending} commands of this tab wait`)
    const id = `${this.#tab}.${++this.#count}`
    const sent = { id, command: this.#ownCommand(command) }
    this.#keepStanding(sent)
    const outcome = new Promise<unknown>((resolve, reject) => {
      const settle = (result: CommandOutcome) => {
        if (result.type === 'result') resolve(result.value)
        else reject(new ClientError(result.failure))
      }
      this.#entries.set(id, { ...sent, isTaken: false, settle })
    })
    return { sent, outcome }
  }

  /** A leader has the command. */
  taken(id: string): void {
    const entry = this.#entries.get(id)
    if (entry) entry.isTaken = true
  }

  /** @returns false: the command has its outcome already */
  settle(id: string, outcome: CommandOutcome): boolean {
    const entry = this.#entries.get(id)
    this.#entries.delete(id)
    entry?.settle(outcome)
    return entry !== undefined
  }

  fail(id: string, name: ClientErrorName, message: string): boolean {
    return this.settle(id, { type: 'failure', failure: failureOf(name, message) })
  }

  /** The commands of these IDs that have no outcome yet. */
  of(ids: readonly string[]): readonly PendingCommand[] {
    return ids.flatMap((id) => this.#entries.get(id) ?? [])
  }

  /**
   * Returns everything that a new leader has to run, in the order of this tab: the standing commands,
   * and those without an outcome. A call that the former leader had taken fails instead, because it
   * may have run, and not every operation may run twice.
   */
  forNewLeader(): readonly PendingCommand[] {
    for (const { id, command, isTaken } of [...this.#entries.values()]) {
      if (isTaken && command.type === 'call')
        this.fail(id, 'not_connected', 'the tab with the connection ended before the answer came')
    }
    for (const entry of this.#entries.values()) entry.isTaken = false
    const commands = new Map<string, PendingCommand>(this.#entries)
    for (const command of this.#standing.values()) commands.set(command.id, command)
    return [...commands.values()].sort((a, b) => numberOf(a.id) - numberOf(b.id))
  }

  failAll(name: ClientErrorName, message: string): void {
    for (const id of this.ids) this.fail(id, name, message)
  }

  #ownCommand(command: Command): Command {
    return 'caller' in command ? { ...command, caller: `${this.#tab} ${command.caller}` } : command
  }

  #keepStanding(sent: PendingCommand): void {
    const { command } = sent
    const key = standingKey(command)
    if (key === undefined) return
    if (isEmptyList(command)) this.#standing.delete(key)
    else this.#standing.set(key, sent)
  }
}

const numberOf = (id: string) => Number(id.slice(id.indexOf('.') + 1))

/** Returns the key of a command that replaces the former one of its caller; undefined: it is none. */
export function standingKey(command: Command): string | undefined {
  return 'caller' in command ? `${command.type} ${command.caller}` : undefined
}

/** True for a command that ends what its caller wants. */
export function isEmptyList(command: Command): boolean {
  return Object.values(command).some((value) => Array.isArray(value) && value.length === 0)
}

/** Returns a failure of the client to throw. */
export function clientError(name: ClientErrorName, message: string): ClientError {
  return new ClientError(failureOf(name, message))
}
