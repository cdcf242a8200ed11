import { failureOf } from '../errors.js'
import { conversationOf, kindOf, logKeyOf } from '../model/log-key.js'
import { nameOfWish, type Wish, wishesKey, wishesOf } from '../model/wishes.js'
import type { StoredState } from '../ports/store.js'
import type { CoreContext } from './core-context.js'
import type { Command } from './inputs.js'
import { countOf, membersOf, reactedOf } from './logs/wire.js'
import { callUntilAnswered } from './outcomes.js'
import type { Part, ServerEvent } from './part.js'

const maxWishes = 1_000
/** Time after an answer in which the event of the change normally comes. */
const eventWaitMs = 5_000
const userTarget = 1
const groupTarget = 2

/**
 * Reactions and pins of messages that the user wants and the server does not have yet. A wish is kept,
 * also by a reset, and called until the server answers; then it stays until the event of the change, so
 * that what is shown does not change back in between. A wish that the server refuses ends.
 */
export class Wishes implements Part {
  readonly #context: CoreContext
  readonly #wishes = new Map<string, Wish>()
  /** Names of those that are called. */
  readonly #calling = new Set<string>()
  /** Names of those that the server has. */
  readonly #answered = new Set<string>()

  constructor(context: CoreContext) {
    this.#context = context
  }

  start({ cached }: StoredState): void {
    const record = cached.find(({ key }) => key === wishesKey)
    for (const wish of wishesOf(record)) this.#wishes.set(nameOfWish(wish), wish)
  }

  opened(): void {
    for (const name of this.#wishes.keys()) if (!this.#answered.has(name)) this.#call(name)
  }

  closed(): void {
    this.#calling.clear()
  }

  /** The history of the server is another one: it may have lost what was answered. */
  reset(): void {
    this.#answered.clear()
    if (this.#wishes.size > 0) this.#store()
  }

  /** @returns false: the command belongs to another part */
  command(id: string, command: Command): boolean {
    if (command.type !== 'wish') return false
    const { wish } = command
    const name = nameOfWish(wish)
    if (!this.#wishes.has(name) && this.#wishes.size >= maxWishes) {
      const failure = failureOf('outbox_full', `${maxWishes} reactions wait to be sent`, true)
      this.#context.emit({ type: 'failure', id, failure })
      return true
    }
    this.#answered.delete(name)
    this.#wishes.set(name, wish)
    this.#store()
    this.#context.afterCommit(() => this.#context.emit({ type: 'result', id, value: undefined }))
    this.#call(name)
    return true
  }

  event({ event, data }: ServerEvent): void {
    if (event !== 'message.updated' || this.#answered.size === 0) return
    const { conversation, msg_id, set, reacted } = membersOf(data)
    const [log, msgId] = [logKeyOf(conversation), countOf(msg_id)]
    if (log === undefined || msgId === undefined) return
    const { pinned } = membersOf(set)
    if (pinned !== undefined) this.#changed({ log, msgId, isOn: pinned !== null })
    for (const { userId, key: reaction, isOn } of reactedOf(reacted))
      if (userId === this.#context.me) this.#changed({ log, msgId, reaction, isOn })
  }

  /** A message has a state now. */
  #changed(state: Wish): void {
    const name = nameOfWish(state)
    const wish = this.#wishes.get(name)
    if (wish && this.#answered.has(name) && wish.isOn === state.isOn) this.#drop(name, wish)
  }

  #call(name: string): void {
    const wish = this.#wishes.get(name)
    if (!wish || !this.#context.isOpen || this.#calling.has(name)) return
    this.#calling.add(name)
    const [op, data] = callOf(wish, this.#context.me)
    callUntilAnswered(this.#context, op, data, (answer) => {
      this.#calling.delete(name)
      // Another state is wanted meanwhile.
      if (this.#wishes.get(name) !== wish) this.#call(name)
      else if (!answer) this.#drop(name, wish)
      else {
        this.#answered.add(name)
        this.#context.after(`wish ${name}`, eventWaitMs, () => this.#drop(name, wish))
      }
    })
  }

  #drop(name: string, wish: Wish): void {
    if (this.#wishes.get(name) !== wish) return
    this.#wishes.delete(name)
    this.#answered.delete(name)
    this.#store()
  }

  #store(): void {
    const value = [...this.#wishes.values()]
    this.#context.batch.putCachedRead({ key: wishesKey, value, isStale: false })
  }
}

function callOf({ log, msgId, reaction, isOn }: Wish, me: number): readonly [string, object] {
  const message = { conversation_id: conversationOf(log, me), msg_id: msgId }
  if (reaction === undefined) return [isOn ? 'message.pin' : 'message.unpin', message]
  const type = kindOf(log) === 'group' ? groupTarget : userTarget
  return ['message.reaction', { ...message, type, key: reaction, on: isOn }]
}
