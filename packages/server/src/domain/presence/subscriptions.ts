import type { Int64 } from '@hermod/protocol'
import type { Session } from '../../sessions/session.js'
import type { UserKey } from '../users/user-model.js'

/** A user in a list of a follower. */
interface FollowedUser {
  isVisible: boolean
  /** The number of the newest look at the contacts whose answer has come; 0: none has. */
  lookedAt: number
}

/** A user whose sessions have lists. The sessions share what is known about each followed user. */
export interface Follower extends UserKey {
  /** The users of all lists. */
  readonly followed: Map<Int64, FollowedUser>
  readonly lists: Map<Session, PresenceList>
}

/** The list of a session: the users that it follows. */
export interface PresenceList {
  readonly session: Session
  readonly follower: Follower
  /** By user: the state that the client has. */
  readonly sent: Map<Int64, boolean>
  /** Users with a state that may differ from the one that the client has. */
  readonly changed: Set<Int64>
}

interface AppFollowers {
  readonly followers: Map<Int64, Follower>
  readonly byFollowed: Map<Int64, Set<Follower>>
}

/** The lists of all sessions, by follower and by followed user. */
export class Subscriptions {
  readonly #apps = new Map<string, AppFollowers>()
  #followedCount = 0

  /** The number of followed users; one counts once for each of its followers. */
  get followedCount(): number {
    return this.#followedCount
  }

  find(session: Session): PresenceList | undefined {
    return this.findFollower(session)?.lists.get(session)
  }

  /** Returns the users of an app whose sessions have lists. */
  followersIn(appId: string): Follower[] {
    return [...(this.#apps.get(appId)?.followers.values() ?? [])]
  }

  findFollower({ appId, userId }: UserKey): Follower | undefined {
    return this.#apps.get(appId)?.followers.get(userId)
  }

  /** Returns the users who follow the user. */
  followersOf({ appId, userId }: UserKey): Iterable<Follower> {
    return this.#apps.get(appId)?.byFollowed.get(userId) ?? []
  }

  /**
   * Adds the list of a session, in place of its former one. Users that no other list of the
   * follower has are invisible at first.
   */
  replace(session: Session, userIds: readonly Int64[]): PresenceList {
    this.delete(session)
    const { appId, userId } = session
    const app = this.#apps.get(appId) ?? { followers: new Map(), byFollowed: new Map() }
    const follower = app.followers.get(userId) ?? newFollower(session)
    const sent = new Map(userIds.map((each) => [each, false]))
    const list = { session, follower, sent, changed: new Set<Int64>() }
    if (sent.size === 0) return list
    this.#apps.set(appId, app)
    app.followers.set(userId, follower)
    follower.lists.set(session, list)
    for (const each of sent.keys()) {
      if (follower.followed.has(each)) continue
      follower.followed.set(each, { isVisible: false, lookedAt: 0 })
      this.#followedCount++
      const followers = app.byFollowed.get(each) ?? new Set()
      app.byFollowed.set(each, followers.add(follower))
    }
    return list
  }

  /** Removes a user from a list. */
  remove({ follower, sent, changed }: PresenceList, userId: Int64): void {
    sent.delete(userId)
    changed.delete(userId)
    this.#unfollow(follower, userId)
  }

  delete(session: Session): void {
    const list = this.find(session)
    if (!list) return
    const { follower, sent } = list
    follower.lists.delete(session)
    for (const userId of sent.keys()) this.#unfollow(follower, userId)
    const app = this.#apps.get(follower.appId)
    if (follower.lists.size === 0) app?.followers.delete(follower.userId)
    if (app?.followers.size === 0) this.#apps.delete(follower.appId)
  }

  /** Forgets a followed user that no list of the follower has. */
  #unfollow(follower: Follower, userId: Int64): void {
    for (const { sent } of follower.lists.values()) if (sent.has(userId)) return
    if (!follower.followed.delete(userId)) return
    this.#followedCount--
    const byFollowed = this.#apps.get(follower.appId)?.byFollowed
    const followers = byFollowed?.get(userId)
    followers?.delete(follower)
    if (followers?.size === 0) byFollowed?.delete(userId)
  }
}

function newFollower({ appId, userId }: UserKey): Follower {
  return { appId, userId, followed: new Map(), lists: new Map() }
}
