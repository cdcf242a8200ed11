/** `hermod backup verify`: a backup that would not restore is found, whatever is wrong with it. */
import { createHash } from 'node:crypto'
import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { isFullRun, memoryDisk, TempFolder, testBackends } from '@hermod/testkit'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Manifest } from '../../dist/backup/manifest.js'
import { loadConfig } from '../../dist/config/config.js'
import { verifyChosenBackup } from '../../dist/context/database/verify-backup.js'
import { backup as backupCommand } from '../support/backup/backups.js'
import { fileTypes, png, sendFile } from '../support/files/files.js'
import { callHermod } from '../support/hermod-command.js'
import { InProcessServer } from '../support/in-process-server.js'
import { integrityCast } from '../support/integrity/cast.js'
import { endedJob } from '../support/long-jobs.js'
import { Random } from '../support/random.js'
import { laterRelease } from '../support/database/later-migration.js'
import { openSql } from '../support/database/sql.js'
import { type Watched, WatchedServer } from '../support/watched-server.js'

const [sqlite] = testBackends().filter(({ name }) => name === 'sqlite')
const secretKey = 'the-secret-key-of-tests-of-backups'
// The cast has a disabled endpoint there.
const outbound = { HERMOD_OUTBOUND_ALLOW: '127.0.0.1,::1' }

/** A world with two files of equal length. */
async function fill({ server }: Watched): Promise<void> {
  await integrityCast(server)
  const [alice, bob] = [await server.api.newSession(), await server.api.newSession()]
  const ticket = { to_id: bob.id, to_type: 1, file_type: fileTypes.picture }
  const other = Buffer.from(png)
  other.writeUInt8((other.at(-1) ?? 0) ^ 1, other.length - 1)
  for (const content of [png, other]) await sendFile(alice.api, ticket, content)
}

