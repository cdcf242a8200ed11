import { type Store, StoreError, type StoreFailure } from '../../src/ports/store.js'

/** A store that works until a call, and fails from then on. */
export class FaultyStore implements Store {
  /** Calls so far. */
  calls = 0
  readonly #store: Store
  readonly #failAt: number
  readonly #error: StoreFailure | Error

  /**
   * @param failAt number of the first call that fails, from 1
   * @param error the failure, or an error that no store should throw
   */
  constructor(store: Store, failAt: number, error: StoreFailure | Error) {
    this.#store = store
    this.#failAt = failAt
    this.#error = error
  }

  load: Store['load'] = () => this.#call(() => this.#store.load())
  messages: Store['messages'] = (query) => this.#call(() => this.#store.messages(query))
  lead: Store['lead'] = () => this.#call(() => this.#store.lead())
  check: Store['check'] = (generation) => this.#call(() => this.#store.check(generation))
  apply: Store['apply'] = (batch, generation) =>
    this.#call(() => this.#store.apply(batch, generation))
  deviceGuid: Store['deviceGuid'] = () => this.#call(() => this.#store.deviceGuid())
  destroy: Store['destroy'] = () => this.#call(() => this.#store.destroy())

  close(): void {
    this.#store.close()
  }

  async #call<T>(run: () => Promise<T>): Promise<T> {
    if (++this.calls < this.#failAt) return run()
    throw typeof this.#error === 'string' ? new StoreError(this.#error) : this.#error
  }
}
