import type { Bus, BusMessages, Subject } from './bus.js'

/** The bus of a single node. */
export class MemoryBus implements Bus {
  readonly #listeners = new Map<Subject, Set<(message: never) => void>>()

  publish<S extends Subject>(subject: S, message: BusMessages[S]): void {
    for (const listener of this.#listeners.get(subject) ?? [])
      (listener as (message: BusMessages[S]) => void)(message)
  }

  subscribe<S extends Subject>(
    subject: S,
    listener: (message: BusMessages[S]) => void,
  ): () => void {
    const listeners = this.#listeners.get(subject) ?? new Set()
    this.#listeners.set(subject, listeners.add(listener))
    return () => listeners.delete(listener)
  }
}