describe.runIf(sqlite)('hermod backup verify', () => {
  let watched: WatchedServer
  let folder: TempFolder
  let settings: Readonly<Record<string, string>>
  let target: string
  let backup: string

  const hermod = (...args: readonly string[]) => callHermod(args, settings)
  const verify = (change: Readonly<Record<string, string>> = {}, path = backup) =>
    verifyChosenBackup(
      loadConfig({ ...settings, ...change }),
      { backup: path, folder: null, keyFile: null, passphraseFile: null, temporary: null },
      {},
    )
  const refusal = (...args: Parameters<typeof verify>) =>
    verify(...args).then(
      () => 'verified',
      (error: Error) => error.message,
    )

  beforeAll(async () => {
    folder = new TempFolder('verify', memoryDisk())
    target = join(folder.path, 'backups')
    const env = { ...outbound, HERMOD_SECRET_KEY: secretKey, HERMOD_BACKUP_DIR: target }
    watched = await WatchedServer.start(sqlite as NonNullable<typeof sqlite>, { env })
    settings = { HERMOD_DATA_DIR: watched.server.dataDir, ...env }
    await fill(watched)
    const made = await hermod('backup', 'create', '--json')
    expect(made.err).toBe('')
    const [name = ''] = readdirSync(target).filter((each) => /^\d{8}T/.test(each))
    backup = join(target, name)
  }, 60_000)

  afterAll(async () => {
    await watched?.[Symbol.asyncDispose]()
    folder?.[Symbol.dispose]()
  })

  /** Every file that the backup consists of. */
  function files(): string[] {
    const ofBackup = readdirSync(backup)
      .filter((name) => name !== 'VERIFIED')
      .map((name) => join(backup, name))
    const blobs = readdirSync(join(target, 'files'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
    return [
      ...ofBackup,
      ...blobs,
      join(target, 'files.ndjson'),
      join(target, 'hermod-backups.json'),
    ]
  }

  /** Writes other bytes into a file for the time of some work. */
  async function withBytes<T>(path: string, bytes: Buffer, work: () => Promise<T>): Promise<T> {
    const before = readFileSync(path)
    writeFileSync(path, bytes)
    try {
      return await work()
    } finally {
      writeFileSync(path, before)
    }
  }

  it.runIf(process.getuid?.() === 0)('by root is noted for the owner of the backup', async () => {
    const [nobody, mark] = [65_534, join(backup, 'VERIFIED')]
    chownSync(backup, nobody, nobody)
    try {
      expect(await refusal()).toBe('verified')
      const { uid, gid, mode } = statSync(mark)
      expect([uid, gid, mode & 0o777]).toEqual([nobody, nobody, 0o600])
    } finally {
      chownSync(backup, 0, 0)
      rmSync(mark, { force: true })
    }
  })

  it('restores, checks and compares the backup, and notes it', async () => {
    const { code, out, err } = await hermod('backup', 'verify', '--json')
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const result = JSON.parse(out.trimEnd().split('\n').at(-1) ?? '')
    expect(result).toMatchObject({ digest: 'equal', files: 2, is_noted: true })
    expect(result.facts).toBeGreaterThan(10)
    expect(statSync(join(backup, 'VERIFIED')).mode & 0o777).toBe(0o600)
    const { backups } = JSON.parse((await hermod('backup', 'list', '--json')).out)
    expect(backups[0].verified_at).toBeGreaterThan(0)
    expect(readdirSync(target).filter((name) => name.startsWith('.'))).toEqual([])
    expect((await hermod('backup', 'verify', backup)).out).toContain('is verified')
  })

  it('finds every flipped byte of every file', async () => {
    const random = new Random(1)
    for (const path of files()) {
      const bytes = readFileSync(path)
      // One of each page of the database, which has millions.
      const step = path.endsWith('hermod.db') ? 4_096 : 1
      const places = isFullRun
        ? Array.from({ length: Math.ceil(bytes.length / step) }, (_, at) => at * step)
        : [
            0,
            bytes.length - 1,
            ...Array.from({ length: 4 }, () => random.integer(0, bytes.length - 1)),
          ]
      for (const at of places) {
        const flipped = Buffer.from(bytes)
        flipped[at] = (flipped[at] as number) ^ (1 << random.integer(0, 7))
        const found = await withBytes(path, flipped, refusal)
        expect(found, `byte ${at} of ${path}`).not.toBe('verified')
      }
    }
    expect(await refusal()).toBe('verified')
  }, 3_600_000)

  it('finds missing, added, swapped and truncated files', async () => {
    for (const path of files()) {
      renameSync(path, join(folder.path, 'aside'))
      expect(await refusal(), `without ${path}`).not.toBe('verified')
      renameSync(join(folder.path, 'aside'), path)
      const bytes = readFileSync(path)
      truncateSync(path, bytes.length - 1)
      expect(await refusal(), `a truncated ${path}`).not.toBe('verified')
      writeFileSync(path, bytes)
    }
    const added = join(backup, 'more')
    writeFileSync(added, '')
    expect(await refusal()).toContain('more is not of it')
    rmSync(added)
    const [first = '', second = ''] = files().filter((path) => path.includes('/files/'))
    for (const [one, other, reason] of [
      [first, second, 'has other bytes'],
      [join(backup, 'hermod.db'), join(backup, 'files.ndjson'), 'hermod.db has'],
    ] as const) {
      const [bytes, others] = [readFileSync(one), readFileSync(other)]
      const found = await withBytes(one, others, () => withBytes(other, bytes, refusal))
      expect(found).toContain(reason)
    }
    expect(await refusal()).toBe('verified')
  })

  /** Changes the database of the backup, and makes the hashes those of the change. */
  async function withDatabase<T>(change: (path: string) => void, work: () => Promise<T>) {
    const path = join(backup, 'hermod.db')
    const before = ['hermod.db', 'manifest.json', 'COMPLETE'].map((name) => ({
      path: join(backup, name),
      bytes: readFileSync(join(backup, name)),
    }))
    try {
      change(path)
      rehash({ parts: [partOf(path)] })
      return await work()
    } finally {
      for (const each of before) writeFileSync(each.path, each.bytes)
    }
  }

  const hashOf = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex')
  const partOf = (path: string) => {
    const bytes = readFileSync(path)
    return { name: 'hermod.db', size: bytes.length, sha256: hashOf(bytes) }
  }

  /** Writes a manifest with other values, as if the backup was made so. */
  function rehash({ parts = [], ...more }: Partial<Manifest>): void {
    const manifest = JSON.parse(readFileSync(join(backup, 'manifest.json'), 'utf8')) as Manifest
    const named = manifest.parts.map((part) => parts.find(({ name }) => name === part.name) ?? part)
    const text = `${JSON.stringify({ ...manifest, ...more, parts: named }, null, 2)}\n`
    writeFileSync(join(backup, 'manifest.json'), text)
    writeFileSync(join(backup, 'COMPLETE'), `${hashOf(text)}\n`)
  }

  async function withManifest<T>(change: Partial<Manifest>, work: () => Promise<T>): Promise<T> {
    return withDatabase(
      () => {},
      () => {
        rehash(change)
        return work()
      },
    )
  }

  const sql = (statement: string) => (path: string) => {
    const database = new DatabaseSync(path)
    database.exec(statement)
    database.close()
  }

  it('finds a database that was damaged before it was backed up', async () => {
    const damage = (path: string) => {
      const bytes = readFileSync(path)
      bytes.fill(0, bytes.length - 4096)
      writeFileSync(path, bytes)
    }
    expect(await withDatabase(damage, refusal)).toContain('is damaged: hermod.db:')
  })

  it.each([
    ['trigger', 'create trigger more after insert on messages begin delete from messages; end'],
    ['view', 'create view more as select content from messages'],
    ['table', 'create virtual table more using fts5(content)'],
  ])('refuses a database with a %s of its own, of which nothing runs', async (type, statement) => {
    expect(await withDatabase(sql(statement), refusal)).toContain(
      `its database has the ${type} more, and the service makes only tables and indexes`,
    )
  })

  it('finds rows that are not those of the digest', async () => {
    const change = sql(`update messages set content = 'other' where content = '1'`)
    expect(await withDatabase(change, refusal)).toMatch(
      /its rows are not those of its digest, messages: other rows/,
    )
  })

  it('finds facts that do not agree, as hermod check does', async () => {
    const change = sql('update file_usage set files = files + 1')
    const found = await withDatabase(change, refusal)
    expect(found).toMatch(/hermod check finds 1 fault in the restored backup .*file_usage/)
  })

  it('says which key, version and backup it needs', async () => {
    const other = 'the-secret-key-of-another-installation'
    expect(await refusal({ HERMOD_SECRET_KEY: other })).toMatch(
      /the secret key \(\S+\) is that of another installation, and the backup .* needs the key/,
    )
    const keyFile = join(folder.path, 'secret.key')
    writeFileSync(keyFile, secretKey)
    const without = { ...settings, HERMOD_SECRET_KEY: undefined, HERMOD_DATA_DIR: folder.path }
    rmSync(keyFile)
    expect((await callHermod(['backup', 'verify', backup], without)).err).toContain(
      'there is no secret key to check the secrets',
    )
    writeFileSync(join(folder.path, 'key'), `${secretKey}\n`)
    const args = ['backup', 'verify', backup, '--key-file', join(folder.path, 'key')]
    expect(await callHermod(args, without)).toMatchObject({ code: 0, err: '' })
    const schema = { number: 999, name: '999-later' }
    expect(await withManifest({ schema, version: '9.0.0' }, refusal)).toMatch(
      /was made by version 9\.0\.0 with the schema 999, and this is version .*; verify it with version 9\.0\.0 or a newer one/,
    )
    expect(await refusal({}, target)).toContain('is a folder of backups; name one of the backups')
    expect(await refusal({}, join(target, 'none'))).toContain('there is no backup')
    const empty = join(folder.path, 'empty')
    mkdirSync(empty)
    expect(await refusal({}, empty)).toContain('is missing or empty')
    renameSync(join(backup, 'COMPLETE'), join(folder.path, 'aside'))
    expect(await refusal()).toContain('is no complete backup, since COMPLETE is missing')
    renameSync(join(folder.path, 'aside'), join(backup, 'COMPLETE'))
  })

  it('of an earlier version is brought up to date in the temporary folder alone', async () => {
    const before = readFileSync(join(backup, 'hermod.db'))
    const loaded = { ...loadConfig(settings), release: laterRelease() }
    const none = { folder: null, keyFile: null, passphraseFile: null }
    const choice = { ...none, backup, temporary: folder.path }
    const result = await verifyChosenBackup(loaded, choice, {})
    expect(result).toMatchObject({ digest: 'unknown', files: 2, is_noted: true })
    expect(result.facts).toBeGreaterThan(10)
    expect(readFileSync(join(backup, 'hermod.db'))).toEqual(before)
  })

  it('continues when it cannot remove the temporary folder of another process', async () => {
    const loaded = loadConfig(settings)
    const none = { folder: null, keyFile: null, passphraseFile: null }
    // A link to nothing fails for every user, as the folder of another user does for all but root.
    const left = join(folder.path, '.verifying-other-1')
    symlinkSync(join(folder.path, 'nothing'), left)
    const result = await verifyChosenBackup(loaded, { ...none, backup, temporary: folder.path }, {})
    rmSync(left)
    expect(result).toMatchObject({ digest: 'equal' })
  })

  it('names --url for a copy that it cannot reach', async () => {
    const { err } = await hermod('backup', 'verify', '--url', 'postgres://a:b@127.0.0.1:1/copy')
    expect(err).toContain('the database of --url (')
    expect(err).not.toContain('HERMOD_DATABASE_URL')
  })

  it('runs as a long job of the service', async () => {
    rmSync(join(backup, 'VERIFIED'), { force: true })
    const named = { backup: basename(backup) }
    const job = await endedJob(watched.server, '/operator/v1/backup/verify', named)
    expect(job).toMatchObject({ state: 'done', error: '', result: { digest: 'equal' } })
    expect(existsSync(join(backup, 'VERIFIED'))).toBe(true)
  })
})

for (const backend of testBackends().filter(({ name }) => name === 'postgres')) {
  describe('hermod backup verify --url', () => {
    it('checks a restored copy, on which no node runs', async () => {
      await using server = await InProcessServer.start(backend, {
        ...outbound,
        HERMOD_SECRET_KEY: secretKey,
      })
      await fill(server)
      const { place } = server
      const url = String(place.databaseUrl)
      const verify = () =>
        callHermod(['backup', 'verify', '--url', url], { HERMOD_SECRET_KEY: secretKey })
      expect((await verify()).err).toContain('uses the database of --url')
      using target = new TempFolder('file-backups', memoryDisk())
      const settings = { ...server.settings, HERMOD_SECRET_KEY: secretKey }
      const files = await backupCommand(['files', '--to', join(target.path, 'all')], settings)
      await server.stop()
      const { code, out, err } = await verify()
      expect({ code, err }).toEqual({ code: 0, err: '' })
      expect(out).toContain('The copy is verified')
      const path = join(target.path, 'all', files.result.name)
      const ofFiles = await callHermod(['backup', 'verify', path], settings)
      expect(ofFiles.out).toContain('and 2 files are as they were written')
      const both = await callHermod(['backup', 'verify', path, '--url', url], settings)
      expect({ ...both, out: both.out.split('\n')[1] }).toEqual({
        ...{ code: 0, err: '', out: 'Its 2 files are as they were written.' },
      })
      await using other = await openSql(place)
      await other.run('update file_usage set files = files + 1')
      expect((await verify()).err).toContain('hermod check finds 1 fault in the restored copy')
    })
  })
}
