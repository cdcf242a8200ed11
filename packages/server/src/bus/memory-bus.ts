import type { Bus, BusMessages, ListenerFailed, Topic } from './bus.js'

/** The bus of a single node. */
export class MemoryBus implements Bus {
  readonly isConnected = true
  readonly #listeners = new Map<Topic, Set<(message: never) => void>>()

  /** @param failed a listener that fails keeps the message from no other one */
  constructor(private readonly failed: ListenerFailed = throwOutside) {}

  publish<T extends Topic>(topic: T, message: BusMessages[T]): void {
    for (const listener of this.#listeners.get(topic) ?? []) {
      try {
        ;(listener as (message: BusMessages[T]) => void)(message)
      } catch (error) {
        this.failed(topic, error)
      }
    }
  }

  subscribe<T extends Topic>(topic: T, listener: (message: BusMessages[T]) => void): () => void {
    const listeners = this.#listeners.get(topic) ?? new Set()
    this.#listeners.set(topic, listeners.add(listener))
    return () => listeners.delete(listener)
  }

  /** Calls no listener, since this bus loses nothing. */
  onReconnected(_listener: () => void): void {}

  async start(): Promise<void> {}

  async stop(): Promise<void> {}
}

function throwOutside(_topic: Topic, error: unknown): void {
  queueMicrotask(() => {
    throw error
  })
}
