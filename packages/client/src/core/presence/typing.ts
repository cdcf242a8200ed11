import type { CoreContext } from '../core-context.js'
import type { Command } from '../inputs.js'
import { conversationOf, kindOf, logKeyOf } from '../../model/log-key.js'
import type { ServerEvent, Part } from '../part.js'

/** A signal that is not repeated ends after this time. */
const shownMs = 6_000
/** Time between two signals of the own user in a conversation. */
const pauseMs = 3_000
const maxShown = 200

/** Shows which users type, and signals that the own user types. */
export class Typing implements Part {
  readonly #context: CoreContext
  /** Time of the last signal of the own user, by conversation. */
  readonly #signalledAt = new Map<string, number>()

  constructor(context: CoreContext) {
    this.#context = context
  }

  /** @returns false: the command belongs to another part */
  command(id: string, command: Command): boolean {
    if (command.type !== 'typing') return false
    this.#signal(command)
    this.#context.emit({ type: 'result', id, value: null })
    return true
  }

  event({ event, data }: ServerEvent): void {
    const isSignal = event === 'typing'
    if (!isSignal && event !== 'message.stored') return
    const { conversation, user_id, sender_id, state } = data as {
      readonly conversation: unknown
      readonly user_id?: number
      readonly sender_id?: number
      readonly state?: string
    }
    const log = logKeyOf(conversation)
    const userId = isSignal ? user_id : sender_id
    if (log === undefined || userId === undefined) return
    const conversationId = conversationOf(log, this.#context.me)
    if (userId === this.#context.me) {
      // The message ended what the others see, so the next key is signalled.
      if (!isSignal) this.#signalledAt.delete(keyOfTyping(conversationId, kindOf(log) === 'group'))
      return
    }
    const isTyping = isSignal && state === 'typing'
    const key = `typing ${conversationId} ${userId}`
    this.#context.cancel(key)
    this.#show(conversationId, userId, isTyping)
    if (isTyping) this.#context.after(key, shownMs, () => this.#show(conversationId, userId, false))
  }

  #show(conversationId: number, userId: number, isTyping: boolean): void {
    const { typing } = this.#context.live
    const others = typing.filter(
      (each) => each.conversationId !== conversationId || each.userId !== userId,
    )
    if (isTyping === others.length < typing.length || others.length >= maxShown) return
    this.#context.setLive({ typing: isTyping ? [...others, { conversationId, userId }] : others })
  }

  #signal({
    conversationId,
    isGroup,
    isEnd = false,
  }: Extract<Command, { readonly type: 'typing' }>): void {
    const { isOpen, me, now } = this.#context
    const key = keyOfTyping(conversationId, isGroup)
    const sinceMs = now - (this.#signalledAt.get(key) ?? Number.NEGATIVE_INFINITY)
    if (!isOpen || (isEnd ? sinceMs >= shownMs : sinceMs < pauseMs)) return
    if (isEnd) this.#signalledAt.delete(key)
    else this.#signalledAt.set(key, now)
    const signal = {
      type: isGroup ? 2 : 1,
      targets: [conversationId],
      content_type: 0,
      content: '',
      ext: JSON.stringify({ input_status: isEnd ? 'nothing' : 'typing' }),
      from_user_id: me,
    }
    this.#context.call('message.send', signal, () => undefined)
  }
}

/** Names the signals of a conversation. */
function keyOfTyping(conversationId: number, isGroup: boolean): string {
  return `signal ${isGroup} ${conversationId}`
}
