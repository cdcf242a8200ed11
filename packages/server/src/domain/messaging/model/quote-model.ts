import type { Int64 } from '@hermod/protocol'
import type { AnsweredMessage } from './message-model.js'

/** Bytes of a quote as JSON, roughly. Pages count them with each reply. */
export const quoteBytes = 400

/**
 * The visible part of the original of a reply. The members of a state are null for the others.
 */
export interface Quote {
  readonly messageId: number
  readonly seq: number
  /** `removed`: by retention; `hidden`: from the reader */
  readonly state: 'present' | 'recalled' | 'removed' | 'hidden'
  /** The sender of a present or recalled original. */
  readonly senderId: Int64 | null
  /** The type of a present original, which has `excerpt` too. */
  readonly contentType: number | null
  readonly excerpt: string | null
}

/** Returns for each original that messages name, and that is not among them, one reply to it. */
export function repliesToQuote(messages: readonly AnsweredMessage[]): readonly AnsweredMessage[] {
  const replies = messages.filter(({ message }) => message.replyToId !== null)
  if (replies.length === 0) return replies
  const held = new Set(messages.map(({ message }) => message.messageId))
  const byOriginal = new Map(replies.map((reply) => [reply.message.replyToId as number, reply]))
  return [...byOriginal].flatMap(([original, reply]) => (held.has(original) ? [] : [reply]))
}
