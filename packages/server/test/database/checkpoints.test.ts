/**
 * Checkpoints of the embedded database run beside the writer: nothing may be lost to them, and the
 * log may not grow for ever.
 */
import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Child, isFullRun, TempFolder, waitFor } from '@hermod/testkit'
import { DatabaseSync } from '@photostructure/sqlite'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { Database } from '../../dist/db/database.js'
import { sqliteDialect } from '../../dist/db/dialect/sqlite.js'
import type { CheckpointStatistics } from '../../dist/db/dialect/sqlite-checkpointer.js'
import {
  faultInjectionProblem,
  injectFault,
  type SystemFault,
} from '../support/database/system-faults.js'
import { Random } from '../support/random.js'

/** HERMOD_TEST_SEED repeats a run as far as the choices of the test go; the machine decides the rest. */
const seed = Number(process.env.HERMOD_TEST_SEED ?? 20_260_101)
const kills = isFullRun ? 16 : 2
const patienceMs = 60_000
const timeoutMs = 240_000
const frameBytes = 4096 + 24
/** Checkpoints all the time, and a log that begins again after every few hundred pages. */
const limits = {
  everyMs: 1,
  restartFrames: 200,
  lastFrames: 50,
  forceFrames: 2_000,
}
const tracingProblem = await faultInjectionProblem()

interface Statistics {
  readonly passes: number
  readonly stoppedSeconds: number
  readonly failures: number
  readonly walBytes: number
}

/** A process that writes without a pause, again and again on the same file. */
class Writer implements Disposable {
  readonly #folder = new TempFolder('checkpoints')
  readonly #stored = new Set<number>()
  readonly #refused = new Set<number>()
  /**
   * Refused after the last row that was stored. When the sync of a commit fails, its pages are in
   * the log until the next commit writes over them: killed before that, the process finds them
   * there as it starts, and they count.
   */
  readonly #undecided = new Set<number>()
  #child: Child | null = null
  #next = 1
  #statistics: Statistics | null = null

