/** Long jobs on their nodes: progress, results, cancellation, and the death of a node. */
import { testBackends, waitFor } from '@hermod/testkit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { databaseNow } from '../../dist/db/database-now.js'
import {
  type LongJobHandler,
  type LongJobRun,
  longJobHandler,
  longJobKind,
} from '../../dist/domain/long-jobs/long-job-model.js'
import { LongJobService } from '../../dist/domain/long-jobs/long-job-service.js'
import { LongJobStore } from '../../dist/domain/long-jobs/long-job-store.js'
import { JobQueue } from '../../dist/jobs/job-queue.js'
import { JobStore } from '../../dist/jobs/job-store.js'
import { JobWorker } from '../../dist/jobs/job-worker.js'
import { systemClock } from '../../dist/lib/clock.js'
import { DatabasePlace } from '../support/database/database-place.js'
import { sharedServer } from '../support/in-process-server.js'

const count = longJobKind<{ readonly to: number }, { readonly counted: number }>('count')
const pair = longJobKind<object, object>('pair', { maxUnfinished: 2 })
const patience = { timeoutMs: 30_000 }

describe.each(testBackends())('long jobs on $name', (backend) => {
  let place: DatabasePlace
  let nodes: Node[]
  let nextId = 1

  beforeAll(async () => {
    place = await DatabasePlace.create(backend)
  })
  afterAll(() => place[Symbol.asyncDispose]())
  beforeEach(async () => {
    nodes = []
    await place.database.writer.deleteFrom('jobs').execute()
    await place.database.writer.deleteFrom('long_jobs').execute()
  })
  afterEach(async () => {
    for (const node of nodes) await node.worker.stop()
  })

  interface Node {
    readonly longJobs: LongJobService
    readonly worker: JobWorker
  }

  /** Starts a node that runs jobs of the kind with the handler. */
  function startNode(...handlers: readonly LongJobHandler[]): Node {
    const { database } = place
    const store = new JobStore(databaseNow(database.dialect, systemClock))
    const longJobs: LongJobService = new LongJobService({
      database,
      store: new LongJobStore(),
      jobs: new JobQueue({
        store,
        ids: { takeReserved: () => [nextId++] },
        clock: systemClock,
        announce: (kind) => worker.wake(kind),
      }),
      ids: { takeReserved: () => [nextId++] },
      handlerOf: (name) => handlers.find(({ kind }) => kind.name === name),
      state: { isRestored: false },
      clock: systemClock,
      observer: { ended: () => {}, failed: () => {} },
    })
    const worker = new JobWorker({
      database,
      store,
      handlers: [longJobs.jobHandler],
      observer: { finished: () => {}, failed: () => {}, overdue: () => {} },
      clock: systemClock,
      pollMs: 100,
    })
    nodes.push({ longJobs, worker })
    worker.start()
    return { longJobs, worker }
  }

  const counting = (run: (to: number, run: LongJobRun) => Promise<void>) =>
    longJobHandler(count, async ({ to }, each) => {
      await run(to, each)
      return { counted: to }
    })
  /** Ends with the run. */
  const untilAborted = ({ signal }: LongJobRun) =>
    new Promise<never>((_, reject) => {
      signal.throwIfAborted()
      signal.addEventListener('abort', () => reject(signal.reason))
    })
  const ended = ({ longJobs }: Node, jobId: number) =>
    waitFor(
      async () => {
        const job = await longJobs.get(jobId)
        return job.endedAt !== null && job
      },
      { what: 'the end of the job', ...patience },
    )
  const running = ({ longJobs }: Node, jobId: number) =>
    waitFor(async () => (await longJobs.get(jobId)).state === 'running', {
      what: 'the begin of the job',
      ...patience,
    })

  it('show their progress while they run, and their result', async () => {
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const node = startNode(
      counting(async (to, { progress }) => {
        progress({ done: 1, total: to, text: 'counting' })
        await released
      }),
    )
    const jobId = await node.longJobs.start(count, { to: 4 })
    await waitFor(async () => (await node.longJobs.get(jobId)).done === 1, {
      what: 'progress',
      ...patience,
    })
    expect(await node.longJobs.get(jobId)).toMatchObject({
      ...{ state: 'running', done: 1, total: 4, text: 'counting', result: {}, endedAt: null },
    })
    release()
    expect(await ended(node, jobId)).toMatchObject({ state: 'done', result: { counted: 4 } })
    expect(await node.longJobs.list(undefined, 10)).toMatchObject([{ jobId, kind: 'count' }])
  })

  it('fail with the message of their handler, and do not run again', async () => {
    let runs = 0
    const node = startNode(
      counting(async () => {
        runs++
        throw new Error('the target is not writable')
      }),
    )
    const job = await ended(node, await node.longJobs.start(count, { to: 1 }))
    expect(job).toMatchObject({ state: 'failed', error: 'the target is not writable' })
    await node.worker.idle()
    expect(runs).toBe(1)
  })

  it('whose stored parameters are damaged fail, and do not run again', async () => {
    const node = startNode(counting(async () => {}))
    await node.worker.stop()
    const jobId = await node.longJobs.start(count, { to: 1 })
    await place.database.writer.updateTable('long_jobs').set({ params: '{' }).execute()
    const later = startNode(counting(async () => {}))
    expect(await ended(later, jobId)).toMatchObject({
      ...{ state: 'failed', error: expect.stringContaining('parameters are no JSON') },
    })
  })

  it('are refused while as many of their kind are unfinished as may be', async () => {
    const node = startNode(
      counting((_, run) => untilAborted(run)),
      longJobHandler(pair, async (_, run) => untilAborted(run)),
    )
    const jobId = await node.longJobs.start(count, { to: 1 })
    await expect(node.longJobs.start(count, { to: 1 })).rejects.toThrow(
      `such a job is unfinished: ${count.name}, job ${jobId}; wait for its end, or run hermod job cancel ${jobId}`,
    )
    const both = [node.longJobs.start(pair, {}), node.longJobs.start(pair, {})]
    await Promise.all(both)
    await expect(node.longJobs.start(pair, {})).rejects.toThrow('such a job is unfinished')
    await node.longJobs.cancel(jobId)
    await ended(node, jobId)
    await node.longJobs.start(count, { to: 1 })
  })

  it('cancel on another node: the run ends within a second', async () => {
    const [first, second] = [startNode(counting((_, run) => untilAborted(run))), startNode()]
    const jobId = await first.longJobs.start(count, { to: 1 })
    await running(first, jobId)
    await second.worker.stop()
    const cancelledAt = performance.now()
    expect(await second.longJobs.cancel(jobId)).toMatchObject({ isCancelled: true })
    expect(await ended(second, jobId)).toMatchObject({ state: 'cancelled', error: '' })
    // Half a second on a machine that does nothing else.
    expect(performance.now() - cancelledAt).toBeLessThan(5_000)
  })

  it('cancel of a job that waits: it never runs', async () => {
    let runs = 0
    const node = startNode(counting(async () => void runs++))
    await node.worker.stop()
    const jobId = await node.longJobs.start(count, { to: 1 })
    expect(await node.longJobs.cancel(jobId)).toMatchObject({ state: 'cancelled' })
    const later = startNode(counting(async () => void runs++))
    await later.worker.idle()
    expect(runs).toBe(0)
  })

  it('a node whose lease has expired: another one runs the job, and the late end changes nothing', async () => {
    let endLate = () => {}
    const late = new Promise<void>((resolve) => {
      endLate = resolve
    })
    const first = startNode(
      counting(async (_, { progress }) => {
        await late
        progress({ done: 1, text: 'late' })
      }),
    )
    const jobId = await first.longJobs.start(count, { to: 7 })
    await running(first, jobId)
    // As after a pause of the machine.
    await place.database.writer.updateTable('jobs').set({ run_at: 0 }).execute()
    const second = startNode(
      counting(async (_, { progress }) => progress({ done: 2, text: 'second' })),
    )
    const job = await ended(second, jobId)
    expect(job).toMatchObject({ state: 'done', done: 2, text: '' })
    endLate()
    await first.worker.idle()
    expect(await second.longJobs.get(jobId)).toEqual(job)
  })

  it('a node that leaves: another one begins the job again', async () => {
    const first = startNode(counting((_, run) => untilAborted(run)))
    const jobId = await first.longJobs.start(count, { to: 1 })
    await running(first, jobId)
    await first.worker.finish()
    const second = startNode(counting(async () => {}))
    expect(await ended(second, jobId)).toMatchObject({ state: 'done' })
  })

  it('purge: deletes jobs that ended 30 days ago', async () => {
    const node = startNode(counting(async () => {}))
    const old = await node.longJobs.start(count, { to: 1 })
    await ended(node, old)
    await place.database.writer.updateTable('long_jobs').set({ ended_at: 1 }).execute()
    const young = await node.longJobs.start(count, { to: 1 })
    await ended(node, young)
    await node.longJobs.purge()
    expect((await node.longJobs.list(undefined, 10)).map(({ jobId }) => jobId)).toEqual([young])
    await expect(node.longJobs.get(old)).rejects.toThrow(`job does not exist: ${old}`)
  })

  describe('for operators', () => {
    const server = sharedServer(backend)

    it('list, get and cancel: show a job with its result', async () => {
      await server.sql.run(
        `insert into long_jobs (job_id, kind, slot, params, state, result, created_at, started_at, ended_at)
          values (5, 'count', 0, '{}', 'done', '{"counted":3,"parts":["a"]}', 10, 20, 30)`,
      )
      const operator = server.api.as(server.operatorToken)
      const job = {
        ...{ job_id: 5, kind: 'count', state: 'done', is_cancelled: false, error: '', text: '' },
        ...{ done: 0, total: 0, created_at: 10, started_at: 20, ended_at: 30 },
        result: { counted: 3, parts: ['a'] },
      }
      const list = await operator.succeed('GET', '/operator/v1/job/list')
      expect(list.data.jobs).toContainEqual(job)
      const got = await operator.succeed('GET', '/operator/v1/job/get', { query: { job_id: 5 } })
      expect(got.data).toEqual(job)
      const cancelled = await operator.succeed('POST', '/operator/v1/job/cancel', {
        body: { job_id: 5 },
      })
      expect(cancelled.data).toEqual(job)
    })
  })
})
