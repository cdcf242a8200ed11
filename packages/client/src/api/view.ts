/** A value that changes. `getSnapshot` returns the same object until it changes. */
export interface View<T> {
  getSnapshot(): T
  /** Returns the value of a client that knows nothing yet: what a server renders, and a page hydrates. */
  getServerSnapshot(): T
  /**
   * Calls a listener after each change.
   * @returns ends the listening
   */
  subscribe(listener: () => void): () => void
}

/** Options of every call. */
export interface CallOptions {
  /** Ends the waiting; the server may still run the call. */
  readonly signal?: AbortSignal
}
