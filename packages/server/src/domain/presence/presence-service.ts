import type { Int64, OnlineState } from '@hermod/protocol'
import type { TransientDelivery } from '../../delivery/transient-delivery.js'
import type { OnlineListener, SessionRegistry } from '../../sessions/registry.js'
import type { Session } from '../../sessions/session.js'
import type { DeviceKey } from '../devices/device-model.js'
import type { UserKey } from '../users/user-model.js'
import { OnlineUsers } from './online-users.js'
import { type Subscription, Subscriptions } from './subscriptions.js'

/** Tells which users a subscriber may see. */
export interface PresenceRules {
  /** Returns those of the users who have the viewer as a contact and do not block the viewer. */
  visibleTo(viewer: UserKey, userIds: readonly Int64[]): Promise<ReadonlySet<Int64>>
}

export interface PresenceServiceOptions {
  readonly sessions: Pick<SessionRegistry, 'isOnline' | 'listen' | 'ofDevice' | 'ofUser'>
  readonly rules: PresenceRules
  readonly transient: Pick<TransientDelivery, 'toSession'>
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number
  /** Runs work again and again. @returns a function that ends it */
  readonly every?: (ms: number, run: () => void) => () => void
}

/** Changes are collected for this time. */
const collectedMs = 1_000
/** Users who are shown as offline in one turn of the event loop; each may be in many lists. */
const usersPerTurn = 50
/** Lists that are looked at in one turn of the event loop: about a millisecond. */
const listsPerTurn = 100

/** Shows who is online to those who may see it (rule E15). */
export class PresenceService implements OnlineListener {
  readonly #online: OnlineUsers
  readonly #subscriptions = new Subscriptions()
  readonly #changed = new Set<Subscription>()
  readonly #every: NonNullable<PresenceServiceOptions['every']>
  #stopTicking: (() => void) | null = null

  constructor(private readonly options: PresenceServiceOptions) {
    const { sessions, now = () => performance.now(), every = everyMs } = options
    this.#online = new OnlineUsers({ sessions, now })
    this.#every = every
    sessions.listen(this)
  }

  /** Tests whether a user is shown as online. */
  isOnline(user: UserKey): boolean {
    return this.#online.isShown(user)
  }

  /** Tests whether a device is connected at this moment. */
  isConnected({ appId, userId, deviceSn }: DeviceKey): boolean {
    return this.options.sessions.ofDevice(appId, userId, deviceSn) !== undefined
  }

  /** True while a session of the app follows users. */
  isFollowedIn(appId: string): boolean {
    return this.#subscriptions.has(appId)
  }

  /**
   * Replaces the users that a session follows.
   * @returns their states in the order of the list, each user once
   */
  async subscribe(session: Session, userIds: readonly Int64[]): Promise<OnlineState[]> {
    const { appId, userId } = session
    this.sessionClosed(session)
    // Entered before the contacts are read, so that no change during the read is missed.
    const subscription = this.#subscriptions.replace(session, userIds)
    if (!this.options.sessions.ofUser(appId, userId).includes(session)) this.sessionClosed(session)
    const users = [...subscription.sent.keys()]
    try {
      await this.#lookAt(subscription, users)
    } catch (error) {
      this.#end(subscription)
      throw error
    }
    return this.#takeChanges(subscription, users)
  }

  /** Looks again at whether two users may see each other. */
  async relationChanged(appId: string, one: Int64, other: Int64): Promise<void> {
    const followers = (viewerId: Int64, userId: Int64) =>
      [...this.#subscriptions.ofUser({ appId, userId })].filter(
        ({ session }) => session.userId === viewerId,
      )
    for (const subscription of followers(one, other)) await this.#lookAt(subscription, [other])
    for (const subscription of followers(other, one)) await this.#lookAt(subscription, [one])
  }

