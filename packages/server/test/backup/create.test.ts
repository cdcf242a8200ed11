/** The making of one backup, with what may end it. */
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { TempFolder } from '@hermod/testkit'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { BackupSource } from '../../dist/backup/backup-source.js'
import { createBackup } from '../../dist/backup/create.js'
import { BackupTarget } from '../../dist/backup/target.js'
import { Database } from '../../dist/db/database.js'
import { sqliteDialect } from '../../dist/db/dialect/sqlite.js'
import type { PausedCheckpoints } from '../../dist/db/dialect/sqlite-checkpointer.js'
import { migrate } from '../../dist/db/migrations/migrate.js'

let place: TempFolder
let database: Database
let target: BackupTarget

beforeEach(async () => {
  place = new TempFolder('create')
  database = new Database(sqliteDialect(join(place.path, 'hermod.db')))
  await migrate(database)
  const folder = join(place.path, 'backups')
  target = await BackupTarget.openOrMake(folder, { installation: 'x', dataFolders: [] }, true)
})
afterEach(async () => {
  await database[Symbol.asyncDispose]()
  place[Symbol.dispose]()
})

const copy = () => join(place.path, 'hermod.db.backup')
const pause = () => (database.dialect.pauseCheckpoints as () => Promise<PausedCheckpoints>)()

function source(changes: Partial<BackupSource> = {}): BackupSource {
  return {
    database: {
      pauseCheckpoints: pause,
      folder: place.path,
      logBytes: null,
      copyPath: copy(),
      keptBytes: 0,
    },
    encryption: null,
    listFiles: async () => ({ blobs: [], next: null }),
    blobs: {
      kind: 'folder',
      location: join(place.path, 'files'),
      list: async () => ({ blobs: [], next: null }),
    },
    holdFiles: async () => ({
      lost: new AbortController().signal,
      [Symbol.asyncDispose]: async () => {},
    }),
    ...{ epoch: 'e', migration: '001-x', version: '1', keyFingerprint: 'k', now: Date.now },
    ...changes,
  }
}

const run = (signal = new AbortController().signal) => ({ signal, progress: () => {} })

/** The names in the target without those of every target. */
const leftovers = () =>
  readdirSync(target.folder).filter((name) => !/^hermod-backups\.json$|^files/.test(name))

