import type { Batch } from '../core/batch.js'
import type { CoreEvent } from '../core/effects.js'
import type { LiveState } from '../core/live-state.js'
import type { StoredState } from '../ports/store.js'
import type { StateChange } from '../session.js'
import { applyToTables, emptyTables, fillTables, type TableMaps } from '../stores/tables.js'

/** The copy of the store in a tab, and its listeners. A listener that throws stops no other one. */
export class SessionState {
  readonly state: TableMaps & { live: LiveState }
  readonly #onError: (error: unknown) => void
  readonly #listeners = new Set<(change: StateChange) => void>()
  readonly #eventListeners = new Set<(event: CoreEvent) => void>()

  constructor(live: LiveState, onError: (error: unknown) => void) {
    this.state = { ...emptyTables(), live }
    this.#onError = onError
  }

  get commit(): number {
    return this.state.meta.commit
  }

  subscribe(listener: (change: StateChange) => void): () => void {
    // A new function, so that one function may listen twice.
    const own = (change: StateChange) => listener(change)
    this.#listeners.add(own)
    return () => this.#listeners.delete(own)
  }

  onEvent(listener: (event: CoreEvent) => void): () => void {
    const own = (event: CoreEvent) => listener(event)
    this.#eventListeners.add(own)
    return () => this.#eventListeners.delete(own)
  }

  apply(batch: Batch): void {
    applyToTables(this.state, batch)
    this.#tell(this.#listeners, { type: 'batch', batch })
  }

  reload(stored: StoredState): void {
    fillTables(this.state, stored)
    this.#tell(this.#listeners, { type: 'reload' })
  }

  setLive(live: LiveState): void {
    this.state.live = live
    this.#tell(this.#listeners, { type: 'live' })
  }

  event(event: CoreEvent): void {
    this.#tell(this.#eventListeners, event)
  }

  #tell<T>(listeners: ReadonlySet<(value: T) => void>, value: T): void {
    for (const listener of listeners) {
      try {
        listener(value)
      } catch (error) {
        this.#onError(error)
      }
    }
  }
}