  /** Looks again at all lists of an app. */
  async relationsChanged(appId: string): Promise<void> {
    for (const subscription of this.#subscriptions.ofApp(appId))
      await this.#lookAt(subscription, [...subscription.sent.keys()])
  }

  wentOnline(appId: string, userId: Int64): void {
    this.#online.wentOnline(appId, userId)
    this.#stateChanged({ appId, userId })
  }

  wentOffline(appId: string, userId: Int64): void {
    this.#online.wentOffline(appId, userId)
    this.#tickWhileNeeded()
  }

  sessionClosed(session: Session): void {
    const subscription = this.#subscriptions.find(session)
    if (subscription) this.#end(subscription)
  }

  #end(subscription: Subscription): void {
    this.#changed.delete(subscription)
    if (this.#isCurrent(subscription)) this.#subscriptions.delete(subscription.session)
  }

  #isCurrent(subscription: Subscription): boolean {
    return this.#subscriptions.find(subscription.session) === subscription
  }

  /** Reads which users of a list its subscriber may see. The newest answer counts. */
  async #lookAt(subscription: Subscription, userIds: readonly Int64[]): Promise<void> {
    const { appId, userId } = subscription.session
    const lookId = Symbol()
    for (const each of userIds) subscription.looks.set(each, lookId)
    const others = userIds.filter((each) => each !== userId)
    const visible =
      others.length === 0 ? noUsers : await this.options.rules.visibleTo({ appId, userId }, others)
    for (const each of userIds) {
      if (subscription.looks.get(each) !== lookId) continue
      subscription.looks.delete(each)
      if (each === userId || visible.has(each)) subscription.visible.add(each)
      else subscription.visible.delete(each)
      this.#note(subscription, each)
    }
  }

  #stateChanged(user: UserKey): void {
    for (const subscription of this.#subscriptions.ofUser(user))
      this.#note(subscription, user.userId)
  }

  #note(subscription: Subscription, userId: Int64): void {
    if (!this.#isCurrent(subscription)) return
    subscription.changed.add(userId)
    this.#changed.add(subscription)
    this.#tickWhileNeeded()
  }

  #tickWhileNeeded(): void {
    this.#stopTicking ??= this.#every(collectedMs, () => this.#tick())
  }

  #tick(): void {
    const gone = this.#online.takeGone(usersPerTurn)
    for (const user of gone) this.#stateChanged(user)
    // When a node or a network fails, thousands leave at once. Other work runs in between.
    if (gone.length === usersPerTurn) setImmediate(() => this.#tick())
    else if (this.#changed.size > 0) this.#sendSome([...this.#changed])
    else if (!this.#online.isWaiting) {
      this.#stopTicking?.()
      this.#stopTicking = null
    }
  }

  /** Many lists change when a node starts, so other work runs in between. */
  #sendSome(due: readonly Subscription[]): void {
    for (const subscription of due.slice(0, listsPerTurn)) this.#send(subscription)
    if (due.length > listsPerTurn) setImmediate(() => this.#sendSome(due.slice(listsPerTurn)))
  }

  #send(subscription: Subscription): void {
    if (!this.#isCurrent(subscription)) return
    const { session, changed, sent } = subscription
    const before = new Map([...changed].map((userId) => [userId, sent.get(userId)]))
    const users = this.#takeChanges(subscription, [...changed]).filter(
      ({ user_id, online }) => before.get(user_id) !== online,
    )
    if (users.length === 0) return
    const { transient } = this.options
    if (transient.toSession(session, { kind: 'presence', data: { users } })) return
    // The session is behind. It gets the state of a later second.
    for (const { user_id, online } of users) {
      sent.set(user_id, !online)
      this.#note(subscription, user_id)
    }
  }

  /** Returns the present states of users of a list, which the client then knows. */
  #takeChanges(subscription: Subscription, userIds: readonly Int64[]): OnlineState[] {
    const { session, changed, sent, visible } = subscription
    const { appId } = session
    const states = userIds.map((userId) => {
      const online = visible.has(userId) && this.#online.isShown({ appId, userId })
      sent.set(userId, online)
      changed.delete(userId)
      return { user_id: userId, online }
    })
    if (changed.size === 0) this.#changed.delete(subscription)
    return states
  }
}

const noUsers: ReadonlySet<Int64> = new Set()

function everyMs(ms: number, run: () => void): () => void {
  const timer = setInterval(run, ms).unref()
  return () => clearInterval(timer)
}
