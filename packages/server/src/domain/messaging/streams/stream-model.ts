/** The rules of streams (rule E19). Loaded by the writer's thread too. */
import type { Int64, streamStates } from '@hermod/protocol'
import type { ConversationKey } from '../model/conversation-model.js'

/** A state of a stream as the contract names it. */
export type StreamStateName = (typeof streamStates)[number]

/** The states of a stream as its row has them. */
export const streamState = {
  open: 0,
  done: 1,
  failed: 2,
  cancelled: 3,
  interrupted: 4,
  /** The message was recalled. */
  gone: 5,
} as const

/** The key of a stream: that of its message. */
export interface StreamKey extends ConversationKey {
  readonly messageId: number
}

/** A stream as its row has it. */
export interface Stream {
  readonly senderId: Int64
  /** 0 or 1 */
  readonly isGroup: number
  readonly state: number
  readonly nextIndex: number
  /** UTF-16 units of the text so far. */
  readonly length: number
  /** Bytes of the text so far and of the other texts of the message. */
  readonly bytes: number
  readonly lastHash: string
  readonly rateAt: number
  /** 0 or 1 */
  readonly isCancelled: number
  readonly startedAt: number
  readonly appendedAt: number
}

/** A piece of text for a stream. */
export interface Chunk {
  readonly index: number
  readonly text: string
  readonly bytes: number
  readonly hash: string
}

/** The limits of appends. */
export interface AppendLimits {
  /** The most bytes of all texts of the message. */
  readonly maxBytes: number
  /** The time between two appends on average, and how many may come at once; null: any. */
  readonly pace: { readonly intervalMs: number; readonly burst: number } | null
}

/** The reason why a chunk is not taken. */
export type ChunkRefusal = 'index' | 'state' | 'size' | 'rate'

/** The outcome of an append. */
export type Appended =
  | { readonly kind: 'taken' | 'repeated'; readonly stream: Stream }
  | { readonly kind: ChunkRefusal; readonly stream: Stream }

/** Returns the stream after a chunk, or the reason why it does not take the chunk. */
export function appendChunk(
  stream: Stream,
  { index, text, bytes, hash }: Chunk,
  { now, limits }: { readonly now: number; readonly limits: AppendLimits },
): Appended {
  const isLast = index > 0 && index === stream.nextIndex - 1 && hash === stream.lastHash
  if (isLast) return { kind: 'repeated', stream }
  if (stream.state !== streamState.open) return { kind: 'state', stream }
  if (index !== stream.nextIndex) return { kind: 'index', stream }
  if (stream.bytes + bytes > limits.maxBytes) return { kind: 'size', stream }
  const { intervalMs, burst } = limits.pace ?? { intervalMs: 0, burst: 0 }
  const rateAt = Math.max(stream.rateAt, now) + intervalMs
  if (limits.pace && rateAt - now > burst * intervalMs) return { kind: 'rate', stream }
  return {
    kind: 'taken',
    stream: {
      ...stream,
      nextIndex: index + 1,
      length: stream.length + text.length,
      bytes: stream.bytes + bytes,
      lastHash: hash,
      rateAt,
      appendedAt: now,
    },
  }
}

/** Returns the name of a state. */
export function stateName(state: number): StreamStateName | 'recalled' {
  switch (state) {
    case streamState.open:
      return 'open'
    case streamState.done:
      return 'done'
    case streamState.failed:
      return 'failed'
    case streamState.cancelled:
      return 'cancelled'
    case streamState.gone:
      return 'recalled'
    default:
      return 'interrupted'
  }
}

/** Tests whether a text begins or ends within a surrogate pair, or holds half of one. */
export function hasHalfPair(text: string): boolean {
  return /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(text)
}
