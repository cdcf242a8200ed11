import type { Int64 } from '@hermod/protocol'

/** A piece of text that was appended to a message. */
export interface AppendedText {
  readonly conversation: EventLog
  readonly messageId: number
  /** The index of the append. */
  readonly index: number
  /** The place of its begin in the text so far, in UTF-16 units. */
  readonly offset: number
  readonly text: string
  /** A position of the outbox at or above that of the stored message. */
  readonly after: number
}

/** The log of a conversation. */
export interface EventLog {
  readonly appId: string
  readonly lowId: Int64
  readonly highId: Int64
  readonly isGroup: boolean
}

/** Sends text of messages that are being written to connected readers, on all nodes. */
export interface StreamDelivery {
  appended(text: AppendedText): void
}
