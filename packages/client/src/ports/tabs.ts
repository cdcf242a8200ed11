/**
 * Decides which tab of a user has the connection and writes the store, and connects
 * them. Node, and pages without a secure context, have {@link Tabs} of one.
 */
export interface Tabs {
  /** True when other tabs may exist; false: this one always leads. */
  readonly isShared: boolean
  /**
   * Asks for leadership once and waits for it.
   * @param options.steal takes it from a leader that does not answer
   * @returns resolves when this tab leads; rejects when the signal is aborted before
   */
  lead(options: { readonly steal: boolean; readonly signal: AbortSignal }): Promise<Leadership>
  /**
   * Sends to all other tabs; after `close` to none.
   * @throws DataCloneError when the message has a value that cannot be sent
   */
  post(message: unknown): void
  /** @returns ends the listening */
  listen(listener: (message: unknown) => void): () => void
  /** True while the user sees this tab. */
  isVisible(): boolean
  /** Listens to the life of this tab. @returns ends the listening */
  watch(listener: (change: TabChange) => void): () => void
  close(): void
}

/**
 * - `visible`: the user sees the tab again
 * - `suspended`: the browser is about to stop the tab, or to keep it for a step back in the history
 * - `resumed`: it runs again
 */
export type TabChange = 'visible' | 'suspended' | 'resumed'

/** Held until it is released, lost, or the tab ends. */
export interface Leadership {
  /** Resolves when another tab has stolen it. */
  readonly lost: Promise<void>
  release(): void
}
