import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Database } from '../../db/database.js'
import { SessionRegistry } from '../../sessions/registry.js'
import { SharedDirectory } from '../../sessions/shared-directory.js'
import { SessionFeed } from './session-feed.js'
import type { DeviceSessionRow, SessionNode } from './session-model.js'

const appId = 'shop'
const node = { id: 'own', lease: 1 }

/** The table of sessions, without what closes rows. */
class Table {
  readonly rows = new Map<number, DeviceSessionRow & { readonly changedAt: number }>()
  readonly live: SessionNode[] = [node]
  isAway = false
  reads = 0
  repairs = 0
  failures = 0

  readonly store = {
    now: async () => this.#read(Date.now()),
    page: async () => this.#read({ rows: [...this.rows.values()].filter(isOpen), next: null }),
    changedSince: async (_: unknown, since: number) =>
      this.#read({
        now: Date.now(),
        rows: [...this.rows.values()].filter(({ changedAt }) => changedAt > since),
      }),
    liveNodes: async () => this.#read([...this.live]),
    closeEnded: async (_: unknown, { id, lease }: SessionNode) => {
      for (const row of this.rows.values())
        if (row.nodeId === id && row.lease === lease)
          this.rows.set(Number(row.userId), { ...row, closedForMs: 0 })
      return 0
    },
    closeAll: async () => {},
  }

  readonly database = {
    read: (work: (db: null) => unknown) => work(null),
    statement: (work: (db: null) => unknown) => work(null),
  } as unknown as Database

  write(row: DeviceSessionRow): void {
    this.rows.set(Number(row.userId), { ...row, changedAt: Date.now() })
  }

  #read<T>(answer: T): T {
    this.reads++
    if (this.isAway) throw new Error('away')
    return answer
  }
}

function isOpen({ closedForMs }: DeviceSessionRow): boolean {
  return closedForMs === null
}

function row(userId: number, lease = 2): DeviceSessionRow {
  const place = { nodeId: 'other', lease, closedForMs: null }
  return { appId, userId, deviceSn: 1, id: userId * 10, ...place }
}

let table: Table
let directory: SharedDirectory
let feed: SessionFeed
let told: string[]

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance', 'setTimeout', 'clearTimeout'] })
  table = new Table()
  table.live.push({ id: 'other', lease: 2 })
  directory = new SharedDirectory({ registry: new SessionRegistry(), node })
  told = []
  directory.listen({
    wentOnline: (_, userId) => told.push(`${userId} came`),
    wentOffline: (_, userId, agoMs) => told.push(`${userId} left ${agoMs} ms ago`),
  })
  feed = new SessionFeed({
    ...{ database: table.database, store: table.store, node, directory },
    repair: { run: async () => void table.repairs++ },
    failed: () => table.failures++,
  })
  table.write(row(5))
  await feed.start()
})
afterEach(async () => {
  vi.useRealTimers()
  await feed.stop()
})

const pass = (seconds: number) => vi.advanceTimersByTimeAsync(seconds * 1_000)

describe('the feed of sessions', () => {
  it('has the open sessions at the start, and changes within a second', async () => {
    table.write(row(6))
    await pass(1)
    table.write({ ...row(5), closedForMs: 300 })
    await pass(1)
    expect(told).toEqual(['5 came', '6 came', '5 left 300 ms ago'])
  })

  it('forgets the sessions of a node whose lease is over before their rows are closed', async () => {
    table.store.closeEnded = () => new Promise(() => {})
    table.live.pop()
    await pass(3)
    expect(told).toEqual(['5 came', '5 left 15000 ms ago'])
    feed.repairSoon()
    table.write(row(6))
    await pass(2)
    expect(told).toEqual(['5 came', '5 left 15000 ms ago'])
  })

  it('changes nothing while the database is away, and catches up after it', async () => {
    table.isAway = true
    await pass(60)
    expect(told).toEqual(['5 came'])
    expect(table.failures).toBeGreaterThan(30)
    table.rows.delete(5)
    table.write(row(6))
    table.isAway = false
    await pass(1)
    expect(told).toEqual(['5 came', '6 came', '5 left 0 ms ago'])
  })

  it('closes the sessions of a node whose lease is over; their users left with its last heartbeat', async () => {
    table.write(row(6))
    await pass(10)
    table.live.splice(1, 1, { id: 'third', lease: 3 })
    table.write({ ...row(6, 3), nodeId: 'third', id: 61 })
    await pass(1)
    expect(told).toEqual(['5 came', '6 came', '5 left 15000 ms ago'])
    expect(directory.holders).toMatchObject([{ nodeId: 'third', sessions: 1 }])
    table.live.pop()
    await pass(1)
    expect(directory.holders).toEqual([])
  })

  it('forgets sessions that ended while the database was down, and whose rows it has lost', async () => {
    table.rows.delete(5)
    feed.repairSoon()
    await pass(1)
    expect(told).toEqual(['5 came', '5 left 0 ms ago'])
  })

  it('repairs the rows of its node at the start, each minute, when asked, and after a failure', async () => {
    expect(table.repairs).toBe(1)
    await pass(59)
    expect(table.repairs).toBe(1)
    await pass(2)
    expect(table.repairs).toBe(2)
    feed.repairSoon()
    await pass(1)
    expect(table.repairs).toBe(3)
    table.isAway = true
    await pass(1)
    table.isAway = false
    await pass(1)
    expect(table.repairs).toBe(4)
  })
})
