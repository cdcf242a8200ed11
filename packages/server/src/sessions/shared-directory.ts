import type { Int64 } from '@hermod/protocol'
import type { ConnectedDevice, OnlineListener, SessionDirectory } from './directory.js'
import type { SessionRegistry } from './registry.js'

/** The session of a device as the database has it. */
export interface KnownSession {
  readonly appId: string
  readonly userId: Int64
  readonly deviceSn: number
  readonly id: number
  readonly nodeId: string
  readonly lease: number
  /** Milliseconds since it closed; null: it is open. */
  readonly closedForMs: number | null
}

/** A node under one of its leases. The sessions that it has share this object. */
export interface SessionHolder {
  readonly nodeId: string
  readonly lease: number
  sessions: number
}

interface RemoteSession {
  readonly userId: Int64
  readonly deviceSn: number
  readonly id: number
  readonly holder: SessionHolder
}

type Users = Map<Int64, readonly RemoteSession[]>

const none: readonly RemoteSession[] = []

/**
 * The connected devices of several nodes: the sessions of this node from memory, those of others as
 * the database was read last.
 */
export class SharedDirectory implements SessionDirectory {
  readonly #apps = new Map<string, Users>()
  readonly #holders = new Map<string, SessionHolder>()
  readonly #listeners: OnlineListener[] = []

  constructor(
    private readonly options: {
      readonly registry: SessionRegistry
      readonly node: { readonly id: string }
    },
  ) {
    options.registry.listen({
      wentOnline: (appId, userId) => {
        if (this.#remoteOf(appId, userId).length === 0) this.#wentOnline(appId, userId)
      },
      wentOffline: (appId, userId) => {
        if (this.#remoteOf(appId, userId).length === 0) this.#wentOffline(appId, userId, 0)
      },
      sessionClosed: (session) => {
        for (const listener of this.#listeners) listener.sessionClosed?.(session)
      },
    })
  }

  /** The other nodes with sessions, by their leases. */
  get holders(): readonly SessionHolder[] {
    return [...this.#holders.values()]
  }

  isOnline(appId: string, userId: Int64): boolean {
    return this.options.registry.isOnline(appId, userId) || this.#remoteOf(appId, userId).length > 0
  }

  devicesOf(appId: string, userId: Int64): readonly ConnectedDevice[] {
    const own = this.options.registry.devicesOf(appId, userId)
    const others = this.#remoteOf(appId, userId).filter(
      ({ deviceSn }) => !own.some((session) => session.deviceSn === deviceSn),
    )
    return [
      ...own,
      ...others.map(({ deviceSn, id, holder: { nodeId } }) => ({ userId, deviceSn, id, nodeId })),
    ]
  }

  *onlineUsers(appId: string): Generator<Int64, void> {
    const { registry } = this.options
    yield* registry.onlineUsers(appId)
    for (const userId of this.#apps.get(appId)?.keys() ?? [])
      if (!registry.isOnline(appId, userId)) yield userId
  }

  listen(listener: OnlineListener): void {
    this.#listeners.push(listener)
  }

  /**
   * Takes over a session that was read. A session of this node of the same device ends when the
   * other one is later.
   */
  apply(known: KnownSession): void {
    const { appId, userId, deviceSn, id, nodeId, closedForMs } = known
    const isOwn = nodeId === this.options.node.id
    const before = this.#remoteOf(appId, userId)
    const former = before.find((each) => each.deviceSn === deviceSn)
    // A row that was read before a later change of it.
    if (former && former.id > id) return
    const isOpen = !isOwn && closedForMs === null
    const isKnown = isOpen && former?.id === id && isOf(former.holder, known)
    if (!isKnown && (former || isOpen)) {
      const others = before.filter((each) => each !== former)
      const session = isOpen ? [{ userId, deviceSn, id, holder: this.#take(known) }] : []
      if (former) this.#release(former.holder)
      this.#set(appId, userId, [...others, ...session], closedForMs ?? 0)
    }
    const own = isOwn ? undefined : this.options.registry.ofDevice(appId, userId, deviceSn)
    if (own && own.id < id) own.link.close('replaced', 'replaced')
  }

  /** Forgets the sessions of other nodes that are not among these, which are all that are open. */
  keepOnly(known: readonly KnownSession[]): void {
    const kept = new Set(known.map(({ appId, userId, id }) => `${appId}/${userId}/${id}`))
    this.#remove((appId, { userId, id }) => !kept.has(`${appId}/${userId}/${id}`), 0)
  }

  /** Forgets the sessions of a node whose lease is over. @param agoMs since they ended */
  forget(ended: { readonly nodeId: string; readonly lease: number }, agoMs: number): void {
    this.#remove((_, { holder }) => isOf(holder, ended), agoMs)
  }

  #remove(isGone: (appId: string, session: RemoteSession) => boolean, agoMs: number): void {
    for (const [appId, users] of this.#apps)
      for (const [userId, sessions] of users) {
        const gone = sessions.filter((session) => isGone(appId, session))
        if (gone.length === 0) continue
        for (const { holder } of gone) this.#release(holder)
        const left = sessions.filter((session) => !gone.includes(session))
        this.#set(appId, userId, left, agoMs)
      }
  }

  #remoteOf(appId: string, userId: Int64): readonly RemoteSession[] {
    return this.#apps.get(appId)?.get(userId) ?? none
  }

  #set(
    appId: string,
    userId: Int64,
    sessions: readonly RemoteSession[],
    closedForMs: number,
  ): void {
    const wasOnline = this.isOnline(appId, userId)
    const users: Users = this.#apps.get(appId) ?? new Map()
    if (sessions.length > 0) {
      users.set(userId, sessions)
      this.#apps.set(appId, users)
    } else {
      users.delete(userId)
      if (users.size === 0) this.#apps.delete(appId)
    }
    const isOnline = this.isOnline(appId, userId)
    if (isOnline && !wasOnline) this.#wentOnline(appId, userId)
    if (wasOnline && !isOnline) this.#wentOffline(appId, userId, closedForMs)
  }

  #take({ nodeId, lease }: KnownSession): SessionHolder {
    const name = `${nodeId}/${lease}`
    const holder = this.#holders.get(name) ?? { nodeId, lease, sessions: 0 }
    holder.sessions++
    this.#holders.set(name, holder)
    return holder
  }

  #release(holder: SessionHolder): void {
    holder.sessions--
    if (holder.sessions === 0) this.#holders.delete(`${holder.nodeId}/${holder.lease}`)
  }

  #wentOnline(appId: string, userId: Int64): void {
    for (const listener of this.#listeners) listener.wentOnline(appId, userId)
  }

  #wentOffline(appId: string, userId: Int64, agoMs: number): void {
    for (const listener of this.#listeners) listener.wentOffline(appId, userId, agoMs)
  }
}

function isOf(
  holder: SessionHolder,
  { nodeId, lease }: Pick<SessionHolder, 'nodeId' | 'lease'>,
): boolean {
  return holder.nodeId === nodeId && holder.lease === lease
}
