import { beforeEach, describe, expect, it } from 'vitest'
import { SecretKeys } from '../../lib/secrets/secret-keys.js'
import type { FailureStore, StoredFailures } from './failure-store.js'
import { LoginGuard } from './login-guard.js'
import { SharedFailures } from './shared-failures.js'

const minuteMs = 60_000
const keys = new SecretKeys(Buffer.alloc(32, 1)).for('failed logins')
const limits = {
  userFailures: 5,
  addressFailures: 20,
  maxWaitMs: 60_000,
  forgetMs: 15 * minuteMs,
}

/** The rows of all nodes, in memory. */
class Rows {
  rows: (Omit<StoredFailures, 'ageMs'> & { at: number })[] = []
  writes = 0

  constructor(private readonly now: () => number) {}

  async save(saved: readonly StoredFailures[]): Promise<void> {
    this.writes++
    for (const { ageMs, ...row } of saved) {
      this.rows = this.rows.filter(({ key, nodeId }) => key !== row.key || nodeId !== row.nodeId)
      this.rows.push({ ...row, at: this.now() - ageMs })
    }
  }

  async clear(cleared: readonly string[]): Promise<void> {
    this.rows = this.rows.filter(({ key }) => !cleared.includes(key))
  }

  async list(): Promise<StoredFailures[]> {
    return this.rows.map(({ at, ...row }) => ({ ...row, ageMs: this.now() - at }))
  }
}

describe('failed logins of several nodes', () => {
  let now: number
  let stored: Rows
  let nodes: { failures: SharedFailures; guard: LoginGuard }[]

  beforeEach(() => {
    now = 1_800_000_000_000
    stored = new Rows(() => now)
    nodes = ['a', 'b', 'c'].map((id, index) => {
      // The clocks of machines differ.
      const clock = { now: () => now + index * 8_000 }
      const failures = new SharedFailures({
        store: stored as unknown as FailureStore,
        node: { id },
        forgetMs: limits.forgetMs,
        ...{ keys, clock },
      })
      return { failures, guard: new LoginGuard({ clock, ...limits, sharing: failures }) }
    })
  })

  const attempt = (userId: number, address = '192.0.2.1') => ({ appId: 'home', userId, address })

  /** A second of writes, and a heartbeat. */
  async function exchange(): Promise<void> {
    for (const { failures } of nodes) await failures.write()
    for (const { failures } of nodes) await failures.read()
  }

  function fail(node: number, times: number, of = attempt(1)): void {
    for (let count = 0; count < times; count++) nodes[node]?.guard.failed(of)
  }

  const waits = (of = attempt(1)) =>
    nodes.map(({ guard }) => {
      try {
        guard.check(of)
        return false
      } catch {
        return true
      }
    })

  it('add up on every node from half of the limit on', async () => {
    fail(0, 3)
    fail(1, 3)
    expect(waits()).toEqual([false, false, false])
    await exchange()
    expect(waits()).toEqual([true, true, true])
    expect(waits(attempt(2))).toEqual([false, false, false])
  })

  it('cost no write below half of the limit, nor twice for one failure', async () => {
    fail(0, 2)
    await exchange()
    expect(stored.writes).toBe(0)
    fail(0, 1)
    await exchange()
    await exchange()
    expect(stored.writes).toBe(1)
  })

  it('end on every node with a login on one of them', async () => {
    fail(0, 4)
    fail(1, 4)
    await exchange()
    now += 60_000
    nodes[2]?.guard.succeeded(attempt(1))
    await exchange()
    expect(stored.rows).toEqual([])
    fail(0, 1)
    fail(1, 1)
    expect(waits()).toEqual([false, false, false])
  })

  it('of a network add up over all users', async () => {
    for (let user = 1; user <= 7; user++) for (const node of [0, 1, 2]) fail(node, 1, attempt(user))
    for (let user = 8; user <= 11; user++)
      for (const node of [0, 1, 2]) fail(node, 1, attempt(user))
    await exchange()
    expect(waits(attempt(99))).toEqual([true, true, true])
    expect(waits(attempt(99, '198.51.100.7'))).toEqual([false, false, false])
  })

  it('are stored under hashes', async () => {
    fail(0, 4)
    await exchange()
    expect(stored.rows.map(({ key }) => key)).toEqual([expect.stringMatching(/^[\w-]{43}$/)])
  })
})
