/**
 * Compares three ways to copy the embedded database while it is written to: times of commits, and
 * the write-ahead log in use at its largest. On a quiet machine:
 *
 *   node bench/dist/backup/ways.js [MiB of the database, default 1024] [folder]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { BackupThread } from '@hermod/server/dist/backup/thread.js'
import { Database } from '@hermod/server/dist/db/database.js'
import { sqliteDialect } from '@hermod/server/dist/db/dialect/sqlite.js'
import { walFrameBytes } from '@hermod/server/dist/db/dialect/sqlite-checkpointer.js'
import { sql } from '@hermod/server/dist/db/kysely.js'

const [mebibytes = '1024', parent = tmpdir()] = process.argv.slice(2)
const mebibyte = 2 ** 20
/** As large as a message with its rows. */
const rowBytes = 5_000
const rowsPerCommit = 10
const quietMs = 10_000

type Way = (database: Database, from: string, to: string) => Promise<void>

const ways: Readonly<Record<string, Way>> = {
  'backup of the binding': (_, from, to) =>
    inThread(
      `await sqlite.backup(new sqlite.DatabaseSync(${text(from)}), ${text(to)}, { rate: -1 })`,
    ),
  'VACUUM INTO': (_, from, to) =>
    inThread(`new sqlite.DatabaseSync(${text(from)}).exec(${text(`vacuum into '${to}'`)})`),
  async 'paused checkpoints'(database, _, to) {
    await using thread = new BackupThread()
    const paused = await database.dialect.pauseCheckpoints?.()
    if (!paused) throw new Error('the database has no checkpoints')
    const { path, descriptor } = paused
    await thread.run('copy', { database: { path, descriptor }, to })
    paused.resume()
  },
}

function text(value: string): string {
  return JSON.stringify(value)
}

function inThread(work: string): Promise<void> {
  const code = `import('@photostructure/sqlite').then(async (sqlite) => { ${work} })`
  const worker = new Worker(code, { eval: true })
  return new Promise((resolve, reject) => {
    worker.once('error', reject)
    worker.once('exit', () => resolve())
  })
}

interface Commits {
  readonly perSecond: number
  readonly medianMs: number
  readonly p99Ms: number
}

/** Commits until `until` resolves. */
async function commitUntil(database: Database, until: Promise<unknown>): Promise<Commits> {
  let isOver = false
  void until.finally(() => {
    isOver = true
  })
  const times: number[] = []
  const startedAt = performance.now()
  while (!isOver) {
    const before = performance.now()
    await commit(database)
    times.push(performance.now() - before)
  }
  times.sort((a, b) => a - b)
  const at = (share: number) => times[Math.floor(times.length * share)] ?? 0
  const seconds = (performance.now() - startedAt) / 1_000
  return { perSecond: times.length / seconds, medianMs: at(0.5), p99Ms: at(0.99) }
}

async function commit(database: Database): Promise<void> {
  await database.transaction(async (tx) => {
    for (let row = 0; row < rowsPerCommit; row++)
      await sql`insert into texts (text) values (${'x'.repeat(rowBytes)})`.execute(tx)
  })
}

async function fill(database: Database): Promise<void> {
  await sql`create table texts (number integer primary key, text text)`.execute(database.writer)
  const rows = Math.ceil((Number(mebibytes) * mebibyte) / rowBytes)
  for (let done = 0; done < rows; done += 1_000)
    await sql`insert into texts (text) with recursive n (n) as (select 1 union all select n + 1 from n where n < 1000)
      select hex(randomblob(${rowBytes / 2})) from n`.execute(database.writer)
}

/** Watches the log. `end` returns its largest size in use. */
function watchLog(database: Database): { end(): number } {
  let largest = 0
  const timer = setInterval(async () => {
    const { rows } = await sql<{ log: number }>`pragma wal_checkpoint(noop)`.execute(
      database.reader,
    )
    largest = Math.max(largest, (rows[0]?.log ?? 0) * walFrameBytes)
  }, 100)
  return {
    end() {
      clearInterval(timer)
      return largest
    },
  }
}

function line(name: string, { perSecond, medianMs, p99Ms }: Commits, more = ''): void {
  const figures = `${perSecond.toFixed(0)} commits/s, median ${medianMs.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms`
  console.log(`${name.padEnd(24)} ${figures}${more}`)
}

const folder = mkdtempSync(join(parent, 'hermod-bench-backup-'))
try {
  for (const [name, way] of Object.entries(ways)) {
    const path = join(folder, 'hermod.db')
    const database = new Database(sqliteDialect(path))
    await fill(database)
    line('without a copy', await commitUntil(database, sleep(quietMs)))
    const log = watchLog(database)
    const startedAt = performance.now()
    const commits = await commitUntil(database, way(database, path, join(folder, 'copy.db')))
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
    line(name, commits, `; ${seconds} s, log ${(log.end() / mebibyte).toFixed(0)} MiB`)
    await database[Symbol.asyncDispose]()
    for (const each of ['hermod.db', 'copy.db', 'copy.db-wal'])
      rmSync(join(folder, each), { force: true })
  }
} finally {
  rmSync(folder, { recursive: true })
}
