/**
 * What nodes do to jobs against a model: ordering, taking, finishing, failing, leases that end,
 * deadlines.
 */
import { testBackends } from '@hermod/testkit'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { databaseNow } from '../../dist/db/database-now.js'
import { jobKind, type TakenJobs } from '../../dist/jobs/job-model.js'
import { JobQueue } from '../../dist/jobs/job-queue.js'
import { JobStore } from '../../dist/jobs/job-store.js'
import { takeJobs } from '../../dist/jobs/take-jobs.js'
import { systemClock } from '../../dist/lib/clock.js'
import { checkProperty, propertyTimeoutMs } from '../support/check-property.js'
import { DatabasePlace } from '../support/database/database-place.js'

const kind = jobKind<null>('work')
const leaseMs = 100
const maxAttempts = 3

interface ModelJob {
  readonly app: string
  readonly id: number
  readonly key: string
  readonly deadlineAt: number | null
  runAt: number
  attempts: number
  owner: string
  isAgain: boolean
  outcome: string
}

/** What decision 024 says about jobs, without a database. */
class Model {
  now = 1_000
  readonly jobs: ModelJob[] = []

  enqueue(job: Pick<ModelJob, 'app' | 'id' | 'key' | 'deadlineAt' | 'runAt'>): void {
    const same = this.jobs.find(
      ({ app, key, outcome }) => outcome === '' && key !== '' && key === job.key && app === job.app,
    )
    if (same) same.isAgain ||= same.owner !== ''
    else this.jobs.push({ ...job, attempts: 0, owner: '', isAgain: false, outcome: '' })
  }

  /** @returns the IDs taken */
  take(owner: string, limit: number): number[] {
    const due = this.jobs
      .filter(({ outcome, runAt }) => outcome === '' && runAt <= this.now)
      .sort((a, b) => a.runAt - b.runAt || a.id - b.id)
      .slice(0, limit)
    const left = due.filter((job) => {
      const isExpired = job.deadlineAt !== null && job.deadlineAt <= this.now
      if (!isExpired && job.attempts < maxAttempts) return true
      this.#end(job, isExpired ? 'expired' : 'failed')
      return false
    })
    const [first] = left
    const taken = left.filter(
      (job) =>
        job === first || (first?.attempts === 0 && job.attempts === 0 && job.app === first.app),
    )
    for (const job of taken) {
      job.owner = owner
      job.runAt = this.now + leaseMs
      job.attempts++
    }
    return taken.map(({ id }) => id)
  }

