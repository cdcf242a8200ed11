import { AppError, type Int64, maxPresenceUsers, type OnlineState } from '@hermod/protocol'
import type { TransientDelivery } from '../../delivery/transient-delivery.js'
import type { OnlineListener, SessionDirectory } from '../../sessions/directory.js'
import type { SessionRegistry } from '../../sessions/registry.js'
import type { Session } from '../../sessions/session.js'
import type { DeviceKey } from '../devices/device-model.js'
import type { UserKey } from '../users/user-model.js'
import { OnlineUsers } from './online-users.js'
import { type Follower, type PresenceList, Subscriptions } from './subscriptions.js'

/** Tells which users a follower may see. */
export interface PresenceRules {
  /** Returns those of the users who have the viewer as a contact; true: they do not block the viewer. */
  contactsOf(viewer: UserKey, userIds: readonly Int64[]): Promise<ReadonlyMap<Int64, boolean>>
}

interface PresenceServiceOptions {
  readonly directory: Pick<SessionDirectory, 'devicesOf' | 'isOnline' | 'listen'>
  readonly sessions: Pick<SessionRegistry, 'ofUser'>
  readonly rules: PresenceRules
  readonly transient: Pick<TransientDelivery, 'toSession'>
  /** Contacts could not be read again; the next second tries again. */
  failed(error: unknown): void
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
  readonly #changed = new Set<PresenceList>()
  /** Followed users whose relation may have changed. */
  readonly #stale = new Map<Follower, Set<Int64>>()
  #looking: Promise<void> | null = null
  #lastLook = 0
  readonly #every: NonNullable<PresenceServiceOptions['every']>
  #stopTicking: (() => void) | null = null

  constructor(private readonly options: PresenceServiceOptions) {
    const { directory, now = () => performance.now(), every = everyMs } = options
    this.#online = new OnlineUsers({ directory, now })
    this.#every = every
    directory.listen(this)
  }

  /** Tests whether a user is shown as online. */
  isOnline(user: UserKey): boolean {
    return this.#online.isShown(user)
  }

  /** Tests whether a device is connected at this moment. */
  isConnected({ appId, userId, deviceSn }: DeviceKey): boolean {
    const devices = this.options.directory.devicesOf(appId, userId)
    return devices.some((device) => device.deviceSn === deviceSn)
  }

  /** The number of users in lists; one counts once for each of its followers. */
  get followedCount(): number {
    return this.#subscriptions.followedCount
  }

  /**
   * Replaces the users that a session follows. Only the user itself and contacts stay in the list;
   * a call that fails leaves none.
   * @returns the states of all in the order of the list, each user once
   * @throws AppError too_many_requests when the lists of the user have too many different users
   */
  async subscribe(session: Session, userIds: readonly Int64[]): Promise<OnlineState[]> {
    const { appId, userId } = session
    this.sessionClosed(session)
    // Entered before the contacts are read, so that no block during the read is missed.
    const list = this.#subscriptions.replace(session, userIds)
    if (!this.options.sessions.ofUser(appId, userId).includes(session)) this.sessionClosed(session)
    const users = [...list.sent.keys()]
    try {
      const contacts = await this.#lookAt(list.follower, users)
      for (const each of users) if (!contacts.has(each)) this.#subscriptions.remove(list, each)
      requireFreeEntries(list.follower)
      this.#takeChanges(list, [...list.sent.keys()])
      return users.map((each) => ({
        user_id: each,
        online: contacts.get(each) === true && this.isOnline({ appId, userId: each }),
      }))
    } catch (error) {
      this.#end(list)
      throw error
    }
  }

  /**
   * Looks again at whether two users may see each other. Resolves after the look; a failed one is repeated
   * each second.
   */
  relationChanged(appId: string, one: Int64, other: Int64): Promise<void> {
    for (const [userId, followedId] of [
      [one, other],
      [other, one],
    ] as const) {
      const follower = this.#subscriptions.findFollower({ appId, userId })
      if (follower?.followed.has(followedId)) this.#makeStale(follower, [followedId])
    }
    return this.#lookAgain()
  }

  /** Looks again at all lists of an app, as {@link relationChanged} does. */
  relationsChanged(appId: string): Promise<void> {
    for (const follower of this.#subscriptions.followersIn(appId))
      this.#makeStale(follower, follower.followed.keys())
    return this.#lookAgain()
  }

  wentOnline(appId: string, userId: Int64): void {
    this.#online.wentOnline(appId, userId)
    this.#stateChanged({ appId, userId })
  }

  wentOffline(appId: string, userId: Int64, agoMs?: number): void {
    this.#online.wentOffline(appId, userId, agoMs)
    this.#tickWhileNeeded()
  }

  sessionClosed(session: Session): void {
    const list = this.#subscriptions.find(session)
    if (list) this.#end(list)
  }

  #end(list: PresenceList): void {
    this.#changed.delete(list)
    if (isNewestList(list)) this.#subscriptions.delete(list.session)
  }

