import type { Int64 } from '@hermod/protocol'
import type { DeliveredEvent } from '../outbox/consumer.js'
import { decodePos, type OutboxPosition } from '../outbox/pos.js'
import type { RecentRows } from '../outbox/rows/recent-rows.js'
import type { RowKeys } from '../outbox/rows/row-keys.js'
import type { Session } from '../sessions/session.js'
import type { DeliveryListener, SyncState } from './delivery.js'
import { type FollowedOutbox, OutboxFollower, type Timers } from './outbox-follower.js'
import { Closings } from './receivers/closings.js'
import { EventRouter } from './receivers/event-router.js'
import type { LoadedReader } from './receivers/membership-store.js'
import { type GroupEvent, Readers } from './receivers/readers.js'
import { syncStateOf } from './sync-state.js'
import type { FanOuts } from './writing/fan-outs.js'
import { resume, SyncRequests } from './writing/sync-requests.js'
import { Watermark } from './writing/watermark.js'

/** The outbox of one app, and what is read of its users. */
export interface AppSource extends FollowedOutbox {
  loadReader(userId: Int64): Promise<LoadedReader>
  isRevoked(tokenHash: string): Promise<boolean>
}

/** Receives lag and failures of delivery, for logs and metrics. */
export interface DeliveryObserver {
  /** @param lagMs the time since the commit */
  began(events: number, lagMs: number): void
  /** Delivery of an app is at this row. @param time of the row; 0 = not known */
  reached(appId: string, position: number, time: number): void
  /** Rows were purged before delivery had begun them. */
  missed(appId: string): void
  /** @param appId null: of all apps */
  failed(appId: string | null, error: unknown): void
}

interface AppDeliveryOptions {
  readonly appId: string
  readonly epoch: string
  readonly source: AppSource
  readonly fanOuts: FanOuts
  readonly observer: DeliveryObserver
  readonly listeners: readonly DeliveryListener[]
  readonly timers: Timers
  /** Milliseconds since 1970. */
  now(): number
  /** The open sessions of a user, also those that have not entered yet. */
  openSessions(userId: Int64): readonly Session[]
}

/** The log of a conversation of the app. */
interface LogOfApp {
  readonly lowId: Int64
  readonly highId: Int64
  readonly isGroup: boolean
}

/** A user with sessions that have entered. */
interface ConnectedUser {
  sessions: readonly Session[]
  /** True: the memberships are exact. */
  isReady: boolean
  loading: Promise<void> | null
}

const none: readonly Session[] = []

/** Sends the events of one app to its sessions on this node, and knows the connected users. */
export class AppDelivery {
  /** Resolves when sessions may enter. */
  readonly started: Promise<void>
  readonly #options: AppDeliveryOptions
  readonly #follower: OutboxFollower
  readonly #readers: Readers
  readonly #router: EventRouter
  readonly #watermark: Watermark
  readonly #syncRequests: SyncRequests
  readonly #users = new Map<Int64, ConnectedUser>()
  /** Sessions that continue with events once the memberships of their users are exact. */
  readonly #suspended = new Set<Session>()
  /** Group events that delivery has begun while memberships were read, for each read. */
  readonly #noted = new Set<GroupEvent[]>()
  /** The times that rows were purged before they were begun. */
  #gaps = 0