  renew({ owner }: TakenJobs): void {
    for (const job of this.#of(owner)) job.runAt = this.now + leaseMs
  }

  finish({ owner }: TakenJobs): void {
    for (const job of this.#of(owner)) this.#end(job, 'done')
  }

  giveBack({ owner }: TakenJobs, runAt: number, attempts: number): void {
    for (const job of this.#of(owner))
      Object.assign(job, { owner: '', runAt, attempts, isAgain: false })
  }

  #of(owner: string): ModelJob[] {
    return this.jobs.filter((job) => job.owner === owner && job.outcome === '')
  }

  #end(job: ModelJob, outcome: string): void {
    if (job.isAgain) job.attempts = 0
    Object.assign(job, {
      outcome: job.isAgain ? '' : outcome,
      isAgain: false,
      owner: '',
      runAt: this.now,
    })
  }
}

const index = fc.nat(5)
const command = fc.oneof(
  { weight: 3, arbitrary: fc.record({ what: fc.constant('pass' as const), ms: fc.nat(80) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      what: fc.constant('enqueue' as const),
      app: fc.constantFrom('a', 'b'),
      key: fc.constantFrom('', '', 'x', 'y'),
      delay: fc.constantFrom(0, 0, 50),
      deadline: fc.constantFrom(null, null, 30, 200),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      what: fc.constant('take' as const),
      limit: fc.integer({ min: 1, max: 4 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('renew' as const), index }) },
  { weight: 3, arbitrary: fc.record({ what: fc.constant('finish' as const), index }) },
  {
    weight: 2,
    arbitrary: fc.record({ what: fc.constant('fail' as const), index, delay: fc.nat(60) }),
  },
)
type Command = typeof command extends fc.Arbitrary<infer C> ? C : never

describe.each(testBackends())('jobs on $name', (backend) => {
  let place: DatabasePlace
  beforeAll(async () => {
    place = await DatabasePlace.create(backend)
  })
  afterAll(() => place[Symbol.asyncDispose]())

  class Run {
    readonly model = new Model()
    readonly #store = new JobStore(databaseNow({ now: null }, { now: () => this.model.now }))
    /** All takings ever, those that were lost included. */
    readonly #takings: TakenJobs[] = []
    #ids = 0
    readonly #queue = new JobQueue({
      store: this.#store,
      ids: { takeReserved: () => [++this.#ids] },
      clock: { now: () => this.model.now },
      announce: () => {},
    })

    async do(command: Command): Promise<void> {
      const { model } = this
      const { database } = place
      if (command.what === 'pass') model.now += command.ms
      else if (command.what === 'enqueue') {
        const { app, key, delay, deadline } = command
        const runAt = model.now + delay
        const deadlineAt = deadline === null ? null : model.now + deadline
        await database.transaction((tx) =>
          this.#queue.enqueue(tx, kind, {
            appId: app,
            payload: null,
            key,
            runAt,
            ...(deadlineAt === null ? {} : { deadlineAt }),
          }),
        )
        model.enqueue({ app, id: this.#ids, key, deadlineAt, runAt })
      } else if (command.what === 'take') await this.#take(command.limit)
      else {
        const taking = this.#takings[command.index % Math.max(this.#takings.length, 1)]
        if (taking) await this.#settle(taking, command)
      }
    }

    async #take(limit: number): Promise<void> {
      const owner = `run ${this.#takings.length}`
      const { now } = this.model
      const taking = { kind: kind.name, owner, now, leaseMs, limit, maxAttempts }
      const { taken } = await takeJobs({ database: place.database, store: this.#store }, taking)
      const expected = this.model.take(owner, limit)
      expect(taken?.jobs.map(({ jobId }) => Number(jobId)) ?? []).toEqual(expected)
      if (taken) this.#takings.push(taken)
    }

    async #settle(
      taking: TakenJobs,
      command: Exclude<Command, { what: 'pass' | 'enqueue' | 'take' }>,
    ): Promise<void> {
      const { now } = this.model
      const { database } = place
      if (command.what === 'renew') {
        await database.transaction((tx) => this.#store.renew(tx, taking, leaseMs))
        this.model.renew(taking)
      } else if (command.what === 'finish') {
        await database.transaction((tx) => this.#store.finish(tx, taking, 'done', now))
        this.model.finish(taking)
      } else {
        const attempts = taking.jobs[0]?.attempts ?? 0
        const runAt = now + command.delay
        await database.transaction((tx) =>
          this.#store.giveBack(tx, taking, { delayMs: command.delay, attempts, now }),
        )
        this.model.giveBack(taking, runAt, attempts)
      }
    }

    async stored(): Promise<unknown[]> {
      const rows = await place.database.read((db) =>
        db.selectFrom('jobs').selectAll().orderBy('job_id').execute(),
      )
      return rows.map((row) => ({
        id: Number(row.job_id),
        app: row.app_id,
        key: row.key,
        deadlineAt: row.deadline_at === null ? null : Number(row.deadline_at),
        runAt: Number(row.run_at),
        attempts: Number(row.attempts),
        owner: row.owner,
        isAgain: Number(row.is_again) === 1,
        outcome: row.outcome,
      }))
    }
  }

  it(
    'do what the model does, whatever is done to them in whatever order',
    async () => {
      const property = fc.asyncProperty(
        fc.array(command, { minLength: 5, maxLength: 40 }),
        async (commands) => {
          await place.database.writer.deleteFrom('jobs').execute()
          const run = new Run()
          for (const each of commands) {
            await run.do(each)
            expect(await run.stored()).toEqual(run.model.jobs)
          }
        },
      )
      await checkProperty(backend, property)
    },
    propertyTimeoutMs,
  )

  describe('that have ended', () => {
    let store: JobStore
    beforeEach(async () => {
      store = new JobStore(databaseNow(place.database.dialect, systemClock))
      await place.database.writer.deleteFrom('jobs').execute()
    })

    it('are deleted once they are old enough, and others are not', async () => {
      const row = { app_id: 'a', kind: 'work', payload: 'null', run_at: 1, created_at: 1 }
      const insert = (job_id: number, outcome: string, updated_at: number) =>
        place.database.writer
          .insertInto('jobs')
          .values({ ...row, job_id, outcome, updated_at })
          .execute()
      await insert(1, 'done', 10)
      await insert(2, 'failed', 10)
      await insert(3, '', 10)
      await insert(4, 'done', 100)
      const purge = () => place.database.transaction((tx) => store.deleteFinished(tx, 50, 1))
      expect([await purge(), await purge(), await purge()]).toEqual([1, 1, 0])
      const left = await place.database.read((db) =>
        db.selectFrom('jobs').select('job_id').orderBy('job_id').execute(),
      )
      expect(left.map(({ job_id }) => Number(job_id))).toEqual([3, 4])
    })
  })
})
