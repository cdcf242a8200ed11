import type { Int64 } from '@hermod/protocol'
import type { Session } from '../../sessions/session.js'
import type { UserKey } from '../users/user-model.js'
import { nameOf } from './online-users.js'

/** The list of a session: the users that it follows. */
export interface Subscription {
  readonly session: Session
  /** By user: the state that the client has. */
  readonly sent: Map<Int64, boolean>
  /** The users of the list that the subscriber may see. */
  readonly visible: Set<Int64>
  /** The latest read of whether the subscriber may see a user, until its end. */
  readonly looks: Map<Int64, symbol>
  /** Users with a state that may differ from the one that the client has. */
  readonly changed: Set<Int64>
}

const none: ReadonlySet<Subscription> = new Set()

/** The lists of all sessions, by session and by user of the list. */
export class Subscriptions {
  readonly #bySession = new Map<Session, Subscription>()
  readonly #byUser = new Map<string, Set<Subscription>>()
  readonly #perApp = new Map<string, number>()

  /** Tests whether a session of the app has a list. */
  has(appId: string): boolean {
    return this.#perApp.has(appId)
  }

  find(session: Session): Subscription | undefined {
    return this.#bySession.get(session)
  }

  /** Returns the lists of the sessions of an app. */
  ofApp(appId: string): Subscription[] {
    return [...this.#bySession.values()].filter(({ session }) => session.appId === appId)
  }

  /** Returns the lists that name the user. */
  ofUser({ appId, userId }: UserKey): ReadonlySet<Subscription> {
    return this.#byUser.get(nameOf(appId, userId)) ?? none
  }

  /** Adds the list of a session, in place of its former one. All users of it are offline and invisible at first. */
  replace(session: Session, userIds: readonly Int64[]): Subscription {
    this.delete(session)
    const subscription: Subscription = {
      session,
      sent: new Map(userIds.map((userId) => [userId, false])),
      visible: new Set(),
      looks: new Map(),
      changed: new Set(),
    }
    if (userIds.length === 0) return subscription
    const { appId } = session
    this.#bySession.set(session, subscription)
    this.#perApp.set(appId, (this.#perApp.get(appId) ?? 0) + 1)
    for (const userId of subscription.sent.keys()) {
      const name = nameOf(appId, userId)
      const ofUser = this.#byUser.get(name) ?? new Set()
      this.#byUser.set(name, ofUser.add(subscription))
    }
    return subscription
  }

  delete(session: Session): void {
    const subscription = this.#bySession.get(session)
    if (!subscription) return
    const { appId } = session
    this.#bySession.delete(session)
    const left = (this.#perApp.get(appId) ?? 0) - 1
    if (left > 0) this.#perApp.set(appId, left)
    else this.#perApp.delete(appId)
    for (const userId of subscription.sent.keys()) {
      const name = nameOf(appId, userId)
      const ofUser = this.#byUser.get(name)
      ofUser?.delete(subscription)
      if (ofUser?.size === 0) this.#byUser.delete(name)
    }
  }
}
