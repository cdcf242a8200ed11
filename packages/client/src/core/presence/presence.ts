import type { CoreContext } from '../core-context.js'
import type { Command } from '../inputs.js'
import { callUntilAnswered } from '../outcomes.js'
import type { ServerEvent, Part } from '../part.js'

/** Users that a connection can watch. */
const maxUsers = 500
/** Lists that change within this time share a call. */
const collectMs = 50
/** Time after the end of a session in which its states are shown. */
const shownMs = 10_000

/** Events that make users contacts. */
const newContacts = /^contact\.(added|accepted)$/

interface ShownPresence {
  readonly user_id: number
  readonly online: boolean
}

/** Shows which users of the callers' lists are online. */
export class Presence implements Part {
  readonly #context: CoreContext
  readonly #lists = new Map<string, readonly number[]>()
  /** The users of this connection. */
  #subscribed: ReadonlySet<number> = new Set()
  #isCalling = false

  constructor(context: CoreContext) {
    this.#context = context
  }

  opened(): void {
    this.#subscribed = new Set()
    this.#isCalling = false
    this.#context.cancel('presence.shown')
    this.#subscribe()
  }

  closed(): void {
    if (this.#context.live.online.length > 0)
      this.#context.after('presence.shown', shownMs, () => this.#show(new Set()))
  }

  /** @returns false: the command belongs to another part */
  command(id: string, command: Command): boolean {
    if (command.type !== 'presence') return false
    if (command.userIds.length > 0) this.#lists.set(command.caller, command.userIds)
    else this.#lists.delete(command.caller)
    this.#subscribeSoon()
    this.#context.emit({ type: 'result', id, value: null })
    return true
  }

  event({ event, data }: ServerEvent): void {
    // The server follows only those who were contacts at the call.
    if (newContacts.test(event)) {
      this.#subscribed = new Set()
      this.#subscribeSoon()
    }
    if (event !== 'presence') return
    const { users } = data as { readonly users: readonly ShownPresence[] }
    const online = new Set(this.#context.live.online)
    const watched = this.#union()
    for (const { user_id: id, online: isOnline } of users)
      if (isOnline && watched.has(id)) online.add(id)
      else online.delete(id)
    this.#show(online)
  }

  #union(): ReadonlySet<number> {
    return new Set([...new Set([...this.#lists.values()].flat())].slice(0, maxUsers))
  }

  #subscribeSoon(): void {
    this.#context.after('presence', collectMs, () => this.#subscribe())
  }

  /** Subscribes when the users differ; their order means nothing to the server. */
  #subscribe(): void {
    const users = this.#union()
    if (!this.#context.isOpen || this.#isCalling || isSameSet(users, this.#subscribed)) return
    this.#isCalling = true
    this.#subscribed = users
    callUntilAnswered(this.#context, 'presence.subscribe', { user_ids: [...users] }, (answer) => {
      this.#isCalling = false
      const states = (answer?.data ?? []) as ShownPresence[]
      this.#show(new Set(states.filter(({ online }) => online).map(({ user_id: id }) => id)))
      this.#subscribe()
    })
  }

  #show(online: ReadonlySet<number>): void {
    if (!isSameSet(online, new Set(this.#context.live.online)))
      this.#context.setLive({ online: [...online] })
  }
}

function isSameSet(a: ReadonlySet<number>, b: ReadonlySet<number>): boolean {
  return a.size === b.size && [...a].every((each) => b.has(each))
}
