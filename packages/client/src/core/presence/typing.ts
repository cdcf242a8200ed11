import type { CoreContext } from '../core-context.js'
import type { Command } from '../inputs.js'
import { conversationOf, logKeyOf } from '../log-key.js'
import type { EventFrame, Part } from '../part.js'

/** A signal that is not repeated ends after this time. */
const shownMs = 6_000
/** Time between two signals of the own user in a conversation. */
const pauseMs = 3_000
const maxShown = 200
const maxPauses = 1_000

/** Shows which users type, and signals that the own user types. */
export class Typing implements Part {
  readonly #context: CoreContext
  /** Time of the last own signal by conversation. */
  readonly #signalled = new Map<string, number>()

  constructor(context: CoreContext) {
    this.#context = context
  }

  /** @returns false: the command belongs to another part */
  command(id: string, command: Command): boolean {
    if (command.type !== 'typing') return false
    this.#signal(command.conversationId, command.isGroup)
    this.#context.emit({ type: 'result', id, value: null })
    return true
  }

  event({ event, data }: EventFrame): void {
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
      if (!isSignal) this.#signalled.delete(keyOfTyping(conversationId, log.startsWith('g')))
      return
    }
    const key = `typing ${conversationId} ${userId}`
    const { typing } = this.#context.live
    const others = typing.filter(
      (each) => each.conversationId !== conversationId || each.userId !== userId,
    )
    const end = () => {
      if (others.length < typing.length) this.#hide(conversationId, userId)
    }
    if (!isSignal || state !== 'typing') {
      this.#context.cancel(key)
      end()
      return
    }
    if (others.length === typing.length) {
      if (typing.length >= maxShown) return
      this.#context.setLive({ typing: [...typing, { conversationId, userId }] })
    }
    this.#context.after(key, shownMs, () => this.#hide(conversationId, userId))
  }

  #hide(conversationId: number, userId: number): void {
    const typing = this.#context.live.typing.filter(
      (each) => each.conversationId !== conversationId || each.userId !== userId,
    )
    this.#context.setLive({ typing })
  }

  #signal(conversationId: number, isGroup: boolean): void {
    const { now, isOpen, me } = this.#context
    const key = keyOfTyping(conversationId, isGroup)
    const last = this.#signalled.get(key)
    if (!isOpen || (last !== undefined && now < last + pauseMs)) return
    if (this.#signalled.size >= maxPauses) this.#signalled.clear()
    this.#signalled.set(key, now)
    const signal = {
      type: isGroup ? 2 : 1,
      targets: [conversationId],
      content_type: 0,
      content: '',
      ext: '{"input_status":"typing"}',
      from_user_id: me,
    }
    this.#context.call('message.send', signal, () => undefined)
  }
}

/** Names a conversation in maps. */
function keyOfTyping(conversationId: number, isGroup: boolean): string {
  return `${isGroup} ${conversationId}`
}
