import type { Int64 } from '@hermod/protocol'
import type { OnlineListener, SessionDirectory } from './directory.js'
import type { Session } from './session.js'

const none: readonly Session[] = []

/**
 * The open sessions of this node: the receivers of events, and where there is no other node all
 * connected devices. Lists are replaced when they change, so a caller may close sessions while it
 * walks one.
 */
export class SessionRegistry implements SessionDirectory {
  readonly #apps = new Map<string, Map<Int64, readonly Session[]>>()
  readonly #listeners: OnlineListener[] = []
  #count = 0

  /** The number of open sessions. */
  get count(): number {
    return this.#count
  }

  listen(listener: OnlineListener): void {
    this.#listeners.push(listener)
  }

  /**
   * Adds an open session. Of two sessions of one device the one with the greater ID stays; the
   * other one is closed as replaced.
   * @returns false when the session itself is the one that was closed
   */
  add(session: Session): boolean {
    const { appId, userId, deviceSn } = session
    const before = this.ofUser(appId, userId)
    if (before.includes(session)) return true
    const rival = deviceSn === null ? undefined : before.find((each) => each.deviceSn === deviceSn)
    if (rival && rival.id > session.id) {
      session.link.close('replaced', 'replaced')
      return false
    }
    const users = this.#apps.get(appId) ?? new Map<Int64, readonly Session[]>()
    this.#apps.set(appId, users)
    const others = rival ? before.filter((each) => each !== rival) : before
    users.set(userId, others.concat(session))
    if (rival) {
      rival.link.close('replaced', 'replaced')
      this.#closed(rival)
    } else this.#count++
    if (deviceSn !== null && !before.some(hasDevice))
      for (const listener of this.#listeners) listener.wentOnline(appId, userId)
    return true
  }

  /** Removes a session; one that is not open is ignored. */
  remove(session: Session): void {
    const { appId, userId } = session
    const users = this.#apps.get(appId)
    const before = this.ofUser(appId, userId)
    if (!users || !before.includes(session)) return
    const left = before.filter((each) => each !== session)
    this.#count--
    if (left.length > 0) users.set(userId, left)
    else users.delete(userId)
    if (users.size === 0) this.#apps.delete(appId)
    this.#closed(session)
    if (session.deviceSn !== null && !left.some(hasDevice))
      for (const listener of this.#listeners) listener.wentOffline(appId, userId)
  }

  #closed(session: Session): void {
    for (const listener of this.#listeners) listener.sessionClosed?.(session)
  }

  /** The sessions of a user, oldest first. */
  ofUser(appId: string, userId: Int64): readonly Session[] {
    return this.#apps.get(appId)?.get(userId) ?? none
  }

  /** Returns the session of a device, if it is connected. */
  ofDevice(appId: string, userId: Int64, deviceSn: number): Session | undefined {
    return this.ofUser(appId, userId).find((session) => session.deviceSn === deviceSn)
  }

  devicesOf(appId: string, userId: Int64): readonly DeviceSession[] {
    return this.ofUser(appId, userId).filter(hasDevice)
  }

  isOnline(appId: string, userId: Int64): boolean {
    return this.ofUser(appId, userId).some(hasDevice)
  }

  /** The apps with a session, in no order. */
  get appIds(): Iterable<string> {
    return this.#apps.keys()
  }

  /** The sessions of an app, user by user. */
  *ofApp(appId: string): Generator<Session, void> {
    for (const sessions of this.#apps.get(appId)?.values() ?? []) yield* sessions
  }

  *onlineUsers(appId: string): Generator<Int64, void> {
    for (const [userId, sessions] of this.#apps.get(appId) ?? [])
      if (sessions.some(hasDevice)) yield userId
  }

  /** The users of an app with a session, in no order. */
  users(appId: string): Iterable<Int64> {
    return this.#apps.get(appId)?.keys() ?? []
  }

  /** The sessions of all apps. */
  *all(): Generator<Session, void> {
    for (const appId of this.#apps.keys()) yield* this.ofApp(appId)
  }
}

/** A session with a device. */
export type DeviceSession = Session & { readonly deviceSn: number }

export function hasDevice(session: Session): session is DeviceSession {
  return session.deviceSn !== null
}
