import { join } from 'node:path'
import { FolderStore } from '../../../dist/blobs/folder-store.js'
import { S3Store } from '../../../dist/blobs/s3/s3-store.js'
import { Database } from '../../../dist/db/database.js'
import { databaseNow } from '../../../dist/db/database-now.js'
import { postgresDialect } from '../../../dist/db/dialect/postgres.js'
import { sqliteDialect } from '../../../dist/db/dialect/sqlite.js'
import { IdReservations } from '../../../dist/db/id-reservations.js'
import { FileStore } from '../../../dist/domain/files/file-store.js'
import { FileUsageStore } from '../../../dist/domain/files/file-usage-store.js'
import { FileWithdrawalStore } from '../../../dist/domain/files/file-withdrawal-store.js'
import { FileHoldStore } from '../../../dist/domain/files/file-hold-store.js'
import { FileHolds } from '../../../dist/domain/files/removal/file-holds.js'
import { blobRemoval, FileRemoval } from '../../../dist/domain/files/removal/file-removal.js'
import { OrphanedBlobs } from '../../../dist/domain/files/removal/orphaned-blobs.js'
import { UnreferencedFiles } from '../../../dist/domain/files/removal/unreferenced-files.js'
import { JobQueue } from '../../../dist/jobs/job-queue.js'
import { JobStore } from '../../../dist/jobs/job-store.js'
import { JobWorker, jobHandler } from '../../../dist/jobs/job-worker.js'
import { systemClock } from '../../../dist/lib/clock.js'
import { IdGenerator } from '../../../dist/lib/ids/ids.js'
import { OutboxStore } from '../../../dist/outbox/outbox-store.js'

/**
 * Does what the maintenance of files does until nothing is left to do, with a clock that is ahead.
 *
 * @param place the data folder, the address of the database (none: the embedded one of the folder),
 * how many hours the clock is ahead, and how S3 is reached (none: files are in the folder)
 * @param atLook what happens whenever it has seen that all has been followed
 */
export async function keepFilesUp({ dataDir, databaseUrl, hours, s3 }, atLook = () => {}) {
  const clock = { now: () => Date.now() + hours * 3_600_000 }
  const { signal } = new AbortController()

  const database = new Database(
    databaseUrl
      ? postgresDialect({ url: databaseUrl, poolSize: 4, onError: () => {} })
      : sqliteDialect(join(dataDir, 'hermod.db')),
  )
  const blobs = s3 ? await S3Store.open(s3) : await FolderStore.open(join(dataDir, 'files'))
  const files = new FileStore(database)
  const usage = new FileUsageStore()
  const jobStore = new JobStore(databaseNow(database.dialect, systemClock))
  const jobs = new JobQueue({
    store: jobStore,
    ids: new IdGenerator(new IdReservations(database).reserve, Date.now),
    clock: systemClock,
    announce() {},
  })
  const holds = new FileHolds({
    database,
    store: new FileHoldStore(databaseNow(database.dialect, systemClock)),
  })
  const removal = new FileRemoval({
    ...{ database, files, usage, blobs, jobs, holds, unfinished: jobStore },
    withdrawals: new FileWithdrawalStore(database),
  })
  const store = new OutboxStore(database)
  const outbox = {
    head: (db, appId) => store.head(db, appId),
    async positionOf(db, consumer, appId) {
      const [position, head] = [
        await store.positionOf(db, consumer, appId),
        await store.head(db, appId),
      ]
      if (position >= head) await atLook()
      return position
    },
  }
  const worker = new JobWorker({
    database,
    store: jobStore,
    handlers: [
      jobHandler(blobRemoval, async ({ appId, payloads, signal: ends }) => {
        for (const removed of payloads) await removal.removeBlobs(appId, removed, ends)
      }),
    ],
    observer: { finished() {}, failed: (_, error) => console.error(error), overdue() {} },
    clock: systemClock,
  })

  await new UnreferencedFiles({ database, files, usage, outbox, removal, clock }).run(signal)
  await worker.idle()
  await worker.stop()
  await new OrphanedBlobs({ database, files, blobs, holds, clock }).run(signal)
  await database[Symbol.asyncDispose]()
}