  constructor(options: AppDeliveryOptions) {
    this.#options = options
    const { appId, epoch, source, fanOuts, observer, timers, now, openSessions } = options
    const sessionsOf = (userId: Int64) => this.#users.get(userId)?.sessions ?? none
    this.#readers = new Readers(sessionsOf)
    this.#watermark = new Watermark(epoch)
    this.#syncRequests = new SyncRequests(timers)
    this.#router = new EventRouter({
      appId,
      readers: this.#readers,
      fanOuts,
      closings: new Closings({
        sessionsOf: openSessions,
        isRevoked: (hash) => source.isRevoked(hash),
      }),
      sessionsOf,
      hold: () => this.#watermark.hold(),
      after: timers.after,
    })
    this.#follower = new OutboxFollower({
      ...{ outbox: source, timers, now },
      begin: (row, events) => this.#begin(row, events),
      missed: (upTo) => this.#missed(upTo),
      failed: (error) => observer.failed(appId, error),
      room: () =>
        fanOuts.isFull ? new Promise<void>((resolve) => fanOuts.whenRoom(resolve)) : null,
    })
    this.started = this.#start()
    // Each session that enters awaits it.
    this.started.catch(() => {})
  }

  /** The position of the row that was begun last. */
  get begun(): OutboxPosition {
    return this.#watermark.begun
  }

  /** null until it has started. */
  get recent(): RecentRows | null {
    return this.#follower.isStarted ? this.#follower.recent : null
  }

  /** The heartbeat of sessions that miss nothing. */
  get heartbeat(): Buffer {
    return this.#watermark.frame
  }

  /** The number of memberships of all connected users. */
  get membershipCount(): number {
    return this.#readers.membershipCount
  }

  groupCount(userId: Int64): number {
    return this.#readers.groupsOf(userId).length
  }

  get hasSessions(): boolean {
    return this.#users.size > 0
  }

  /** The sessions of members who receive messages of the group live. */
  receiving(groupId: Int64): readonly Session[] {
    return this.#readers.receiving(groupId)
  }

  /** The sessions that may see a message and know its text while it is written. */
  streamReceivers({ lowId, highId, isGroup }: LogOfApp, messageId: number): readonly Session[] {
    const sessions = isGroup
      ? this.#readers.receivingOlder(lowId, messageId).visible
      : [...new Set([lowId, highId])].flatMap((userId) => this.#users.get(userId)?.sessions ?? none)
    return sessions.filter(({ features }) => features.has('streams'))
  }

  stop(): void {
    this.#follower.stop()
  }

  /** Rows were appended to the outbox. @param position of the last one; undefined: not known */
  wake(position?: number): void {
    this.#follower.wake(position)
  }

  handOver(position: number, events: readonly DeliveredEvent[]): void {
    this.#follower.handOver(position, events)
  }

  /** Reads and begins the rows that are not handed over. */
  read(): Promise<void> {
    return this.#follower.read()
  }

  /** Enters a session. @see Delivery.enter */
  async enter(session: Session, pos: string | null): Promise<SyncState> {
    const { userId, tokenHash } = session
    const { source } = this.#options
    const user = this.#users.get(userId) ?? newUser()
    this.#users.set(userId, user)
    user.sessions = user.sessions.concat(session)
    await this.started
    // A token that ended before the session had entered: its event found no session.
    if (tokenHash !== null && (await source.isRevoked(tokenHash)))
      session.link.close('tokenRevoked', 'token_revoked')
    let head: number
    do {
      if (!user.isReady && isOpen(session)) await this.#load(userId, user)
      head = await this.#headFor(pos)
    } while (!user.isReady && isOpen(session))
    // From here to the end nothing else runs, so the state is that of the position that is begun now.
    if (!isOpen(session)) return { sync: 'needed', pos: null }
    session.phase = 'ready'
    session.hasMissed = false
    this.#readers.sessionsChanged(userId)
    const reader = { userId, groupIds: this.#readers.groupsOf(userId) }
    return syncStateOf({ pos, begun: this.begun, head, recent: this.#follower.recent, reader })
  }

  /** Writes events to a session from now on, or once the memberships of its user are exact. */
  resume(session: Session): void {
    const user = this.#users.get(session.userId)
    if (!user) return
    if (user.isReady) resume(session)
    else {
      session.phase = 'ready'
      this.#suspended.add(session)
    }
  }

  /** Forgets a session that has entered. */
  leave(session: Session): void {
    const { userId } = session
    const user = this.#users.get(userId)
    this.#suspended.delete(session)
    if (!user?.sessions.includes(session)) return
    user.sessions = user.sessions.filter((each) => each !== session)
    if (user.sessions.length > 0) this.#readers.sessionsChanged(userId)
    else {
      this.#users.delete(userId)
      this.#readers.remove(userId)
    }
  }

  async #start(): Promise<void> {
    const time = await this.#follower.start()
    this.#watermark.begin(this.#follower.position, time)
    this.#options.observer.reached(this.#options.appId, this.#follower.position, time)
    this.#announceMissed()
    void this.#follower.read()
  }

  #begin({ position, createdAt }: RowKeys, events: readonly DeliveredEvent[]): void {
    const { appId, observer, listeners, now } = this.#options
    this.#watermark.begin(position, createdAt)
    observer.began(events.length, now() - createdAt)
    observer.reached(appId, position, createdAt)
    try {
      this.#note(events)
      this.#router.dispatch(events)
      // Their heads have moved without events.
      if (events.some(({ kind }) => kind === 'import.finished')) this.#requestSyncs()
      for (const listener of listeners) listener.begun(appId, events)
    } catch (error) {
      // A fault of ours: clients and listeners read from the database what they did not get.
      observer.failed(appId, error)
      this.#announceMissed()
      this.#requestSyncs()
    }
  }

  #requestSyncs(): void {
    this.#syncRequests.add([...this.#users.values()].flatMap(({ sessions }) => sessions))
  }

  /** Keeps group events for the users whose memberships are being read. */
  #note(events: readonly DeliveredEvent[]): void {
    for (const noted of this.#noted)
      for (const event of events) if ('group_id' in event.payload) noted.push(event as GroupEvent)
  }

  #load(userId: Int64, user: ConnectedUser): Promise<void> {
    user.loading ??= this.#loadNow(userId, user).finally(() => {
      user.loading = null
    })
    return user.loading
  }

  /**
   * Reads the memberships of a user. They are of a moment between the position that is begun and
   * the end of the outbox, so they are exact once delivery has begun everything up to that end:
   * each later change was applied.
   */
  async #loadNow(userId: Int64, user: ConnectedUser): Promise<void> {
    const { source } = this.#options
    const gaps = this.#gaps
    const noted: GroupEvent[] = []
    this.#noted.add(noted)
    let head: number
    try {
      const loaded = await source.loadReader(userId)
      head = await source.head()
      // The event of it may have come before the session had entered.
      if (loaded.barredAs !== null) this.#bar(user, loaded.barredAs)
      // Changes of memberships that were purged after the read were not applied.
      if (this.#users.get(userId) !== user || gaps !== this.#gaps) return
      this.#readers.add(userId, loaded, noted)
    } finally {
      this.#noted.delete(noted)
    }
    await this.#follower.reached(head)
    if (gaps === this.#gaps) user.isReady = true
  }

  /** Closes the sessions of a user who is disabled or deleted. */
  #bar({ sessions }: ConnectedUser, reason: 'user_disabled' | 'user_deleted'): void {
    const code = reason === 'user_disabled' ? 'userDisabled' : 'userDeleted'
    for (const session of sessions) session.link.close(code, reason)
  }

  /** Returns the end of the outbox for a pos that is above what is begun. */
  async #headFor(pos: string | null): Promise<number> {
    const known = pos ? decodePos(pos) : null
    const { position } = this.begun
    if (!known || known.epoch !== this.begun.epoch || known.position <= position) return position
    const head = await this.#options.source.head()
    if (known.position <= head) await this.#follower.reached(head)
    return head
  }

  /**
   * Rows were purged before they were begun. Changes of memberships were among them, so these are
   * read again; until then no user is a member, and no session gets events, also one that begins or
   * is drained. Then each is asked to sync.
   */
  #missed(upTo: number): void {
    const { appId, observer } = this.#options
    observer.missed(appId)
    this.#announceMissed()
    this.#gaps++
    this.#watermark.begin(upTo, 0)
    for (const [userId, user] of this.#users) {
      user.isReady = false
      // A message that waits to be written must not find them when the session continues.
      this.#readers.remove(userId)
      for (const session of user.sessions) {
        session.hasMissed = true
        if (session.phase === 'live') this.resume(session)
      }
      void this.#reload(userId, user)
    }
  }

  #announceMissed(): void {
    const { appId, listeners } = this.#options
    for (const listener of listeners) listener.missed(appId)
  }

  async #reload(userId: Int64, user: ConnectedUser): Promise<void> {
    try {
      // A load that reads already began before the purge.
      await user.loading?.catch(() => {})
      while (!user.isReady && this.#users.get(userId) === user) await this.#load(userId, user)
      this.#readers.sessionsChanged(userId)
      for (const session of user.sessions)
        if (this.#suspended.delete(session) && session.phase === 'ready') resume(session)
    } catch {
      for (const session of user.sessions) session.link.close('serverError', 'server_error')
    }
  }
}

function isOpen({ phase }: Session): boolean {
  return phase !== 'ended'
}

function newUser(): ConnectedUser {
  return { sessions: none, isReady: false, loading: null }
}
