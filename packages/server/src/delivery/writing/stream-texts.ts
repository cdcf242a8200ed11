import type { BusMessages } from '../../bus/bus.js'
import type { Session } from '../../sessions/session.js'
import type { FanOuts } from './fan-outs.js'
import { encodeEvent } from './frames.js'

type StreamText = BusMessages['stream.appended']

/** Delivery of an app, as far as text of messages needs it. */
export interface StreamReceivers {
  /** The position of the row that was begun last. */
  readonly begun: { readonly position: number }
  /** The sessions that may see the message. */
  streamReceivers(
    log: Pick<StreamText, 'lowId' | 'highId' | 'isGroup'>,
    messageId: number,
  ): readonly Session[]
}

interface StreamTextsOptions {
  /** Returns the delivery of an app with sessions on this node. */
  readonly deliveryOf: (appId: string) => StreamReceivers | undefined
  readonly fanOuts: () => Pick<FanOuts, 'start'>
  readonly after: (ms: number, run: () => void) => void
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number
}

/** A message to which text was appended lately. */
interface WrittenMessage {
  /** Text that was not sent yet, by its offset. */
  waiting: StreamText[]
  /** The end of the text that was sent; -1: none. */
  sentTo: number
  /** The times in a row that text has waited for the message, or for text before it. */
  looks: number
  isTimed: boolean
  /** When text came last. */
  at: number
}

/** The time between two events of a message for few sessions. */
const shortestMs = 50
const longestMs = 2_000
/** Sessions above this number add a millisecond each. */
const fewSessions = 50
/** The time between two looks whether text may be sent. */
const lookMs = 20
/** Looks until text is dropped whose message was not begun. */
const looksForMessage = 250
/** Looks until text is sent although text before it, of another node, has not come. */
const looksForText = 5
/** A message without text for so long is forgotten. */
const keptMs = 10_000

/**
 * Sends text that was appended to messages, to the sessions of this node: at once, then what came
 * in an interval in one event. Text waits until delivery has begun the message itself.
 */
export class StreamTexts {
  /** In the order in which text came last. */
  readonly #messages = new Map<string, WrittenMessage>()
  readonly #now: () => number

  constructor(private readonly options: StreamTextsOptions) {
    this.#now = options.now ?? (() => performance.now())
  }

  add(text: StreamText): void {
    const { appId, lowId, highId, messageId } = text
    if (!this.options.deliveryOf(appId)) return
    const name = `${appId}/${lowId}/${highId}/${messageId}`
    const message = this.#messages.get(name) ?? newMessage()
    message.at = this.#now()
    this.#messages.delete(name)
    this.#messages.set(name, message)
    this.#forgetOld()
    if (text.offset < message.sentTo) return
    message.waiting.push(text)
    message.waiting.sort((a, b) => a.offset - b.offset)
    if (!message.isTimed) this.#send(message)
  }

  #send(message: WrittenMessage): void {
    message.isTimed = false
    const [first] = message.waiting
    const delivery = first && this.options.deliveryOf(first.appId)
    if (!delivery) {
      message.waiting = []
      return
    }
    const isEarly = delivery.begun.position < first.after
    const isAhead = message.sentTo >= 0 && first.offset > message.sentTo
    const looks = isEarly ? looksForMessage : isAhead ? looksForText : 0
    if (message.looks++ < looks) {
      this.#wait(message, lookMs)
      return
    }
    message.looks = 0
    const text = joined(message.waiting)
    message.waiting = message.waiting.filter(
      ({ offset }) => offset > text.offset + text.text.length,
    )
    // Clients that lack it ask for it with the next text.
    if (isEarly) return
    message.sentTo = text.offset + text.text.length
    const receivers = delivery.streamReceivers(first, first.messageId)
    if (receivers.length > 0) this.#write(text, receivers)
    this.#wait(message, intervalFor(receivers.length))
  }

  #wait(message: WrittenMessage, ms: number): void {
    message.isTimed = true
    this.options.after(ms, () => this.#send(message))
  }

  #write(
    { appId, lowId, highId, isGroup, messageId, index, offset, text }: StreamText,
    receivers: readonly Session[],
  ): void {
    const conversation = { low_id: lowId, high_id: highId, is_group: isGroup }
    const data = { conversation, msg_id: messageId, index, offset, text }
    this.options.fanOuts().start({
      // The queue of the group's events, so that the message itself comes first.
      queue: isGroup ? `${appId}/groups/${lowId}` : null,
      receivers,
      frames: { all: encodeEvent('message.delta', data), own: null },
      isTransient: true,
      ended() {},
    })
  }

  #forgetOld(): void {
    const before = this.#now() - keptMs
    for (const [name, { at }] of this.#messages) {
      if (at > before) return
      this.#messages.delete(name)
    }
  }
}

function newMessage(): WrittenMessage {
  return { waiting: [], sentTo: -1, looks: 0, isTimed: false, at: 0 }
}

/** Joins the texts that follow one another without a gap, from the first one on. */
function joined(waiting: readonly StreamText[]): StreamText {
  const [first, ...others] = waiting as [StreamText, ...StreamText[]]
  return others.reduce((before, next) => {
    if (next.offset !== before.offset + before.text.length) return before
    return { ...next, offset: before.offset, text: before.text + next.text }
  }, first)
}

function intervalFor(sessions: number): number {
  return Math.min(shortestMs + Math.max(0, sessions - fewSessions), longestMs)
}
