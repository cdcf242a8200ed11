import type { Clock } from '../lib/clock.js'
import type { RunningNode } from './node.js'
import { NodeFigures } from './node-figures.js'
import type { NodeFacts, NodeLease, NodeStore } from './node-store.js'

export interface NodeObserver {
  /** The clock of the process differs from that of the database by more than a second; told once. */
  clockDiffers(aheadMs: number): void
  /** This node has ended the lease of another one, which gave no heartbeat. */
  ended(nodeId: string): void
  /** The lease of this node was ended, or replaced by another process with its ID. */
  lost(reason: 'ended' | 'replaced'): void
  failed(error: unknown): void
}

interface LiveNodeOptions {
  readonly id: string
  readonly store: Pick<
    NodeStore,
    'take' | 'renew' | 'listFigures' | 'leaseOf' | 'endSilent' | 'leave'
  >
  readonly facts: NodeFacts
  /** Gives the data folder a new ID. */
  readonly renewId: () => string
  readonly clock: Clock
  readonly observer: NodeObserver
  /** Milliseconds that only grow; by default the process's own. */
  readonly now?: () => number
}

const tickMs = 1_000
const heartbeatMs = 5_000
/** A node without a heartbeat for so long is dead. */
export const silentMs = 15_000
/**
 * The time from the beginning of a heartbeat in which the lease is certainly valid. What work has to
 * end is left until others may take it over.
 */
const validMs = 13_000
/** A longer time between two heartbeats is a gap. */
const gapMs = 2 * heartbeatMs
const toldDifferenceMs = 1_000
const degradedDifferenceMs = 5_000

/**
 * One of several nodes on a database. It has a lease, which a heartbeat each 5 s prolongs, and ends
 * the leases of nodes without one for 15 s.
 *
 * A node that was cut off from the database, as all others may have been, ends no lease until it has
 * given heartbeats without a gap for 15 s: time enough for all others to give theirs.
 */
export class LiveNode implements RunningNode {
  readonly #listeners = new Set<() => void>()
  readonly figures = new NodeFigures()
  #tellDraining = () => {}
  readonly draining = new Promise<void>((resolve) => {
    this.#tellDraining = resolve
  })
  readonly #now: () => number
  #id: string
  #lease = 0
  #isDraining = false
  #aheadMs = 0
  #nodes = 1
  /** The beginning of the last heartbeat that succeeded, and the end of the first one after a gap. */
  #renewedAt = Number.NEGATIVE_INFINITY
  #steadySince = Number.POSITIVE_INFINITY
  /** The time of the last heartbeat by the clock of the database. */
  #heardAt = Number.POSITIVE_INFINITY
  #dueAt = 0
  #ticking: Promise<void> | null = null
  #timer: NodeJS.Timeout | undefined

  constructor(private readonly options: LiveNodeOptions) {
    this.#id = options.id
    this.#now = options.now ?? (() => performance.now())
  }

  get id(): string {
    return this.#id
  }

  get lease(): number {
    return this.#lease
  }

  get isLive(): boolean {
    return this.#now() < this.#renewedAt + validMs
  }

  get isDraining(): boolean {
    return this.#isDraining
  }

  get degraded(): readonly string[] {
    return Math.abs(this.#aheadMs) > degradedDifferenceMs ? ['clock'] : []
  }

  /** The time since the beginning of the last heartbeat that succeeded. */
  get heartbeatAgeMs(): number {
    return this.#now() - this.#renewedAt
  }

  /** The number of nodes that live, this one included. */
  get nodes(): number {
    return this.#nodes
  }

  /** By how much the clock of the process is ahead of the database's. */
  get aheadMs(): number {
    return this.#aheadMs
  }

  onNewLease(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async start(): Promise<void> {
    await this.#take()
    await this.#beat()
    this.#timer = setInterval(() => void this.tick(), tickMs)
    this.#timer.unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#ticking
    this.#renewedAt = Number.NEGATIVE_INFINITY
    // Without the removal the lease ends by itself.
    await this.options.store.leave(this.#own).catch(() => {})
  }

  /** Does what is due. One tick runs at a time. */
  tick(): Promise<void> {
    this.#ticking ??= this.#tick().finally(() => {
      this.#ticking = null
    })
    return this.#ticking
  }

  get #own(): NodeLease {
    return { nodeId: this.#id, lease: this.#lease }
  }

  async #tick(): Promise<void> {
    const { observer } = this.options
    try {
      if (this.#now() >= this.#dueAt) await this.#beat()
      if (this.#renewedAt - this.#steadySince >= silentMs) await this.#endSilent()
    } catch (error) {
      // The next tick tries again.
      this.#dueAt = 0
      this.#steadySince = Number.POSITIVE_INFINITY
      observer.failed(error)
    }
  }

  async #beat(): Promise<void> {
    const { store } = this.options
    const startedAt = this.#now()
    const clockAt = this.options.clock.now()
    const heartbeat = await store.renew(this.#own, this.figures.own())
    if (heartbeat === null) return this.#replaceLease()
    const endedAt = this.#now()
    // Measured to the end: the database may have stopped during the statement. The clock of the
    // database also shows a pause of this machine, in which the process's own stands still.
    const passedMs = Math.max(endedAt - this.#renewedAt, heartbeat.now - this.#heardAt)
    if (passedMs > gapMs) this.#steadySince = endedAt
    this.#heardAt = heartbeat.now
    this.#steadySince = Math.min(this.#steadySince, endedAt)
    this.#renewedAt = startedAt
    this.#dueAt = startedAt + heartbeatMs - tickMs / 2
    if (heartbeat.isDraining) this.#drain()
    if (endedAt - startedAt < toldDifferenceMs)
      this.#compareClocks((clockAt + this.options.clock.now()) / 2 - heartbeat.now)
    const others = await store.listFigures(this.#own)
    this.#nodes = others.length + 1
    this.figures.received(others)
  }

  #drain(): void {
    this.#isDraining = true
    this.#tellDraining()
  }

  #compareClocks(aheadMs: number): void {
    const wasTold = Math.abs(this.#aheadMs) > toldDifferenceMs
    this.#aheadMs = aheadMs
    if (Math.abs(aheadMs) > toldDifferenceMs && !wasTold)
      this.options.observer.clockDiffers(aheadMs)
  }

  async #endSilent(): Promise<void> {
    const { store, observer } = this.options
    const ended = await store.endSilent(this.#own, { silentMs, freshMs: silentMs / 2 })
    for (const { nodeId } of ended) observer.ended(nodeId)
  }

  /** Takes a new lease in place of one that is over. */
  async #replaceLease(): Promise<void> {
    const { store, renewId, observer } = this.options
    this.#renewedAt = Number.NEGATIVE_INFINITY
    this.#steadySince = Number.POSITIVE_INFINITY
    const isReplaced = (await store.leaseOf(this.#id)) !== null
    observer.lost(isReplaced ? 'replaced' : 'ended')
    // Two machines may have started from one copy of a disk, which the folder does not show.
    if (isReplaced) this.#id = renewId()
    await this.#take()
    for (const listener of this.#listeners) listener()
  }

  async #take(): Promise<void> {
    const startedAt = this.#now()
    this.#lease = await this.options.store.take(this.#id, this.options.facts, this.#isDraining)
    this.#renewedAt = startedAt
    this.#dueAt = startedAt + heartbeatMs - tickMs / 2
  }
}
