import { featuresKey } from '../model/features.js'
import type { StoredState } from '../ports/store.js'
import type { CoreContext } from './core-context.js'
import { listOf } from './logs/wire.js'
import type { OpenedSession, Part } from './part.js'

/** Keeps the names of the features that the service has announced, for the time without a session. */
export class ServiceFeatures implements Part {
  readonly #context: CoreContext
  #stored: unknown

  constructor(context: CoreContext) {
    this.#context = context
  }

  start({ cached }: StoredState): void {
    this.#stored = cached.find(({ key }) => key === featuresKey)?.value
  }

  reset(): void {
    this.#stored = undefined
  }

  opened({ features }: OpenedSession): void {
    const value = listOf(features)
    if (listOf(this.#stored).join() === value.join()) return
    this.#stored = value
    this.#context.batch.putCachedRead({ key: featuresKey, value, isStale: false })
  }
}
