import { stringifyJson } from '../lib/json.js'
import { TokenBucket } from '../lib/limits/token-bucket.js'
import type { BusMessages, Topic } from './bus.js'
import { maxMessageBytes } from './text-frames.js'

/** Why a message did not leave this node, or had no effect on it. */
export type BusLoss =
  /** There is no connection. */
  | 'unconnected'
  /** The database refused it, or did not answer. */
  | 'failed'
  /** Events that are not stored took more than their share of the traffic. */
  | 'over_budget'
  | 'too_long'
  /** The database takes fewer than there are. */
  | 'too_many'
  /** Other nodes did not send it, or it makes no sense. */
  | 'not_understood'

/** All messages of a node; only events that are not stored give way. */
const bytesPerSecond = 200_000
/** The part of the budget that events of a kind leave to more important ones; none by default. */
const leftToOthers: Readonly<Record<string, number>> = {
  typing: 1 / 2,
  activity: 1 / 2,
  'message.delta': 1 / 4,
}
const maxWaitingBytes = 4 * 1024 * 1024

interface Waiting {
  readonly topic: Topic
  readonly json: string
  /** Position of the last event that the message tells of; infinite where it is unknown. */
  readonly position: number
}

/** The messages that wait for the next statement. */
export class Outgoing {
  /** Equal messages leave once, and of those about the events of an app the one that reaches furthest. */
  #waiting = new Map<string, Waiting>()
  #bytes = 0
  readonly #budget = new TokenBucket({ perSecond: bytesPerSecond, burst: bytesPerSecond })

  get isEmpty(): boolean {
    return this.#waiting.size === 0
  }

  /** @returns why the message does not leave; null when it does */
  add<T extends Topic>(topic: T, message: BusMessages[T]): BusLoss | null {
    const json = stringifyJson([topic, message])
    const { key, position } = mergeKeyOf(topic, message, json)
    const before = this.#waiting.get(key)
    if (before) {
      if (before.position < position) this.#waiting.set(key, { topic, json, position })
      return null
    }
    const bytes = Buffer.byteLength(json)
    if (bytes > maxMessageBytes) return 'too_long'
    if (this.#bytes + bytes > maxWaitingBytes) return 'too_many'
    const kind = transientKind(topic, message)
    if (kind !== null) {
      const left = (leftToOthers[kind] ?? 0) * bytesPerSecond
      if (this.#budget.waitMs(bytes + left) > 0) return 'over_budget'
    }
    this.#budget.charge(bytes)
    this.#waiting.set(key, { topic, json, position })
    this.#bytes += bytes
    return null
  }

  /** Takes everything that waits. */
  take(): readonly Waiting[] {
    const waiting = [...this.#waiting.values()]
    this.#waiting = new Map()
    this.#bytes = 0
    return waiting
  }
}

/** Messages of the same key leave as one. */
function mergeKeyOf<T extends Topic>(
  topic: T,
  message: BusMessages[T],
  json: string,
): Pick<Waiting, 'position'> & { readonly key: string } {
  if (topic !== 'outbox.appended') return { key: json, position: 0 }
  const { appId, position = Number.POSITIVE_INFINITY } = message as BusMessages['outbox.appended']
  return { key: `${topic} ${appId}`, position }
}

/** Returns the kind of an event that is not stored; null for other messages. */
function transientKind<T extends Topic>(topic: T, message: BusMessages[T]): string | null {
  if (topic === 'stream.appended') return 'message.delta'
  return topic === 'event.transient' ? (message as BusMessages['event.transient']).event.kind : null
}
