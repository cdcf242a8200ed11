import type { Int64 } from '@hermod/protocol'
import type { OnlineListener, SessionDirectory } from '../../sessions/directory.js'
import type { UserKey } from '../users/user-model.js'

/**
 * The time for which a user is shown as online after the last device has left, so that a change of
 * network shows nothing.
 */
export const graceMs = 10_000

interface OnlineUsersOptions {
  readonly directory: Pick<SessionDirectory, 'isOnline'>
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number
}

/**
 * The users who are shown as online: those with a connected device, and those who had one a moment
 * ago (rule E15).
 */
export class OnlineUsers implements Pick<OnlineListener, 'wentOnline' | 'wentOffline'> {
  /** When the last device of a user has left, in the order in which that was heard of. */
  readonly #left = new Map<string, UserKey & { readonly at: number }>()
  /** Those of whom it was heard after the grace. */
  readonly #leftLongAgo = new Map<string, UserKey>()

  constructor(private readonly options: OnlineUsersOptions) {}

  /** True while a user is shown as online without a device. */
  get isWaiting(): boolean {
    return this.#left.size + this.#leftLongAgo.size > 0
  }

  isShown({ appId, userId }: UserKey): boolean {
    if (this.options.directory.isOnline(appId, userId)) return true
    const left = this.#left.get(userKeyText(appId, userId))
    return left !== undefined && this.options.now() < left.at + graceMs
  }

  wentOnline(appId: string, userId: Int64): void {
    const name = userKeyText(appId, userId)
    this.#left.delete(name)
    this.#leftLongAgo.delete(name)
  }

  wentOffline(appId: string, userId: Int64, agoMs = 0): void {
    const name = userKeyText(appId, userId)
    this.wentOnline(appId, userId)
    if (agoMs >= graceMs) this.#leftLongAgo.set(name, { appId, userId })
    else this.#left.set(name, { appId, userId, at: this.options.now() - agoMs })
  }

  /** Returns users who are not shown as online any more since the last call, at most `limit`. */
  takeGone(limit: number): UserKey[] {
    const gone: UserKey[] = []
    for (const [name, user] of this.#leftLongAgo) {
      if (gone.length === limit) return gone
      this.#leftLongAgo.delete(name)
      gone.push(user)
    }
    for (const [name, { appId, userId, at }] of this.#left) {
      if (gone.length === limit || this.options.now() < at + graceMs) break
      this.#left.delete(name)
      gone.push({ appId, userId })
    }
    return gone
  }
}

/** Names a user in maps. */
export function userKeyText(appId: string, userId: Int64): string {
  return `${appId}/${userId}`
}
