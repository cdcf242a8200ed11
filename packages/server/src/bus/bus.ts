/** What is said between the nodes of a service and between the parts of one; the key is the subject. */
export interface BusMessages {
  /** A cached value changed and must be read again. */
  'cache.invalidated': { readonly cache: string; readonly key: string }
  /** There are new events in the outbox of the app. */
  'outbox.appended': { readonly appId: string }
  /** Durable work was committed. */
  'jobs.enqueued': { readonly kind: string }
}

/** What a message is about. */
export type Subject = keyof BusMessages

/**
 * Tells every node, this one included. A message may be lost when a node or the network fails, so code that depends on one bounds for how
 * long its absence matters. A listener on the publishing node has heard a message when `publish` returns.
 */
export interface Bus {
  publish<S extends Subject>(subject: S, message: BusMessages[S]): void
  /** @returns ends the subscription */
  subscribe<S extends Subject>(subject: S, listener: (message: BusMessages[S]) => void): () => void
}
