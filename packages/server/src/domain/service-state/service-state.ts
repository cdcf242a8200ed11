import { AppError, isRead, type Operation, openSession } from '@hermod/protocol'
import type { StoredServiceState } from '../../db/identity/service-state.js'

/** The calls in progress of a node that may write, and the state that it knows. */
export interface WritesFigure {
  /** When the state began that the node knows. */
  readonly since: number
  readonly writes: number
}

type StateListener = (state: StoredServiceState) => void

/** The time after which refused callers try again. */
const retryAfterSeconds = 5
const defaultTexts = {
  maintenance: 'maintenance',
  restored: 'the data is restored from a backup, and the restore is not finished',
} as const

/**
 * The state of the service as this process knows it: read with the epoch once a second, and set by
 * this process. The pipeline asks it before each call.
 */
export class ServiceState {
  readonly #listeners = new Set<StateListener>()
  #current: StoredServiceState = { state: 'serving', text: '', since: 0 }
  #writes = 0

  /** The figure that this node reports with its heartbeats. */
  get figure(): WritesFigure {
    return { since: this.#current.since, writes: this.#writes }
  }

  get current(): StoredServiceState {
    return this.#current
  }

  get isServing(): boolean {
    return this.#current.state === 'serving'
  }

  get isRestored(): boolean {
    return this.#current.state === 'restored'
  }

  /** The database has this state now. */
  found(state: StoredServiceState): void {
    const before = this.#current
    this.#current = state
    if (state.state !== before.state || state.text !== before.text)
      for (const listener of this.#listeners) listener(state)
  }

  /** Calls the listener with each change. @returns a function that ends it */
  subscribe(listener: StateListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Admits a call that begins to run.
   * @returns true when it may write: the caller reports its end with {@link writeEnded}
   * @throws AppError unavailable
   */
  begin(operation: Pick<Operation, 'id'>, principal: { readonly kind: string }): boolean {
    this.admit(operation, principal)
    const isWrite = principal.kind !== 'operator' && !isRead(operation.id)
    if (isWrite) this.#writes++
    return isWrite
  }

  /** A call for which {@link begin} returned true has ended. */
  writeEnded(): void {
    this.#writes--
  }

  /** @throws AppError unavailable, for a call that the state refuses */
  admit({ id }: Pick<Operation, 'id'>, { kind }: { readonly kind: string }): void {
    const { state, text } = this.#current
    if (state === 'serving' || kind === 'operator') return
    // Clients read in a session; of a restored service only servers read.
    const isAdmitted =
      state === 'maintenance' ? isRead(id) || id === openSession.id : isRead(id) && kind === 'admin'
    if (isAdmitted) return
    throw new AppError('unavailable', text === '' ? defaultTexts[state] : text, {
      retryAfterSeconds,
    })
  }
}
