import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { MaintenanceScheduler, type MaintenanceTask } from './maintenance-scheduler.js'

const minuteMs = 60_000

/** Shares that the test gives and takes away. */
class TestShares {
  isHeld = true
  readonly #ends: (() => Promise<void>)[] = []

  add(_kind: string, _name: string, end: () => Promise<void>) {
    this.#ends.push(end)
    const isHeld = () => this.isHeld
    return {
      get isHeld() {
        return isHeld()
      },
      get isOwn() {
        return isHeld()
      },
    }
  }

  async lose(): Promise<void> {
    this.isHeld = false
    await Promise.all(this.#ends.map((end) => end()))
  }
}

/** A run of a task, which ends when the test says so. */
interface Run {
  readonly node: string
  readonly task: string
  readonly signal: AbortSignal
  end(error?: Error): void
}

let runs: Run[]
let outcomes: string[]

beforeEach(() => {
  vi.useFakeTimers()
  runs = []
  outcomes = []
})
afterEach(() => {
  vi.useRealTimers()
})

function node(
  name: string,
  intervals: Readonly<Record<string, number>>,
  shares = new TestShares(),
): MaintenanceScheduler {
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
    shares,
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

  it('runs tasks only while it has their shares', async () => {
    const shares = new TestShares()
    shares.isHeld = false
    node('a', { task: minuteMs }, shares)
    await pass(3 * minuteMs)
    expect(names()).toEqual([])
    shares.isHeld = true
    await pass(minuteMs)
    expect(names()).toEqual(['a task'])
  })

  it('a lost share: aborts the run, and the share is free when the run has ended', async () => {
    const shares = new TestShares()
    node('a', { long: minuteMs }, shares)
    await pass(minuteMs)
    let isFree = false
    const losing = shares.lose().then(() => {
      isFree = true
    })
    expect(runs[0]?.signal.aborted).toBe(true)
    await pass(minuteMs)
    expect(isFree).toBe(false)
    runs[0]?.end()
    await losing
    shares.isHeld = true
    await pass(minuteMs)
    expect(runs[1]?.signal.aborted).toBe(false)
    expect(names()).toEqual(['a long', 'a long'])
  })

  it('stop: aborts the run and waits for it', async () => {
    const first = node('a', { task: minuteMs })
    await pass(minuteMs)
    const stopping = first.stop()
    expect(runs[0]?.signal.aborted).toBe(true)
    runs[0]?.end()
    await stopping
    await pass(2 * minuteMs)
    expect(names()).toEqual(['a task'])
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