  get path(): string {
    return join(this.#folder.path, 'test.db')
  }

  get pid(): number {
    return this.#child?.pid ?? -1
  }

  get stored(): number {
    return this.#stored.size
  }

  get refused(): number {
    return this.#refused.size + this.#undecided.size
  }

  /** The last ones that the process printed. */
  get statistics(): Statistics {
    return this.#statistics ?? { passes: 0, stoppedSeconds: 0, failures: 0, walBytes: 0 }
  }

  start(): void {
    const script = resolve(import.meta.dirname, '../support/database/checkpoint-writer.mjs')
    const args = [script, this.path, String(this.#next), JSON.stringify(limits)]
    this.#statistics = null
    this.#child = new Child([process.execPath, ...args])
    this.#child.watch((line) => this.#take(line))
  }

  async kill(): Promise<void> {
    this.#child?.killTree()
    await this.#child?.exited
    // Numbers without an answer may be stored or not, and are not used again.
    this.#next = Math.max(0, ...this.#stored, ...this.#refused, ...this.#undecided) + 1000
    this.#undecided.clear()
  }

  async until(what: string, isReached: () => boolean): Promise<void> {
    const look = () => {
      if (this.#child?.exit) throw new Error(`the writer has ended:\n${this.#child.output()}`)
      return isReached()
    }
    await waitFor(look, { what, timeoutMs: patienceMs, everyMs: 1 })
  }

  /** Every stored row is there, none is that was refused before another was stored, and the file is sound. */
  async verify(): Promise<void> {
    const database = new Database(sqliteDialect(this.path))
    try {
      await database.ping()
      const { rows: found } = await database.read((db) =>
        sql<{ number: number }>`select number from rows`.execute(db),
      )
      const numbers = new Set(found.map(({ number }) => number))
      expect([...this.#stored].filter((number) => !numbers.has(number))).toEqual([])
      expect([...this.#refused].filter((number) => numbers.has(number))).toEqual([])
      const check = await sql<{ integrity_check: string }>`pragma integrity_check`.execute(
        database.reader,
      )
      expect(check.rows).toEqual([{ integrity_check: 'ok' }])
    } finally {
      await database[Symbol.asyncDispose]()
    }
  }

  [Symbol.dispose](): void {
    this.#child?.killTree()
    this.#folder[Symbol.dispose]()
  }

  #take(line: string): void {
    const [word, rest = ''] = line.split(/ (.*)/)
    if (word === 'stored') {
      this.#stored.add(Number(rest))
      for (const number of this.#undecided) this.#refused.add(number)
      this.#undecided.clear()
    } else if (word === 'refused') this.#undecided.add(Number(rest))
    else if (word === 'checkpoints') this.#statistics = JSON.parse(rest) as Statistics
  }
}

function walSize(path: string): number {
  return statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
}

async function openSmall(folder: TempFolder, options: Parameters<typeof sqliteDialect>[1] = {}) {
  const path = join(folder.path, 'test.db')
  const dialect = sqliteDialect(path, { checkpoints: limits, ...options })
  const database = new Database(dialect)
  await sql`create table texts (number integer primary key, text text)`.execute(database.writer)
  const write = (number: number) =>
    database.transaction((tx) =>
      sql`insert into texts values (${number}, ${'x'.repeat(3000)})`.execute(tx),
    )
  return { path, dialect, database, write }
}

describe('checkpoints beside the writer', () => {
  it('writes without a pause: the log restarts repeatedly', async () => {
    using folder = new TempFolder('checkpoints')
    const { path, dialect, database, write } = await openSmall(folder)
    const rows = isFullRun ? 6000 : 2000
    for (let first = 0; first < rows; first += 20)
      await Promise.all(Array.from({ length: 20 }, (_, index) => write(first + index)))
    expect(dialect.checkpoints?.().passes).toBeGreaterThan(rows / 600)
    expect(walSize(path)).toBeLessThan((rows / 2) * frameBytes)
    await database[Symbol.asyncDispose]()
    expect(walSize(path)).toBe(0)
  })

  it('checkpoints: begin when the log is large enough', async () => {
    using folder = new TempFolder('checkpoints')
    const restartFrames = 256
    const restartBytes = restartFrames * frameBytes
    const { path, dialect, database, write } = await openSmall(folder, {
      checkpoints: { ...limits, restartFrames },
    })
    const passes = () => dialect.checkpoints?.().passes
    let next = 0
    while (walSize(path) < restartBytes / 2) await write(next++)
    await sleep(50)
    expect(passes()).toBe(0)
    const deadline = Date.now() + patienceMs
    while (passes() === 0) {
      expect(Date.now()).toBeLessThan(deadline)
      await write(next++)
    }
    expect(walSize(path)).toBeGreaterThanOrEqual(restartBytes)
    await database[Symbol.asyncDispose]()
  })

  it('a long read: sees one state, and the log restarts after it', async () => {
    using folder = new TempFolder('checkpoints')
    const { dialect, database, write } = await openSmall(folder)
    const count = async (db: Database['reader']) => {
      const { rows } = await sql<{ found: number }>`select count(*) as found from texts`.execute(db)
      return rows[0]?.found
    }
    await write(0)
    let next = 1
    await database.snapshot(async (reader) => {
      expect(await count(reader)).toBe(1)
      while ((dialect.checkpoints?.().walBytes ?? 0) < 3 * limits.restartFrames * frameBytes)
        await write(next++)
      expect(await count(reader)).toBe(1)
    })
    const deadline = Date.now() + patienceMs
    while ((dialect.checkpoints?.().walBytes ?? 0) >= limits.restartFrames * frameBytes) {
      expect(Date.now()).toBeLessThan(deadline)
      await write(next++)
    }
    expect(await database.read(count)).toBe(next)
    await database[Symbol.asyncDispose]()
  })

  it('a forgotten reader of another program: the log grows with a report, and its file shrinks afterwards', async () => {
    using folder = new TempFolder('checkpoints')
    const held: number[] = []
    const forceFrames = 400
    const forceBytes = forceFrames * frameBytes
    const { path, dialect, database, write } = await openSmall(folder, {
      checkpoints: { ...limits, forceFrames },
      onLogHeld: (bytes) => held.push(bytes),
    })
    const statistics = () => dialect.checkpoints?.() as CheckpointStatistics
    let next = 0
    const writeUntil = async (isReached: () => boolean) => {
      const deadline = Date.now() + patienceMs
      while (!isReached()) {
        expect(Date.now()).toBeLessThan(deadline)
        await Promise.all(Array.from({ length: 20 }, () => write(next++)))
      }
    }
    await write(next++)
    const reader = new DatabaseSync(path)
    reader.exec('begin; select * from texts')
    await writeUntil(() => held.length === 2)
    expect(held[0]).toBeGreaterThanOrEqual(forceBytes)
    expect(held[1]).toBeGreaterThanOrEqual(2 * (held[0] as number))
    expect(statistics().walBytes).toBeGreaterThanOrEqual(held[1] as number)
    expect(statistics().walFileBytes).toBeGreaterThan(2 * forceBytes)
    reader.close()
    await writeUntil(() => statistics().walFileBytes <= forceBytes)
    expect(walSize(path)).toBeLessThanOrEqual(forceBytes)
    expect(held).toHaveLength(2)
    await database[Symbol.asyncDispose]()
  })

  it('kill at a random moment: every answered row is there after the restart', {
    timeout: timeoutMs,
  }, async () => {
    console.log(`checkpoint kills: seed ${seed}`)
    const random = new Random(seed)
    using writer = new Writer()
    let passes = 0
    for (let kill = 1; kill <= kills; kill++) {
      const before = writer.stored
      writer.start()
      await writer.until(
        'rows and checkpoints',
        () => writer.stored > before + 50 && writer.statistics.passes > random.integer(0, 40),
      )
      await sleep(random.next() * 20)
      passes += writer.statistics.passes
      await writer.kill()
      // Every second time the next process finds the log as the kill left it.
      if (kill % 2 === 0) await writer.verify()
    }
    await writer.verify()
    expect(passes, 'checkpoints in all').toBeGreaterThan(kills)
  })

  const databaseOnly = (path: string) => [path]
  const faults: [string, (path: string) => SystemFault][] = [
    [
      'the database file cannot be synced',
      (path) => ({
        calls: ['fsync', 'fdatasync'],
        error: 'EIO',
        paths: databaseOnly(path),
      }),
    ],
    [
      'the database file cannot be written',
      (path) => ({
        calls: ['pwrite64'],
        error: 'EIO',
        paths: databaseOnly(path),
      }),
    ],
    [
      'the database file has no space to grow',
      (path) => ({
        calls: ['pwrite64', 'fallocate'],
        error: 'ENOSPC',
        paths: databaseOnly(path),
      }),
    ],
  ]

  it.skipIf(tracingProblem !== null).for(isFullRun ? faults : faults.slice(0, 1))(
    '%s: rows are stored in the log, which restarts afterwards without loss',
    { timeout: timeoutMs },
    async ([, fault]) => {
      using writer = new Writer()
      writer.start()
      await writer.until('a checkpoint', () => writer.statistics.passes > 3)
      const injected = await injectFault(fault(writer.path), {
        pids: [writer.pid],
        withChildren: true,
      })
      const { failures } = writer.statistics
      await writer.until('failed checkpoints', () => writer.statistics.failures > failures + 2)
      const before = writer.stored
      await writer.until('rows', () => writer.stored > before + 100)
      await injected[Symbol.asyncDispose]()
      await writer.until(
        'a log that begins again',
        () => writer.statistics.walBytes < limits.restartFrames * frameBytes,
      )
      await writer.kill()
      await writer.verify()
    },
  )

  it.skipIf(tracingProblem !== null)(
    'kill while checkpoints fail: every answered row is there after the restart',
    { timeout: timeoutMs },
    async () => {
      using writer = new Writer()
      writer.start()
      await writer.until('a checkpoint', () => writer.statistics.passes > 3)
      const injected = await injectFault(
        { calls: ['fsync', 'fdatasync'], error: 'EIO', when: '2+3' },
        { pids: [writer.pid], withChildren: true },
      )
      const before = writer.stored
      await writer.until('failures', () => writer.statistics.failures > 1 && writer.refused > 0)
      await writer.until('rows', () => writer.stored > before + 50)
      await writer.kill()
      await injected[Symbol.asyncDispose]()
      await writer.verify()
    },
  )
})
