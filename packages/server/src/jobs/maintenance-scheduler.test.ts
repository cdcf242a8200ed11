import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { MaintenanceScheduler, type MaintenanceTask } from './maintenance-scheduler.js'

const minuteMs = 60_000

/** Leases as several nodes share them. */
class Leases {
  readonly #leases = new Map<string, { owner: string; until: number }>()

  async acquire(name: string, owner: string, ttlMs: number): Promise<boolean> {
    const lease = this.#leases.get(name)
    if (lease && lease.owner !== owner && lease.until > Date.now()) return false
    this.#leases.set(name, { owner, until: Date.now() + ttlMs })
    return true
  }

  async release(name: string, owner: string): Promise<void> {
    if (this.#leases.get(name)?.owner === owner) this.#leases.delete(name)
  }
}

/** A run of a task, which ends when the test says so. */
interface Run {
  readonly node: string
  readonly task: string
  readonly signal: AbortSignal
  end(error?: Error): void
}

let leases: Leases
let runs: Run[]
let outcomes: string[]

beforeEach(() => {
  vi.useFakeTimers()
  leases = new Leases()
  runs = []
  outcomes = []
})
afterEach(() => {
  vi.useRealTimers()
})

function node(name: string, intervals: Readonly<Record<string, number>>): MaintenanceScheduler {
  const tasks = Object.entries(intervals).map(
    ([task, intervalMs]): MaintenanceTask => ({
      name: task,
      intervalMs,
      run: (signal) =>
        new Promise((resolve, reject) => {
          const end = (error?: Error) => (error ? reject(error) : resolve())
          runs.push({ node: name, task, signal, end })
        }),
    }),
  )
  const scheduler = new MaintenanceScheduler({
    tasks,
    leases,
    observer: {
      finished: (task, outcome) => outcomes.push(`${task} ${outcome}`),
      failed: (task, error) => outcomes.push(`${task}: ${(error as Error).message}`),
    },
  })
  scheduler.start()
  return scheduler
}

const names = () => runs.map((run) => `${run.node} ${run.task}`)
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

describe('MaintenanceScheduler', () => {
  it('runs each task at its own times, whatever the others do', async () => {
    node('a', { slow: minuteMs, often: minuteMs / 2 })
    await pass(minuteMs / 2)
    runs[0]?.end()
    await pass(minuteMs / 2)
    expect(names()).toEqual(['a often', 'a slow', 'a often'])
  })

  it('does not start a task that still runs, and skips the missed runs', async () => {
    node('a', { long: minuteMs })
    await pass(5 * minuteMs + 1)
    expect(names()).toEqual(['a long'])
    runs[0]?.end()
    await pass(minuteMs - 2)
    expect(names()).toEqual(['a long'])
    await pass(1)
    expect(names()).toEqual(['a long', 'a long'])
  })

  it('runs a task on one node at a time, however long it takes', async () => {
    node('a', { long: minuteMs })
    await pass(1)
    node('b', { long: minuteMs })
    await pass(10 * minuteMs)
    expect(names()).toEqual(['a long'])
    runs[0]?.end()
    await pass(3 * minuteMs)
    expect(names()).toEqual(['a long', 'a long'])
  })

  it('leaves a task to another node as soon as its own node stops', async () => {
    const first = node('a', { task: minuteMs })
    await pass(1)
    node('b', { task: minuteMs })
    await pass(minuteMs)
    const stopping = first.stop()
    expect(runs[0]?.signal.aborted).toBe(true)
    runs[0]?.end()
    await stopping
    await pass(minuteMs)
    expect(names()).toEqual(['a task', 'b task'])
  })

  it('takes a task over from a node that died, once its lease has ended', async () => {
    await leases.acquire('maintenance/task', 'killed node', 2 * minuteMs)
    node('b', { task: minuteMs })
    await pass(minuteMs)
    expect(names()).toEqual([])
    await pass(minuteMs)
    expect(names()).toEqual(['b task'])
  })

  it('aborts a run when the lease is lost', async () => {
    const first = node('a', { long: minuteMs })
    await pass(minuteMs)
    const acquire = vi.spyOn(leases, 'acquire').mockRejectedValue(new Error('no database'))
    await pass(2 * minuteMs)
    expect(runs[0]?.signal.aborted).toBe(false)
    acquire.mockRestore()
    await leases.acquire('maintenance/long', 'another', 2 * minuteMs)
    await pass(minuteMs)
    expect(runs[0]?.signal.aborted).toBe(true)
    runs[0]?.end()
    await first.stop()
    expect(names()).toEqual(['a long'])
  })

  it('reports a failed task, and runs it again at its interval', async () => {
    node('a', { task: minuteMs })
    await pass(minuteMs)
    runs[0]?.end(new Error('disk full'))
    await pass(minuteMs)
    runs[1]?.end()
    await pass(0)
    expect(outcomes).toEqual(['task failed', 'task: disk full', 'task done'])
  })
})
