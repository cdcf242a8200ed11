import { quoteOf } from '../../model/quotes.js'
import type { LogKey } from '../../model/records.js'
import type { CoreContext } from '../core-context.js'
import type { Command, ShownReply } from '../inputs.js'
import type { Logs, Watch } from '../logs/logs.js'
import { membersOf, quotesOf } from '../logs/wire.js'
import { callUntilAnswered } from '../outcomes.js'
import type { Part, PartInput } from '../part.js'
import { covers } from '../ranges.js'

interface Lookup extends ShownReply {
  readonly watch: Watch
}

/** Replies of one caller. */
const maxShown = 500
/** Calls for one original in a session; a log that is emptied loses its quotes. */
const maxCalls = 3
const timer = 'quotes'

/**
 * Finds the originals of replies on screen: in the store, else from the server, which answers the
 * quote with the reply. Answers have quotes, events have none.
 */
export class MissingQuotes implements Part {
  readonly #context: CoreContext
  readonly #logs: Logs
  readonly #spreadMs: (key: LogKey) => number
  readonly #shown = new Map<string, readonly ShownReply[]>()
  readonly #lookups = new Map<number, Lookup>()
  /** Originals that were looked for in the store. */
  readonly #lookedUp = new Set<number>()
  /** Calls of this session, by original. */
  readonly #calls = new Map<number, number>()
  /** Below 0: other parts read the store too. */
  #lastRequest = 0
  #call: Lookup | undefined
  #isPlanned = false

  /** @param spreadMs returns a random time before a request that all readers of a log may make at once */
  constructor(context: CoreContext, logs: Logs, spreadMs: (key: LogKey) => number) {
    this.#context = context
    this.#logs = logs
    this.#spreadMs = spreadMs
  }

  command(id: string, command: Command): boolean {
    if (command.type !== 'quotes') return false
    const { caller, replies } = command
    this.#shown.delete(caller)
    if (replies.length > 0) this.#shown.set(caller, replies.slice(0, maxShown))
    this.#plan()
    this.#context.emit({ type: 'result', id, value: undefined })
    return true
  }

  opened(): void {
    this.#calls.clear()
    this.#plan()
  }

  closed(): void {
    this.#context.cancel(timer)
    if (this.#call) this.#logs.unwatch(this.#call.log, this.#call.watch)
    this.#call = undefined
  }

  reset(): void {
    this.#lookedUp.clear()
  }

  input(input: PartInput): void {
    if (input.type !== 'messages') return
    const lookup = this.#lookups.get(input.request)
    if (!lookup) return
    this.#lookups.delete(input.request)
    const { log, original, watch } = lookup
    this.#logs.unwatch(log, watch)
    const [message] = input.messages
    // A position that the store covers has no message when it was recalled, or is hidden.
    const quote = message ? quoteOf(message) : { ...original, state: 'recalled' as const }
    if (!watch.isVoid) this.#logs.quotes.take(log, [quote], watch.altered)
    this.#plan()
  }

  /** Begins when the store has all changes: it must not show what they remove. */
  #plan(): void {
    if (this.#isPlanned || this.#missing().length === 0) return
    this.#isPlanned = true
    this.#context.afterCommit(() => {
      this.#isPlanned = false
      if (this.#context.batch.isChanged) this.#plan()
      else this.#begin()
    })
  }

  #begin(): void {
    for (const reply of this.#missing()) if (this.#mayBeStored(reply)) this.#lookUp(reply)
    const [first] = this.#missing()
    const isAsking = this.#call !== undefined || this.#context.isTimed(timer)
    if (first && this.#context.isOpen && !isAsking)
      this.#context.after(timer, this.#spreadMs(first.log), () => this.#ask())
  }

  /** Returns the replies whose quote is neither there nor on its way. */
  #missing(): readonly ShownReply[] {
    const lookedFor = new Set([...this.#lookups.values()].map(({ original }) => original.msgId))
    return [...this.#shown.values()]
      .flat()
      .filter(
        ({ log, original: { msgId } }) =>
          this.#logs.get(log) !== undefined &&
          !this.#logs.quotes.get(log, msgId) &&
          !lookedFor.has(msgId) &&
          (this.#calls.get(msgId) ?? 0) < maxCalls,
      )
  }

  #mayBeStored({ log, original: { msgId, seq } }: ShownReply): boolean {
    return !this.#lookedUp.has(msgId) && covers(this.#logs.get(log)?.ranges ?? [], seq, seq)
  }

  #lookUp(reply: ShownReply): void {
    const { log, original } = reply
    const { seq } = original
    const request = --this.#lastRequest
    this.#lookedUp.add(original.msgId)
    this.#lookups.set(request, { ...reply, watch: this.#logs.watch(log) })
    this.#context.emit({
      type: 'readMessages',
      request,
      query: { log, fromSeq: seq, toSeq: seq, limit: 1 },
    })
  }

  /** Asks for one after the other: all have waited. */
  #ask(): void {
    const [reply] = this.#missing()
    if (!reply || this.#call) return
    const { log, msgId, original } = reply
    const call = { ...reply, watch: this.#logs.watch(log) }
    const conversationId = this.#logs.get(log)?.conversationId
    this.#call = call
    this.#calls.set(original.msgId, (this.#calls.get(original.msgId) ?? 0) + 1)
    const data = { conversation_id: conversationId, msg_id: msgId }
    callUntilAnswered(this.#context, 'message.get', data, (answer) => {
      if (this.#call !== call) return
      this.#call = undefined
      this.#logs.unwatch(log, call.watch)
      const quotes = quotesOf(membersOf(answer?.data).quotes)
      if (!call.watch.isVoid) this.#logs.quotes.take(log, quotes, call.watch.altered)
      // The reply is gone, or not for this user.
      if (quotes.length === 0) this.#calls.set(original.msgId, maxCalls)
      this.#ask()
    })
  }
}
