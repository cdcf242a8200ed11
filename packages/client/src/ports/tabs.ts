/**
 * Which of the tabs of one user has the connection and writes the store, and the channel between
 * them. Node, and pages without a secure context, have {@link Tabs} of one.
 */
export interface Tabs {
  /** True when other tabs may exist; false: this one always leads. */
  readonly isShared: boolean
  /**
   * Asks for leadership once and waits for it.
   * @param options.steal takes it from a leader that does not answer
   * @returns resolves when this tab leads
   */
  lead(options: { readonly steal: boolean; readonly signal: AbortSignal }): Promise<Leadership>
  /** Sends to all other tabs. */
  post(message: unknown): void
  /** @returns ends the listening */
  listen(listener: (message: unknown) => void): () => void
  /** True while the user sees this tab. */
  isVisible(): boolean
  close(): void
}

/** Held until it is released, lost, or the tab ends. */
export interface Leadership {
  /** Resolves when another tab has stolen it. */
  readonly lost: Promise<void>
  release(): void
}
