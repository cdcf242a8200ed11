/** Durable jobs as those who order them see them; killed nodes are the matter of jobs-crash.test.ts. */
import { setTimeout as sleep } from 'node:timers/promises'
import { isFullRun, testBackends, waitFor } from '@hermod/testkit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { databaseNow } from '../../dist/db/database-now.js'
import { jobKind } from '../../dist/jobs/job-model.js'
import { JobQueue } from '../../dist/jobs/job-queue.js'
import { JobStore } from '../../dist/jobs/job-store.js'
import {
  type JobHandler,
  type JobRun,
  JobWorker,
  type JobWorkerOptions,
  jobHandler,
} from '../../dist/jobs/job-worker.js'
import { systemClock } from '../../dist/lib/clock.js'
import { DatabasePlace } from '../support/database/database-place.js'
import { itOnce } from '../support/once.js'

interface Work {
  readonly n: number
}

const kind = jobKind<Work>('work')
const appId = 'app'
const patience = { timeoutMs: 60_000 }
/** Longer than any test: what is found then was announced. */
const neverMs = 3_600_000

describe.each(testBackends())('jobs on $name', (backend) => {
  const once = itOnce(backend)
  let place: DatabasePlace
  let store: JobStore
  let queue: JobQueue
  let workers: JobWorker[]
  let outcomes: string[]
  let nextId = 1

  beforeAll(async () => {
    place = await DatabasePlace.create(backend)
    store = new JobStore(databaseNow(place.database.dialect, systemClock))
    queue = new JobQueue({
      store,
      ids: { takeReserved: () => [nextId++] },
      clock: systemClock,
      announce: (name) => {
        for (const worker of workers) worker.wake(name)
      },
    })
  })
  afterAll(() => place[Symbol.asyncDispose]())
  beforeEach(async () => {
    workers = []
    outcomes = []
    await place.database.writer.deleteFrom('jobs').execute()
  })
  afterEach(async () => {
    for (const worker of workers) await worker.stop()
  })

  function start(
    run: (jobs: JobRun<Work>) => Promise<void>,
    options: Partial<Omit<JobHandler, 'run' | 'kind'>> = {},
    times: Partial<Pick<JobWorkerOptions, 'leaseMs' | 'pollMs' | 'clock'>> = {},
  ): JobWorker {
    const worker = new JobWorker({
      database: place.database,
      store,
      handlers: [jobHandler(kind, run, options)],
      observer: {
        finished: (_, outcome) => outcomes.push(outcome),
        failed: () => {},
        overdue: () => {},
      },
      clock: systemClock,
      pollMs: neverMs,
      ...times,
    })
    workers.push(worker)
    worker.start()
    return worker
  }

  const order = (n: number, more: object = {}) =>
    place.database.transaction((tx) => queue.enqueue(tx, kind, { appId, payload: { n }, ...more }))
  const orderMany = (count: number) =>
    place.database.transaction(async (tx) => {
      for (let n = 0; n < count; n++) await queue.enqueue(tx, kind, { appId, payload: { n } })
    })
  const rows = () =>
    place.database.read((db) => db.selectFrom('jobs').selectAll().orderBy('job_id').execute())
  const outcomeIs = (count: number) =>
    waitFor(async () => outcomes.length >= count, { what: `${count} outcomes`, ...patience })

  it('run: soon after the commit that ordered the job, never without a commit', async () => {
    const seen: number[] = []
    start(async ({ payloads }) => void seen.push(...payloads.map(({ n }) => n)))
    const undone = place.database.transaction(async (tx) => {
      await queue.enqueue(tx, kind, { appId, payload: { n: 1 } })
      throw new Error('undone')
    })
    await expect(undone).rejects.toThrow('undone')
    await order(2)
    await outcomeIs(1)
    await workers[0]?.idle()
    expect(seen).toEqual([2])
    expect(outcomes).toEqual(['done'])
    expect((await rows()).map(({ outcome, attempts }) => [outcome, Number(attempts)])).toEqual([
      ['done', 1],
    ])
  })

  it('poll: finds a job without an announcement and not before its time', async () => {
    const seenAt: number[] = []
    const dueAt = Date.now() + 1_500
    start(async () => void seenAt.push(Date.now()), {}, { pollMs: 100 })
    await place.database.transaction((tx) =>
      queue.enqueue(tx, kind, { appId, payload: { n: 1 }, runAt: dueAt }),
    )
    await outcomeIs(1)
    expect(seenAt).toHaveLength(1)
    expect(seenAt[0]).toBeGreaterThanOrEqual(dueAt)
  })

  it('outcome: is stored again after a failure of the database', async () => {
    const statement = vi.spyOn(place.database, 'statement')
    try {
      start(async () => void statement.mockRejectedValueOnce(new Error('connection cut')))
      await order(1)
      await outcomeIs(1)
    } finally {
      statement.mockRestore()
    }
    expect(outcomes).toEqual(['done'])
    expect((await rows()).map(({ outcome }) => outcome)).toEqual(['done'])
  })

  it('retry: a failed job runs again later, up to its attempts', async () => {
    const triedAt: number[] = []
    start(
      async ({ payloads: [work] }) => {
        triedAt.push(Date.now())
        if (work?.n === 1) throw new Error('never')
      },
      { maxAttempts: 2 },
      { pollMs: 50 },
    )
    await order(1)
    await outcomeIs(2)
    expect(outcomes).toEqual(['retried', 'failed'])
    expect(triedAt).toHaveLength(2)
    // The first wait is a second less a random part of at most half of it.
    expect((triedAt[1] ?? 0) - (triedAt[0] ?? 0)).toBeGreaterThanOrEqual(500)
    expect((await rows())[0]).toMatchObject({ outcome: 'failed', owner: '' })
  })

  it('deadline: a job does not run after it', async () => {
    const seen: number[] = []
    await order(1, { deadlineAt: Date.now() - 1 })
    await order(2, { deadlineAt: Date.now() + neverMs })
    const worker = start(async ({ payloads }) => void seen.push(...payloads.map(({ n }) => n)))
    await worker.idle()
    expect(seen).toEqual([2])
    expect(outcomes.sort()).toEqual(['done', 'expired'])
  })

  once(
    'time limit: a running job is aborted, and expires when the limit was its deadline',
    async () => {
      start(({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', reject)))
      await order(1, { deadlineAt: Date.now() + 300 })
      await outcomeIs(1)
      expect(outcomes).toEqual(['expired'])
    },
  )

  once('deadline: a job expires when the timer is ahead of the clock', async () => {
    // What is ordered is due by this clock, however late that is.
    const now = Date.now() + neverMs
    const endless = ({ signal }: JobRun<Work>) =>
      new Promise<void>((_, reject) => signal.addEventListener('abort', reject))
    start(endless, {}, { clock: { now: () => now } })
    await order(1, { deadlineAt: now + 20 })
    await outcomeIs(1)
    expect(outcomes).toEqual(['expired'])
  })

  it('stop: an interrupted job counts no attempt and another node runs it at once', async () => {
    let hasBegun = false
    const stopped = start(({ signal }) => {
      hasBegun = true
      return new Promise((_, reject) => signal.addEventListener('abort', reject))
    })
    await order(1)
    await waitFor(async () => hasBegun, { what: 'the begin of the run', ...patience })
    await stopped.stop()
    expect(outcomes).toEqual(['interrupted'])
    expect((await rows())[0]).toMatchObject({ owner: '', outcome: '', attempts: 0 })
    workers = []
    await start(async () => {}).idle()
    expect(outcomes).toEqual(['interrupted', 'done'])
  })

  once('lease: a running node keeps its job beyond the first lease', async () => {
    const begun: string[] = []
    const leaseMs = isFullRun ? 3_000 : 2_000
    for (const name of ['a', 'b'])
      start(
        async () => {
          begun.push(name)
          await sleep(1.25 * leaseMs)
        },
        {},
        { leaseMs, pollMs: 100 },
      )
    await order(1)
    await outcomeIs(1)
    expect(begun).toHaveLength(1)
    expect(outcomes).toEqual(['done'])
  })

  it('several nodes: share the jobs, each job runs once', async () => {
    const count = 60
    const seen: number[] = []
    await orderMany(count)
    const run = async ({ payloads }: JobRun<Work>) => {
      seen.push(...payloads.map(({ n }) => n))
      await sleep(1)
    }
    const nodes = [1, 2, 3].map(() => start(run, { concurrency: 3 }))
    for (const node of nodes) await node.idle()
    await outcomeIs(count)
    expect(seen.sort((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, n) => n))
    expect(outcomes).toEqual(Array(count).fill('done'))
  })

  once('concurrency: no more jobs at once than the kind allows', async () => {
    let running = 0
    let most = 0
    let open = () => {}
    const opened = new Promise<void>((resolve) => {
      open = resolve
    })
    await orderMany(12)
    const worker = start(
      async () => {
        most = Math.max(most, ++running)
        // None ends before there are three, and then there is time for a fourth to begin.
        if (running === 3) setTimeout(open, 200)
        await opened
        running--
      },
      { concurrency: 3 },
    )
    await worker.idle()
    expect(most).toBe(3)
    expect(outcomes).toHaveLength(12)
  })

  it('batch: jobs of one application run together, and alone after a failure', async () => {
    const sizes: number[] = []
    await orderMany(5)
    await place.database.transaction((tx) =>
      queue.enqueue(tx, kind, { appId: 'other', payload: { n: 9 } }),
    )
    const worker = start(
      async ({ payloads }) => {
        sizes.push(payloads.length)
        if (payloads.length > 1) throw new Error('too many')
      },
      { jobsPerRun: 100 },
      { pollMs: 100 },
    )
    await worker.idle()
    await outcomeIs(7)
    expect(sizes).toEqual([5, 1, 1, 1, 1, 1, 1])
    expect(outcomes).toEqual(['retried', ...Array(6).fill('done')])
    expect((await rows()).map(({ outcome }) => outcome)).toEqual(Array(6).fill('done'))
  })

  it('key: waiting jobs of one key are one job, an order during the run adds one', async () => {
    const seen: number[] = []
    const key = 'one'
    await order(1, { key })
    await order(2, { key })
    let ordered = false
    const worker = start(async ({ payloads }) => {
      seen.push(...payloads.map(({ n }) => n))
      if (ordered) return
      ordered = true
      await order(3, { key })
      await order(4, { key })
    })
    await worker.idle()
    expect(seen).toEqual([1, 1])
    await order(5, { key })
    await worker.idle()
    expect(seen).toEqual([1, 1, 5])
    expect((await rows()).map(({ outcome }) => outcome)).toEqual(['done', 'done'])
  })

  it('endLeases: jobs of killed owners are due at once, except those of many attempts', async () => {
    const { database } = place
    const now = Date.now()
    const take = async () => {
      const due = await database.read((db) => store.listDue(db, kind.name, 10))
      const [first, ...others] = due
      if (!first) return
      const taking = { kind: kind.name, owner: 'killed', now, leaseMs: neverMs }
      await database.statement((tx) => store.take(tx, [first, ...others], taking))
    }
    const endLeases = () => database.transaction((tx) => store.endLeases(tx, now))
    const isFree = async () =>
      (await rows()).map(({ owner, run_at }) => owner === '' && Number(run_at) <= Date.now())
    await order(1, { runAt: now })
    await order(2, { runAt: now + neverMs })
    const freed: boolean[][] = []
    for (let kill = 1; kill <= 4; kill++) {
      await take()
      await endLeases()
      freed.push(await isFree())
    }
    expect(freed).toEqual([...Array(3).fill([true, false]), [false, false]])
    const [killed, waiting] = await rows()
    expect(killed).toMatchObject({ owner: 'killed', outcome: '' })
    expect(Number(killed?.attempts)).toBe(4)
    expect(Math.abs(Number(waiting?.run_at) - now - neverMs)).toBeLessThan(1_000)
  })
})
