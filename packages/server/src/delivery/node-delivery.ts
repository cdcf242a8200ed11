import { AppError, type CloseName, type Int64 } from '@hermod/protocol'
import type { TransientEvent } from '@hermod/protocol/events'
import type { Bus, BusMessages } from '../bus/bus.js'
import type { Database } from '../db/database.js'
import type { Epoch } from '../db/identity/epoch.js'
import type { MaybePromise } from '../lib/maybe-promise.js'
import type { DeliveredEvent, MessageReader } from '../outbox/consumer.js'
import type { HandOver } from '../outbox/hand-over.js'
import { appOutbox } from '../outbox/outbox-page.js'
import type { OutboxStore } from '../outbox/outbox-store.js'
import type { RecentOutbox, RecentRows } from '../outbox/rows/recent-rows.js'
import { keysOfRow } from '../outbox/rows/row-keys.js'
import { eventsOfRow } from '../outbox/rows/row-events.js'
import type { SessionRegistry } from '../sessions/registry.js'
import type { Session } from '../sessions/session.js'
import { AppDelivery, type AppSource, type DeliveryObserver } from './app-delivery.js'
import type { SessionDelivery, DeliveryListener, SyncState } from './delivery.js'
import type { Timers } from './outbox-follower.js'
import type { MembershipStore } from './receivers/membership-store.js'
import type { AppendedText, StreamDelivery } from './stream-delivery.js'
import type { TransientDelivery } from './transient-delivery.js'
import { type FanOutObserver, FanOuts } from './writing/fan-outs.js'
import { emptyFrame, encodeEvent } from './writing/frames.js'
import { StreamTexts } from './writing/stream-texts.js'

export interface NodeDeliveryOptions {
  readonly database: Database
  readonly bus: Bus
  readonly epoch: Epoch
  readonly sessions: SessionRegistry
  readonly outbox: OutboxStore
  readonly messages: MessageReader
  readonly readers: MembershipStore
  readonly observer: DeliveryObserver & FanOutObserver
  /** Milliseconds since 1970. */
  now(): number
  /** Tests whether a token has ended. */
  isRevoked(appId: string, tokenHash: string): Promise<boolean>
  /** Tests whether the app may be used. */
  isActive(appId: string): Promise<boolean>
  readonly timers?: Timers
}

const pollMs = 1_000
/**
 * The time for which delivery of an app continues without sessions, so that a session that comes
 * back finds recent rows in memory.
 */
const lingerMs = 60_000
/** Sessions that are closed in one turn of the event loop. */
const closesPerTurn = 100

interface RunningApp {
  readonly delivery: AppDelivery
  /** When it was last seen with sessions, as performance.now(). */
  usedAt: number
}

const eventLoop: Timers = {
  nextTurn: setImmediate,
  after: (ms, run) => setTimeout(run, ms).unref(),
}

