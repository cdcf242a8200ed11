import { conversationOf, kindOf, logKeyOf } from '../../model/log-key.js'
import type { LogKey, MessageRecord } from '../../model/records.js'
import type { StreamsListener } from '../access.js'
import type { CoreContext } from '../core-context.js'
import { countOf, membersOf, messageOf, textOf } from '../logs/wire.js'
import type { Part, ServerEvent } from '../part.js'

/** Parts that Streams uses. */
export interface StreamsOptions {
  /** Returns the logs that views show. */
  onScreen(): ReadonlySet<LogKey>
  /** Returns the number of members of a group; a guess for one that was not read. */
  memberCount(groupId: number): number
}

/** The text so far of a message that is being written. */
interface StreamText {
  readonly log: LogKey
  text: string
}

/** Messages whose text is kept; of the others the oldest is forgotten. */
const maxTexts = 50
/** The wait before a missing text is read: random below this, and a millisecond more for each member. */
const waitMs = 1_000

/**
 * Keeps the text of messages that are being written and on screen: what answers say, and what
 * events add. It is shown and never stored.
 */
export class Streams implements Part, StreamsListener {
  readonly #context: CoreContext
  readonly #options: StreamsOptions
  readonly #texts = new Map<number, StreamText>()
  /** Messages whose text is being read. */
  readonly #asked = new Set<number>()

  constructor(context: CoreContext, options: StreamsOptions) {
    this.#context = context
    this.#options = options
  }

  /** The session has ended: what came meanwhile shows as a gap of the next event. */
  closed(): void {
    for (const msgId of this.#asked) this.#context.cancel(timerOf(msgId))
    this.#asked.clear()
  }

  reset(): void {
    if (this.#texts.size === 0) return
    this.#texts.clear()
    this.#show()
  }

  stored({ log, msgId, fields }: MessageRecord): void {
    const { state, text } = membersOf(fields?.stream)
    if (state !== 'open') this.#drop(msgId)
    else if (typeof text === 'string') this.#take(log, msgId, text)
  }

  gone(_log: LogKey, msgId: number): void {
    this.#drop(msgId)
  }

  event({ event, data }: ServerEvent): void {
    if (event !== 'message.delta') return
    const { conversation, msg_id, offset: at, text: added } = membersOf(data)
    const log = logKeyOf(conversation)
    const [msgId, offset] = [msg_id, at].map(countOf)
    if (log === undefined || !msgId || offset === undefined) return
    if (!this.#options.onScreen().has(log)) {
      this.#drop(msgId)
      return
    }
    const text = this.#texts.get(msgId)?.text ?? ''
    const end = offset + textOf(added).length
    if (offset > text.length) this.#ask(log, msgId)
    // A part of it may be known from an answer.
    else if (end > text.length)
      this.#take(log, msgId, text + textOf(added).slice(text.length - offset))
  }

  #take(log: LogKey, msgId: number, text: string): void {
    if ((this.#texts.get(msgId)?.text.length ?? 0) > text.length) return
    this.#texts.delete(msgId)
    this.#texts.set(msgId, { log, text })
    const [oldest] = this.#texts.keys()
    if (this.#texts.size > maxTexts && oldest !== undefined) this.#texts.delete(oldest)
    this.#show()
  }

  #drop(msgId: number): void {
    if (this.#texts.delete(msgId)) this.#show()
  }

  /** All members of a group may miss the same text, so each waits for another time. */
  #ask(log: LogKey, msgId: number): void {
    const { random, me } = this.#context
    if (this.#asked.has(msgId)) return
    this.#asked.add(msgId)
    const peer = conversationOf(log, me)
    const members = kindOf(log) === 'group' ? this.#options.memberCount(peer) : 0
    this.#context.after(timerOf(msgId), random() * (waitMs + members), () => {
      if (!this.#options.onScreen().has(log)) {
        this.#asked.delete(msgId)
        return
      }
      const query = { conversation_id: peer, msg_id: msgId }
      this.#context.call('message.get', query, (outcome) => {
        this.#asked.delete(msgId)
        if (outcome.type !== 'answer') return
        const message = messageOf(log, membersOf(outcome.answer.data).message)
        if (message) this.stored(message)
      })
    })
  }

  #show(): void {
    const streams = Object.fromEntries(
      [...this.#texts].map(([msgId, { text }]): [number, string] => [msgId, text]),
    )
    this.#context.setLive({ streams })
  }
}

function timerOf(msgId: number): string {
  return `stream ${msgId}`
}