describe('a backup', () => {
  it('lets checkpoints go on when the database is copied, before the files are', async () => {
    let isPaused = false
    const resumed: boolean[] = []
    const created = await createBackup(
      source({
        database: {
          async pauseCheckpoints() {
            const paused = await pause()
            isPaused = true
            const resume = () => {
              isPaused = false
              paused.resume()
            }
            return { ...paused, resume }
          },
          ...{ folder: place.path, logBytes: null, copyPath: copy(), keptBytes: 0 },
        },
      }),
      target,
      { ...run(), progress: ({ text }) => text.includes('files') && resumed.push(!isPaused) },
    )
    expect(resumed).toEqual([true])
    expect(leftovers()).toEqual([created.name])
    expect(readdirSync(join(target.folder, created.name)).sort()).toEqual([
      ...['COMPLETE', 'files.ndjson', 'hermod.db', 'manifest.json'],
    ])
  })

  it('is for the user of the service alone', async () => {
    const { name } = await createBackup(source(), target, run())
    const folder = join(target.folder, name)
    const modeOf = (path: string) => statSync(path).mode & 0o777
    expect(modeOf(folder)).toBe(0o700)
    for (const each of readdirSync(folder)) expect(modeOf(join(folder, each)), each).toBe(0o600)
  })

  it('names files that the store lacks, and copies the others', async () => {
    await database.transaction((tx) =>
      sql`insert into files (app_id, file_id, upload_id, owner_id, purpose, file_type, to_type, to_id, name, content_type, size, created_at, removal_id)
        values ('test', 'aabb', 'u', 1, 0, 0, 0, 0, '', '', 5, 0, '')`.execute(tx),
    )
    const { manifest } = await createBackup(source(), target, run())
    expect(manifest.files).toEqual({ store: 'folder', count: 0, bytes: 0, missing: 1 })
  })

  it('looks for files in S3, and copies none', async () => {
    const [first, second] = ['app-one/aa/aab.u', 'app-two/bb/bbc.u']
    const stored = [first, `${first}.small`, 'app-two/aa/aab.u', second]
    const blobs: BackupSource['blobs'] = {
      ...{ kind: 's3', location: 'a bucket' },
      async list(prefix, after, limit) {
        const keys = stored.filter((key) => key.startsWith(prefix) && key > (after ?? ''))
        const page = keys.slice(0, Math.min(limit, 1))
        return {
          blobs: page.map((key) => ({ key, size: 5, modifiedAt: 0 })),
          next: keys.length > 1 ? (page[0] ?? null) : null,
        }
      },
    }
    const named = [first, 'app-one/aa/aac.u', second]
    for (const [appId, fileId] of [
      ['one', 'aab'],
      ['one', 'aac'],
      ['two', 'bbc'],
    ])
      await database.transaction((tx) =>
        sql`insert into files (app_id, file_id, upload_id, owner_id, purpose, file_type, to_type, to_id, name, content_type, size, created_at, removal_id)
          values (${appId}, ${fileId}, 'u', 1, 0, 0, 0, 0, '', '', 5, 0, '')`.execute(tx),
      )
    const { name, manifest } = await createBackup(source({ blobs }), target, run())
    expect(manifest.files).toEqual({ store: 's3', count: 2, bytes: 10, missing: 1 })
    const lines = readFileSync(join(target.folder, name, 'files.ndjson'), 'utf8').trimEnd()
    expect(lines.split('\n').map((line) => JSON.parse(line))).toEqual([
      { key: named[0], size: 5 },
      { key: named[2], size: 5 },
    ])
  })

  it('ends when the log grows too much, and leaves nothing behind', async () => {
    let calls = 0
    const grows = async () => ({ ...(await pause()), logBytes: () => (calls++ === 0 ? 0 : 3e6) })
    const bounded = {
      ...{
        pauseCheckpoints: grows,
        folder: place.path,
        logBytes: 2 ** 21,
        copyPath: copy(),
        keptBytes: 0,
      },
    }
    await expect(createBackup(source({ database: bounded }), target, run())).rejects.toThrow(
      /grew by 2 MiB.+HERMOD_BACKUP_LOG_MB/,
    )
    expect(leftovers()).toEqual([])
  })

  it('that is encrypted leaves the service room on the disk of its data, where it copies the database', async () => {
    const encryption = { passphrase: 'correct horse battery', secretKeys: ['k'.repeat(40)] }
    const { database } = source()
    const full = { ...(database as NonNullable<typeof database>), keptBytes: 2 ** 52 }
    await expect(
      createBackup(source({ encryption, database: full }), target, run()),
    ).rejects.toThrow(/needs \d+ bytes of free space for a copy of the database/)
    expect(leftovers()).toEqual([])
    expect(readdirSync(place.path)).not.toContain('hermod.db.backup')
    await createBackup(source({ database: full }), target, run())
  })

  it('ends when its hold of the files is lost, or it is cancelled', async () => {
    const lost = new AbortController()
    const holdFiles = async () => ({
      lost: lost.signal,
      [Symbol.asyncDispose]: async () => {},
    })
    const ending = createBackup(source({ holdFiles }), target, {
      ...run(),
      progress: ({ text }) => text.includes('files') && lost.abort(new Error('hold lost')),
    })
    await expect(ending).rejects.toThrow('hold lost')
    const cancelled = AbortSignal.abort(new Error('cancelled'))
    await expect(createBackup(source(), target, run(cancelled))).rejects.toThrow('cancelled')
    expect(leftovers()).toEqual([])
  })

  it('ends with a sentence when its target is gone', async () => {
    const ending = createBackup(source(), target, {
      ...run(),
      progress: ({ text }) =>
        text.includes('files') && rmSync(target.folder, { recursive: true, force: true }),
    })
    await expect(ending).rejects.toThrow(`the backup folder ${target.folder} is gone`)
  })

  it('ends when another process has taken over its target, and leaves that one alone', async () => {
    const path = join(target.folder, 'hermod-backups.lease')
    const other = JSON.stringify({ host: 'other', pid: 7, id: 'of-the-other', at: Date.now() })
    const takeOver = () => {
      rmSync(path, { force: true })
      writeFileSync(path, other)
    }
    const ending = createBackup(source(), target, {
      ...run(),
      progress: ({ text }) => text.includes('files') && takeOver(),
    })
    await expect(ending).rejects.toThrow('process 7 on other has taken over')
    expect(leftovers()).toEqual(['hermod-backups.lease'])
    expect(readFileSync(path, 'utf8')).toBe(other)
  })

  it('of another writer is refused', async () => {
    await using _ = await target.lock()
    await expect(createBackup(source(), target, run())).rejects.toThrow('is in progress')
  })
})
