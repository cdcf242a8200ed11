/**
 * A node that orders and does jobs, to be killed: says what it does, one line each. Each job takes
 * two steps that a kill may part; both are such that doing them again changes nothing.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { Database } from '../../../dist/db/database.js'
import { databaseNow } from '../../../dist/db/database-now.js'
import { postgresDialect } from '../../../dist/db/dialect/postgres.js'
import { sqliteDialect } from '../../../dist/db/dialect/sqlite.js'
import { IdReservations } from '../../../dist/db/id-reservations.js'
import { jobKind } from '../../../dist/jobs/job-model.js'
import { JobQueue } from '../../../dist/jobs/job-queue.js'
import { JobStore } from '../../../dist/jobs/job-store.js'
import { JobWorker, jobHandler } from '../../../dist/jobs/job-worker.js'
import { systemClock } from '../../../dist/lib/clock.js'
import { IdGenerator } from '../../../dist/lib/ids/ids.js'

const { place, leaseMs, from, to, isStuck } = JSON.parse(process.argv[2])
const dialect = place.startsWith('postgres')
  ? postgresDialect({ url: place, poolSize: 4, onError: () => {} })
  : sqliteDialect(place)
const database = new Database(dialect)
const clock = systemClock
const store = new JobStore(databaseNow(dialect, clock))
const effect = jobKind('effect')
const say = (line) => process.stdout.write(`${line}\n`)

const step = (n, name) =>
  database.transaction((tx) =>
    sql`insert into job_effects (n, step) values (${n}, ${name}) on conflict do nothing`.execute(
      tx,
    ),
  )

const failed = new Set()

async function run({ payloads: [{ n }] }) {
  say(`begin ${n}`)
  if (isStuck) await sleep(3_600_000)
  await step(n, 'first')
  await sleep(Math.random() * 10)
  if (n % 10 === 0 && !failed.has(n)) {
    failed.add(n)
    throw new Error('the first time')
  }
  await step(n, 'second')
  say(`end ${n}`)
}

const worker = new JobWorker({
  database,
  store,
  handlers: [jobHandler(effect, run, { concurrency: 4, maxAttempts: 1_000 })],
  observer: {
    finished: (_, outcome) => say(`outcome ${outcome}`),
    failed: (_, error) => say(`failed ${error}`),
    overdue: () => {},
  },
  clock,
  pollMs: 50,
  leaseMs,
})
const ids = new IdGenerator(new IdReservations(database).reserve, clock.now)
const queue = new JobQueue({ store, ids, clock, announce: (kind) => worker.wake(kind) })
worker.start()
say('working')
for (let n = from; n < to; n++) {
  await database.transaction(async (tx) => {
    await sql`insert into job_orders (n) values (${n})`.execute(tx)
    await queue.enqueue(tx, effect, { appId: 'app', payload: { n } })
  })
  say(`ordered ${n}`)
}
// Until it is killed.
setInterval(() => {}, 1_000)