  /**
   * Reads which users a follower may see. The newest look counts.
   * @returns the follower itself and the contacts among the users; true: the follower may see the user
   */
  async #lookAt(
    follower: Follower,
    userIds: readonly Int64[],
  ): Promise<ReadonlyMap<Int64, boolean>> {
    const look = ++this.#lastLook
    const others = userIds.filter((each) => each !== follower.userId)
    const read = others.length > 0 ? await this.options.rules.contactsOf(follower, others) : []
    const contacts = new Map(read).set(follower.userId, true)
    for (const userId of userIds) {
      const followed = follower.followed.get(userId)
      if (!followed) continue
      if (followed.lookedAt > look) {
        if (contacts.has(userId)) contacts.set(userId, followed.isVisible)
        continue
      }
      followed.lookedAt = look
      const isVisible = contacts.get(userId) === true
      if (followed.isVisible === isVisible) continue
      followed.isVisible = isVisible
      this.#noteAll(follower, userId)
    }
    return contacts
  }

  #makeStale(follower: Follower, userIds: Iterable<Int64>): void {
    const stale = this.#stale.get(follower) ?? new Set()
    this.#stale.set(follower, stale)
    for (const userId of userIds) stale.add(userId)
  }

  #lookAgain(): Promise<void> {
    if (this.#looking === null && this.#stale.size > 0) this.#looking = this.#lookAtStale()
    return this.#looking ?? Promise.resolve()
  }

  async #lookAtStale(): Promise<void> {
    for (const [follower, userIds] of this.#stale) {
      // Removed first: a change during the look needs another one.
      this.#stale.delete(follower)
      try {
        await this.#lookAt(follower, [...userIds])
      } catch (error) {
        this.#makeStale(follower, userIds)
        this.#tickWhileNeeded()
        this.options.failed(error)
        break
      }
    }
    this.#looking = null
  }

  #stateChanged(user: UserKey): void {
    for (const follower of this.#subscriptions.followersOf(user))
      this.#noteAll(follower, user.userId)
  }

  #noteAll({ lists }: Follower, userId: Int64): void {
    for (const list of lists.values()) if (list.sent.has(userId)) this.#note(list, userId)
  }

  /** Notes a state that the client of a list may not have. */
  #note(list: PresenceList, userId: Int64): void {
    list.changed.add(userId)
    this.#changed.add(list)
    this.#tickWhileNeeded()
  }

  #tickWhileNeeded(): void {
    this.#stopTicking ??= this.#every(collectedMs, () => this.#tick())
  }

  #tick(): void {
    if (this.#stale.size > 0) void this.#lookAgain()
    const gone = this.#online.takeGone(usersPerTurn)
    for (const user of gone) this.#stateChanged(user)
    // When a node or a network fails, thousands leave at once. Other work runs in between.
    if (gone.length === usersPerTurn) setImmediate(() => this.#tick())
    else if (this.#changed.size > 0) this.#sendSome([...this.#changed])
    else if (!this.#online.isWaiting && this.#stale.size === 0) {
      this.#stopTicking?.()
      this.#stopTicking = null
    }
  }

  /** Many lists change when a node starts, so other work runs in between. */
  #sendSome(due: readonly PresenceList[]): void {
    for (const list of due.slice(0, listsPerTurn)) this.#send(list)
    if (due.length > listsPerTurn) setImmediate(() => this.#sendSome(due.slice(listsPerTurn)))
  }

  #send(list: PresenceList): void {
    if (!isNewestList(list)) return
    const { session, changed, sent } = list
    const before = new Map([...changed].map((userId) => [userId, sent.get(userId)]))
    const users = this.#takeChanges(list, [...changed]).filter(
      ({ user_id, online }) => before.get(user_id) !== online,
    )
    if (users.length === 0) return
    const { transient } = this.options
    if (transient.toSession(session, { kind: 'presence', data: { users } })) return
    // The session is behind. It gets the state of a later second.
    for (const { user_id, online } of users) {
      sent.set(user_id, !online)
      this.#note(list, user_id)
    }
  }

  /** Returns the present states of users of a list, which the client then knows. */
  #takeChanges(list: PresenceList, userIds: readonly Int64[]): OnlineState[] {
    const { follower, changed, sent } = list
    const { appId, followed } = follower
    const states = userIds.map((userId) => {
      const online =
        followed.get(userId)?.isVisible === true && this.#online.isShown({ appId, userId })
      sent.set(userId, online)
      changed.delete(userId)
      return { user_id: userId, online }
    })
    if (changed.size === 0) this.#changed.delete(list)
    return states
  }
}

/** False: the session has ended or has a later list. */
function isNewestList(list: PresenceList): boolean {
  return list.follower.lists.get(list.session) === list
}

/** @throws AppError too_many_requests */
function requireFreeEntries({ followed }: Follower): void {
  let known = 0
  for (const { lookedAt } of followed.values()) if (lookedAt > 0) known++
  if (known > maxPresenceUsers) {
    const detail = `presence lists of one user have at most ${maxPresenceUsers} different users over all sessions`
    throw new AppError('too_many_requests', detail, { retryAfterSeconds: 60 })
  }
}

function everyMs(ms: number, run: () => void): () => void {
  const timer = setInterval(run, ms).unref()
  return () => clearInterval(timer)
}
