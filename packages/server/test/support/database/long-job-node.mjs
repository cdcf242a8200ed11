/**
 * A node that runs long jobs, to be killed: says what it does, one line each. The job has three steps
 * and resumes after those that are recorded; `stopsAfter` lets it hang after one of them.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { Database } from '../../../dist/db/database.js'
import { databaseNow } from '../../../dist/db/database-now.js'
import { postgresDialect } from '../../../dist/db/dialect/postgres.js'
import { sqliteDialect } from '../../../dist/db/dialect/sqlite.js'
import { IdReservations } from '../../../dist/db/id-reservations.js'
import { longJobHandler, longJobKind } from '../../../dist/domain/long-jobs/long-job-model.js'
import { LongJobService } from '../../../dist/domain/long-jobs/long-job-service.js'
import { LongJobStore } from '../../../dist/domain/long-jobs/long-job-store.js'
import { JobQueue } from '../../../dist/jobs/job-queue.js'
import { JobStore } from '../../../dist/jobs/job-store.js'
import { JobWorker } from '../../../dist/jobs/job-worker.js'
import { systemClock } from '../../../dist/lib/clock.js'
import { IdGenerator } from '../../../dist/lib/ids/ids.js'

const { place, leaseMs, orders, stopsAfter } = JSON.parse(process.argv[2])
const steps = 3
const dialect = place.startsWith('postgres')
  ? postgresDialect({ url: place, poolSize: 4, onError: () => {} })
  : sqliteDialect(place)
const database = new Database(dialect)
const clock = systemClock
const store = new JobStore(databaseNow(dialect, clock))
const ids = new IdGenerator(new IdReservations(database).reserve, clock.now)
const say = (line) => process.stdout.write(`${line}\n`)
const counting = longJobKind('counting')

const handler = longJobHandler(counting, async (_, { progress }) => {
  const { rows } = await sql`select max(step) as step from job_steps`.execute(database.writer)
  for (let step = Number(rows[0].step) + 1; step <= steps; step++) {
    await database.transaction((tx) =>
      sql`insert into job_steps (step) values (${step})`.execute(tx),
    )
    progress({ done: step, total: steps })
    say(`step ${step}`)
    if (step === stopsAfter) await sleep(3_600_000)
  }
  return { steps }
})
const longJobs = new LongJobService({
  ...{ database, ids, clock },
  store: new LongJobStore(),
  jobs: new JobQueue({ store, ids, clock, announce: (kind) => worker.wake(kind) }),
  handlerOf: () => handler,
  state: { isRestored: false },
  observer: {
    ended: (_, { state }) => say(`ended ${state}`),
    failed: (_, error) => say(`${error}`),
  },
})
const worker = new JobWorker({
  ...{ database, store, clock, leaseMs },
  handlers: [longJobs.jobHandler],
  observer: { finished() {}, failed: (_, error) => say(`failed ${error}`), overdue() {} },
  pollMs: 50,
})
worker.start()
say('working')
if (orders) await longJobs.start(counting, {})
// Until it is killed.
setInterval(() => {}, 1_000)
