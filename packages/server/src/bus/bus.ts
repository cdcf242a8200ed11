import type { Int64 } from '@hermod/protocol'
import type { AnswerMessage, QuestionMessage } from '../nodes/questions.js'

/** Messages between the nodes of a service and between the parts of one node, by topic. */
export interface BusMessages {
  /** A cached value changed and must be read again. */
  'cache.invalidated': { readonly cache: string; readonly key: string }
  /** There are new events in the outbox of the app. */
  'outbox.appended': { readonly appId: string }
  /** Durable work was committed. */
  'jobs.enqueued': { readonly kind: string }
  /** A device of a session of the node `to` has opened a later one on another node. */
  'session.displaced': {
    readonly to: string
    readonly appId: string
    readonly userId: Int64
    readonly sessionId: number
  }
  /** Questions of one node to another one. */
  'node.question': QuestionMessage
  'node.answer': AnswerMessage
}

/** The topic of a message. */
export type Topic = keyof BusMessages

/**
 * Brings messages to every node, this one included. A failure of a node or of the network may lose
 * a message, so code that depends on messages bounds how long a lost one matters. When `publish`
 * returns, the listeners on the publishing node have been called.
 */
export interface Bus {
  publish<T extends Topic>(topic: T, message: BusMessages[T]): void
  /** @returns ends the subscription */
  subscribe<T extends Topic>(topic: T, listener: (message: BusMessages[T]) => void): () => void
}
