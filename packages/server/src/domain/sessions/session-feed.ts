import { setImmediate } from 'node:timers/promises'
import type { Database } from '../../db/database.js'
import { chunksOf } from '../../lib/chunks.js'
import { silentMs } from '../../nodes/live-node.js'
import type { SharedDirectory } from '../../sessions/shared-directory.js'
import type { DeviceSessionRow, SessionKey, SessionNode, SessionPage } from './session-model.js'
import type { SessionRepair } from './session-repair.js'
import type { SessionStore } from './session-store.js'

interface SessionFeedOptions {
  readonly database: Database
  readonly store: Pick<
    SessionStore,
    'changedSince' | 'closeAll' | 'closeEnded' | 'liveNodes' | 'now' | 'page'
  >
  readonly node: SessionNode
  readonly directory: Pick<SharedDirectory, 'apply' | 'forget' | 'holders' | 'keepOnly'>
  readonly repair: Pick<SessionRepair, 'run'>
  failed(error: unknown): void
}

const intervalMs = 1_000
/** A row is committed within this time after its statement began. */
const commitMs = 6_000
/** Closed rows stay longer than this and {@link commitMs} together; see {@link closedKeptMs}. */
const longestGapMs = 20_000
/** The time for which closed rows stay, so that every node reads them. */
export const closedKeptMs = 30_000
const repairMs = 60_000
const pageSize = 5_000
const rowsPerTurn = 500
/** Rows of a dead node that one statement closes. */
export const closedAtOnce = 2_000

/**
 * Follows the table of sessions, once a second. A change is read for several seconds, so that one
 * whose commit is late is not missed. While the database is away nothing changes.
 */
export class SessionFeed {
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> = Promise.resolve()
  #isStopped = false
  /** The time of the database at the last read. */
  #since = 0
  /** When that read began, as performance.now(). */
  #readAt = Number.NEGATIVE_INFINITY
  #repairedAt = performance.now()
  #needsRepair = true
  /** Leases of other nodes that are over. Their rows may still be open. */
  readonly #ended = new Set<number>()

  constructor(private readonly options: SessionFeedOptions) {}

  /** The seconds since the last read of the table began. */
  get ageSeconds(): number {
    return (performance.now() - this.#readAt) / 1_000
  }

  /** At the next read the whole table is read, and the rows of this node compared with its sessions. */
  repairSoon(): void {
    this.#needsRepair = true
  }

  /** Reads the whole table, and follows it from then on. */
  async start(): Promise<void> {
    await this.#run()
  }

  /** Closes the rows of this node, whose sessions have ended. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#running
    const { database, store, node } = this.options
    await database.statement((tx) => store.closeAll(tx, node)).catch(() => {})
  }

  async #run(): Promise<void> {
    this.#running = this.#follow()
    await this.#running
    if (!this.#isStopped) this.#timer = setTimeout(() => void this.#run(), intervalMs)
  }

  async #follow(): Promise<void> {
    const isAsked = this.#needsRepair
    this.#needsRepair = false
    try {
      // A crash of the database also loses rows of others, which then never close.
      if (isAsked || performance.now() - this.#readAt > longestGapMs) await this.#readAll()
      await this.#readChanges()
      await this.#forgetEnded()
      if (!isAsked && performance.now() - this.#repairedAt < repairMs) return
      await this.options.repair.run()
      this.#repairedAt = performance.now()
    } catch (error) {
      this.#needsRepair = true
      this.options.failed(error)
    }
  }

  async #readAll(): Promise<void> {
    const { database, store, directory } = this.options
    const startedAt = performance.now()
    const since = await database.read((db) => store.now(db))
    const open: DeviceSessionRow[] = []
    let after: SessionKey | null = null
    do {
      const start: SessionKey | null = after
      const { rows, next }: SessionPage = await database.read((db) =>
        store.page(db, start, pageSize),
      )
      open.push(...rows.filter(({ closedForMs }) => closedForMs === null))
      await this.#apply(rows)
      after = next
    } while (after !== null)
    directory.keepOnly(open)
    this.#since = since
    this.#readAt = startedAt
  }

  async #readChanges(): Promise<void> {
    const { database, store } = this.options
    const startedAt = performance.now()
    const { now, rows } = await database.read((db) =>
      store.changedSince(db, this.#since - commitMs),
    )
    await this.#apply(rows)
    this.#since = now
    this.#readAt = startedAt
  }

  async #apply(rows: readonly DeviceSessionRow[]): Promise<void> {
    for (const [turn, some] of chunksOf(rows, rowsPerTurn).entries()) {
      if (turn > 0) await setImmediate()
      for (const row of some) if (!this.#ended.has(row.lease)) this.options.directory.apply(row)
    }
  }

  /** Forgets the sessions of nodes that are dead, have left or have a new lease. */
  async #forgetEnded(): Promise<void> {
    const { database, store, directory } = this.options
    if (directory.holders.length === 0) return
    const live = await database.read((db) => store.liveNodes(db))
    const ended = directory.holders.filter(
      ({ nodeId, lease }) => !live.some((each) => each.id === nodeId && each.lease === lease),
    )
    // Devices that have come back elsewhere stay online.
    if (ended.length > 0) await this.#readChanges()
    for (const { nodeId, lease } of ended) {
      this.#ended.add(lease)
      directory.forget({ nodeId, lease }, silentMs)
      // Nobody waits for the rows, which may be very many; maintenance closes those that stay.
      closeSessionsOf({ database, store, node: { id: nodeId, lease } }).catch(() => {})
    }
  }
}

/** Closes all sessions of a lease that is over. */
export async function closeSessionsOf({
  database,
  store,
  node,
}: {
  readonly database: Database
  readonly store: Pick<SessionStore, 'closeEnded'>
  readonly node: SessionNode
}): Promise<void> {
  let closed = closedAtOnce
  while (closed === closedAtOnce)
    closed = await database.statement((tx) => store.closeEnded(tx, node, closedAtOnce))
}
