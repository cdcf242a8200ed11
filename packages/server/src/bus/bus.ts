import type { Int64 } from '@hermod/protocol'
import type { AnswerMessage, QuestionMessage } from '../nodes/questions.js'
import type { TransientEvent } from '@hermod/protocol/events'

/** Messages between the nodes of a service and between the parts of one node, by topic. */
export interface BusMessages {
  /** A cached value changed and must be read again. */
  'cache.invalidated': { readonly cache: string; readonly key: string }
  /** There are new events in the outbox of the app. */
  'outbox.appended': {
    readonly appId: string
    /** The last of them; absent: not known. */
    readonly position?: number | undefined
  }
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
  /** Text was appended to a message that is being written. */
  'stream.appended': {
    readonly appId: string
    readonly lowId: Int64
    readonly highId: Int64
    readonly isGroup: boolean
    readonly messageId: number
    readonly index: number
    readonly offset: number
    readonly text: string
    readonly after: number
  }
  /** An event that is not stored, for sessions of any node. */
  'event.transient': {
    readonly appId: string
    readonly receivers: TransientReceivers
    readonly event: TransientEvent
  }
}

/** All sessions of some users, or those of the other members who receive messages of a group live. */
export type TransientReceivers =
  | { readonly userIds: readonly Int64[] }
  | { readonly groupId: Int64; readonly exceptId: Int64 }

/** The topic of a message. */
export type Topic = keyof BusMessages

/**
 * Brings messages to every node, this one included. Between nodes it may lose, repeat and delay
 * every message, so code that depends on messages bounds how long a lost one matters. Nobody waits
 * for it.
 */
export interface Bus {
  /**
   * Never throws: a failure shows in metrics and the log only. When it returns, the listeners on the
   * publishing node have been called.
   */
  publish<T extends Topic>(topic: T, message: BusMessages[T]): void
  /** @returns ends the subscription */
  subscribe<T extends Topic>(topic: T, listener: (message: BusMessages[T]) => void): () => void
  /** False while messages of other nodes do not arrive, before the start too. */
  readonly isConnected: boolean
  /** Calls the listener when messages arrive again; any of those before may be lost. */
  onReconnected(listener: () => void): void
  start(): Promise<void>
  /** Sends what waits. */
  stop(): Promise<void>
}

/** Receives failures of listeners. */
export type ListenerFailed = (topic: Topic, error: unknown) => void
