import type { ErrorName, Operation } from '@hermod/protocol'
import type { Account, Identity, Params, WalkWorld } from './walk-world.js'

/** Whom a call is about, and the world around. */
export interface WalkContext {
  readonly world: WalkWorld
  readonly subject: Account
  /** Another user of the application, who knows the subject. */
  readonly friend: Account
}

/** How an operation is called so that it can do its work. */
export interface Fixture {
  readonly operation: Operation
  /** Valid parameters for a call about the subject; prepares what they name. Each call gets its own. */
  readonly params: (context: WalkContext) => Params | Promise<Params>
  /** The operation ends the subject or its tokens, or renames it: every call gets a subject of its own. */
  readonly needsVictim?: boolean
  /** What the operation answers when nothing better can be asked of it; default: success. */
  readonly error?: ErrorName
}

type Options = Omit<Fixture, 'operation' | 'params'>

export function fixture(
  operation: unknown,
  params: Fixture['params'] | Params = {},
  options: Options = {},
): Fixture {
  return {
    operation: operation as Operation,
    params: typeof params === 'function' ? params : () => params,
    ...options,
  }
}

/** The Admin token of the subject's application, for the subject. */
export function asSubject({ world, subject }: WalkContext): Identity {
  return world.adminFor(subject)
}