/** Brings events to the sessions of this node. Delivery of an app runs while the app has sessions. */
export class NodeDelivery
  implements SessionDelivery, HandOver, RecentOutbox, TransientDelivery, StreamDelivery
{
  readonly #apps = new Map<string, RunningApp>()
  /** Apps that were disabled since the start. */
  readonly #inactive = new Set<string>()
  readonly #fanOuts: FanOuts
  readonly #streams: StreamTexts
  readonly #timers: Timers
  readonly #listeners: DeliveryListener[] = []
  #subscriptions: readonly (() => void)[] = []
  #timer: NodeJS.Timeout | undefined
  #isPolling = false

  constructor(private readonly options: NodeDeliveryOptions) {
    this.#timers = options.timers ?? eventLoop
    this.#streams = new StreamTexts({
      deliveryOf: (appId) => this.#apps.get(appId)?.delivery,
      fanOuts: () => this.#fanOuts,
      after: this.#timers.after,
    })
    this.#fanOuts = new FanOuts({ observer: options.observer, nextTurn: this.#timers.nextTurn })
  }

  /** The number of memberships of the connected users of all apps. */
  get membershipCount(): number {
    let count = 0
    for (const { delivery } of this.#apps.values()) count += delivery.membershipCount
    return count
  }

  listen(listener: DeliveryListener): void {
    this.#listeners.push(listener)
  }

  /** Begins to listen for commits. */
  start(): void {
    const { bus, epoch } = this.options
    this.#subscriptions = [
      bus.subscribe('outbox.appended', ({ appId, position }) =>
        this.#apps.get(appId)?.delivery.wake(position),
      ),
      epoch.subscribe(() => this.#closeEpoch()),
      bus.subscribe('event.transient', (message) => this.#writeTransient(message)),
      bus.subscribe('stream.appended', (text) => this.#streams.add(text)),
      bus.subscribe('cache.invalidated', ({ cache, key }) => {
        if (cache === 'apps') void this.#checkApp(key)
      }),
    ]
    bus.onReconnected(() => void this.#poll())
    this.#timer = setInterval(() => void this.#poll(), pollMs)
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
    for (const unsubscribe of this.#subscriptions) unsubscribe()
    for (const { delivery } of this.#apps.values()) delivery.stop()
    this.#apps.clear()
  }

  async enter(session: Session, pos: string | null): Promise<SyncState> {
    const { appId } = session
    // It was let in before the app was disabled, and came after the sessions of the app were closed.
    if (this.#inactive.has(appId)) await this.#requireActive(appId)
    if (session.phase === 'ended') return { sync: 'needed', pos: null }
    const running = this.#apps.get(appId) ?? this.#open(appId)
    running.usedAt = performance.now()
    return running.delivery.enter(session, pos)
  }

  groupCount({ appId, userId }: Session): number {
    return this.#apps.get(appId)?.delivery.groupCount(userId) ?? 0
  }

  begin(session: Session): void {
    if (session.phase === 'ready') this.#apps.get(session.appId)?.delivery.resume(session)
  }

  drained(session: Session): void {
    if (session.phase === 'behind') this.#apps.get(session.appId)?.delivery.resume(session)
  }

  leave(session: Session): void {
    session.phase = 'ended'
    this.#apps.get(session.appId)?.delivery.leave(session)
  }

  heartbeat({ appId, phase, hasMissed }: Session): Buffer {
    const delivery = phase === 'live' && !hasMissed ? this.#apps.get(appId)?.delivery : undefined
    return delivery?.heartbeat ?? emptyFrame
  }

  wants(appId: string): boolean {
    return this.#apps.has(appId)
  }

  handOver(appId: string, position: number, events: readonly DeliveredEvent[]): void {
    this.#apps.get(appId)?.delivery.handOver(position, events)
  }

  recentRows(appId: string): RecentRows | null {
    return this.#apps.get(appId)?.delivery.recent ?? null
  }

  toUsers(appId: string, userIds: readonly Int64[], event: TransientEvent): void {
    this.options.bus.publish('event.transient', { appId, receivers: { userIds }, event })
  }

  toGroup(
    { appId, groupId }: { readonly appId: string; readonly groupId: Int64 },
    event: TransientEvent,
    exceptId: Int64,
  ): void {
    const receivers = { groupId, exceptId }
    this.options.bus.publish('event.transient', { appId, receivers, event })
  }

  /** Writes an event of any node to the sessions of this one. */
  #writeTransient({ appId, receivers, event }: BusMessages['event.transient']): void {
    const { sessions } = this.options
    if ('groupId' in receivers) this.#writeToGroup(appId, receivers, event)
    else {
      const frame = encodeEvent(event.kind, event.data)
      for (const userId of receivers.userIds)
        for (const session of sessions.ofUser(appId, userId)) writeTransient(session, frame)
    }
  }

  #writeToGroup(
    appId: string,
    { groupId, exceptId }: { readonly groupId: Int64; readonly exceptId: Int64 },
    { kind, data }: TransientEvent,
  ): void {
    const receiving = this.#apps.get(appId)?.delivery.receiving(groupId) ?? []
    if (receiving.length === 0) return
    this.#fanOuts.start({
      queue: `${appId}/signals/${groupId}`,
      receivers: receiving.filter(({ userId }) => userId !== exceptId),
      frames: { all: encodeEvent(kind, data), own: null },
      isTransient: true,
      ended() {},
    })
  }

  appended({ conversation: { appId, lowId, highId, isGroup }, ...text }: AppendedText): void {
    this.options.bus.publish('stream.appended', { appId, lowId, highId, isGroup, ...text })
  }

  toSession(session: Session, { kind, data }: TransientEvent): boolean {
    return writeTransient(session, encodeEvent(kind, data))
  }

  /** Looks for rows whose wake was lost, of all apps in one statement, and ends what is not used. */
  async #poll(): Promise<void> {
    const now = performance.now()
    for (const [appId, app] of this.#apps)
      if (app.delivery.hasSessions) app.usedAt = now
      else if (now - app.usedAt > lingerMs) {
        app.delivery.stop()
        this.#apps.delete(appId)
      }
    if (this.#apps.size === 0 || this.#isPolling) return
    this.#isPolling = true
    try {
      const heads = await this.#heads([...this.#apps.keys()])
      for (const [appId, { delivery }] of this.#apps)
        if ((heads.get(appId) ?? 0) > delivery.begun.position) void delivery.read()
    } catch (error) {
      // The next look tries again.
      this.options.observer.failed(null, error)
    } finally {
      this.#isPolling = false
    }
  }

  #heads(appIds: readonly string[]): MaybePromise<ReadonlyMap<string, number>> {
    const { database, outbox } = this.options
    return database.read((db) => outbox.heads(db, appIds))
  }

  #open(appId: string): RunningApp {
    const { epoch, sessions, observer, now } = this.options
    const delivery = new AppDelivery({
      appId,
      epoch: epoch.current,
      source: this.#sourceOf(appId),
      fanOuts: this.#fanOuts,
      observer,
      listeners: this.#listeners,
      timers: this.#timers,
      now,
      openSessions: (userId) => sessions.ofUser(appId, userId),
    })
    const running = { delivery, usedAt: performance.now() }
    this.#apps.set(appId, running)
    // The next session tries again.
    delivery.started.catch((error: unknown) => {
      if (this.#apps.get(appId) === running) this.#apps.delete(appId)
      observer.failed(appId, error)
    })
    return running
  }

  #sourceOf(appId: string): AppSource {
    const { database, outbox, messages, readers, isRevoked } = this.options
    return {
      ...appOutbox(database, outbox, appId),
      eventsOf: (row) => eventsOfRow(messages, appId, row),
      keysOfRow: (row) => keysOfRow(row, messages),
      loadReader: async (userId) => database.read((db) => readers.load(db, appId, userId)),
      isRevoked: (tokenHash) => isRevoked(appId, tokenHash),
    }
  }

  /** The database was replaced: clients come back, and drop what they have stored. */
  async #closeEpoch(): Promise<void> {
    const apps = [...this.#apps]
    this.#apps.clear()
    for (const [, { delivery }] of apps) delivery.stop()
    await Promise.all(apps.map(([appId]) => this.#closeAll(appId, 'epochChanged', 'epoch_changed')))
  }

  async #checkApp(appId: string): Promise<void> {
    const isActive = await this.options.isActive(appId).catch(() => true)
    if (isActive) {
      this.#inactive.delete(appId)
      return
    }
    this.#inactive.add(appId)
    await this.#closeAll(appId, 'unknownApplication', 'application_disabled')
  }

  async #requireActive(appId: string): Promise<void> {
    if (!(await this.options.isActive(appId))) throw new AppError('app_inactive')
    this.#inactive.delete(appId)
  }

  async #closeAll(appId: string, code: CloseName, reason: string): Promise<void> {
    const sessions = [...this.options.sessions.ofApp(appId)]
    // None of them gets anything more, also before its turn comes.
    for (const session of sessions) session.phase = 'ended'
    for (const [index, session] of sessions.entries()) {
      if (index % closesPerTurn === closesPerTurn - 1)
        await new Promise<void>((resolve) => this.#timers.nextTurn(resolve))
      session.link.close(code, reason)
    }
  }
}

/** @returns false when the session cannot receive it now, so that it was dropped */
function writeTransient({ phase, link }: Session, frame: Buffer): boolean {
  if (phase !== 'live' || link.isBehind) return false
  link.write(frame)
  return true
}
