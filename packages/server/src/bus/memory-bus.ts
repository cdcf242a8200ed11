import type { Bus, BusMessages, Topic } from './bus.js'

/** The bus of a single node. */
export class MemoryBus implements Bus {
  readonly isConnected = true
  readonly #listeners = new Map<Topic, Set<(message: never) => void>>()

  publish<T extends Topic>(topic: T, message: BusMessages[T]): void {
    for (const listener of this.#listeners.get(topic) ?? [])
      (listener as (message: BusMessages[T]) => void)(message)
  }

  subscribe<T extends Topic>(topic: T, listener: (message: BusMessages[T]) => void): () => void {
    const listeners = this.#listeners.get(topic) ?? new Set()
    this.#listeners.set(topic, listeners.add(listener))
    return () => listeners.delete(listener)
  }

  /** Nothing of it is ever lost. */
  onReconnected(_listener: () => void): void {}

  async start(): Promise<void> {}

  async stop(): Promise<void> {}
}
