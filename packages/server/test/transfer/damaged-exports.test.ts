/** Refusals of exports and imports: damaged and crafted exports, and databases in use. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { testBackends } from '@hermod/testkit'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../../dist/config/config.js'
import { checkImport, importData } from '../../dist/context/database/import-data.js'
import { Database } from '../../dist/db/database.js'
import { listMigrations, migrate } from '../../dist/db/migrations/migrate.js'
import { originalKey } from '../../dist/domain/files/file-model.js'
import { lockFolder } from '../../dist/lib/system/folder-lock.js'
import { openDialect } from '../support/database/database-place.js'
import { laterRelease } from '../support/database/later-migration.js'
import { callHermod } from '../support/hermod-command.js'
import { changePart, rewriteManifest } from '../support/transfer/changed-exports.js'
import { exportMove, Installation, secretKey, succeed } from '../support/transfer/installations.js'

/** The contents of files. */
const bytes = 'out'

let sound: Installation
beforeAll(async () => {
  sound = await Installation.filled()
  await exportMove(sound)
})
afterAll(() => sound[Symbol.asyncDispose]())

describe('exports and imports', () => {
  it('an export is refused while a service runs, without its key, and into a folder with files', async () => {
    await using source = await Installation.filled()
    const to = source.exportFolder
    const args = ['export', '--move', '--to', to, '--drop-undelivered']
    const attempt = (settings: object, more = args) =>
      callHermod(more, { ...source.settings, ...settings })
    expect((await attempt({ HERMOD_SECRET_KEY: undefined })).err).toContain(
      'needs the secret key of the installation',
    )
    expect((await attempt({}, ['export', '--to', to, '--drop-undelivered'])).err).toContain(
      '--drop-undelivered belongs to --move',
    )
    expect((await attempt({}, ['export', '--move', '--app', 'app1'])).err).toContain(
      'leave out --portable and --app',
    )
    expect((await attempt({ HERMOD_DATA_DIR: to })).err).toContain('there is no')
    const { err } = await attempt({}, ['export', '--move', '--to', to])
    expect(err).toContain('not everything is delivered')
    expect(existsSync(to)).toBe(false)
    const lock = lockFolder(source.dataDir)
    expect((await attempt({})).err).toContain('is in use by process')
    lock.release()
    mkdirSync(to)
    writeFileSync(join(to, 'mine.txt'), '')
    expect((await attempt({})).err).toContain('has other files, such as mine.txt')
    rmSync(join(to, 'mine.txt'))
    expect((await attempt({})).code).toBe(0)
    expect((await attempt({})).err).toContain('has a complete export already')
  })

  it.each<Refusal>([
    ['without its mark', (folder) => rmSync(join(folder, 'COMPLETE')), 'has no complete export'],
    [
      'with another manifest',
      (folder) => changePart(folder, 'manifest.json', '"kind": "move"', '"kind": "all"'),
      'manifest.json of the export in',
    ],
    [
      'with a cut file',
      (folder) => truncateSync(join(folder, 'lines/users.ndjson'), 100),
      'lines/users.ndjson of the export in',
    ],
    [
      'with a changed byte',
      (folder) => changePart(folder, 'lines/users.ndjson', 'app1', 'app2'),
      'cut off or changed',
    ],
    ['without a file', (folder) => rmSync(join(folder, 'lines/users.ndjson')), 'is missing'],
    [
      'of a newer format',
      (folder) =>
        rewriteManifest(folder, (manifest) => ({ ...manifest, format: 2, version: '9.0.0' })),
      'was made by Hermod 9.0.0 in a newer format',
    ],
    [
      'of a newer schema',
      (folder) =>
        rewriteManifest(folder, (manifest) => ({
          ...manifest,
          schema: { number: 99, name: '099-later' },
          version: '9.0.0',
        })),
      'it has the schema 99, and this version knows schemas up to 1; import it with Hermod 9.0.0',
    ],
    [
      'of another key',
      (folder) =>
        rewriteManifest(folder, (each) => ({ ...each, secret_key_fingerprint: 'abcdefgh' })),
      'need the secret key abcdefgh',
    ],
    [
      'with a list of files that is no part of it',
      (folder) =>
        rewriteManifest(folder, (each) => ({
          ...each,
          parts: each.parts.filter(({ name }) => name !== 'files.ndjson'),
        })),
      'manifest.json of the export in',
    ],
    ...[2 ** 53 - 1, Date.now() - Date.UTC(2015, 0, 1) + 25 * 3_600_000].map(
      (until): Refusal => [
        `with IDs up to ${until}`,
        (folder) => rewriteManifest(folder, (each) => ({ ...each, ids_reserved_until: until })),
        'which is after the time of this machine',
      ],
    ),
    [
      'with a part of another version',
      (folder) => {
        writeFileSync(join(folder, 'lines/orders.ndjson'), '')
        rewriteManifest(folder, (each) => ({
          ...each,
          parts: [...each.parts, { name: 'lines/orders.ndjson' }],
        }))
      },
      'the export has lines/orders.ndjson, which no export has in this version',
    ],
    [
      'with a part twice',
      (folder) =>
        rewriteManifest(folder, (each) => ({
          ...each,
          parts: [...each.parts, { name: 'lines/users.ndjson' }],
        })),
      'the export lists lines/users.ndjson twice',
    ],
    [
      'with an emptied list of files',
      (folder) => {
        writeFileSync(join(folder, 'files.ndjson'), '')
        rewriteManifest(folder, (each) => ({
          ...each,
          files: { store: 'folder', count: 3, bytes: 9, missing: 0 },
        }))
      },
      'has 0 files of 0 bytes, and manifest.json says 3 of 9',
    ],
    [
      'with a listed file that is missing',
      (folder) => {
        listFiles(folder, [fileOf('app1')])
        rmSync(join(folder, 'files', fileOf('app1').key))
      },
      `files/${fileOf('app1').key} of the export in`,
    ],
    [
      'with a file that is listed twice',
      (folder) => listFiles(folder, [fileOf('app0'), fileOf('app0')]),
      `line 2 of files.ndjson of the export has the key ${fileOf('app0').key}, which is listed twice`,
    ],
    [
      'with a file of no row',
      (folder) => listFiles(folder, [fileOf('app0'), fileOf('app3')]),
      `line 2 of files.ndjson of the export has the key ${fileOf('app3').key}, which is`,
    ],
    [
      'with a FIFO',
      (folder) => {
        const path = join(folder, 'lines/users.ndjson')
        rmSync(path)
        execFileSync('mkfifo', [path])
      },
      'is no regular file',
    ],
    [
      'with bytes that are no UTF-8',
      (folder) => {
        const path = join(folder, 'lines/users.ndjson')
        const bytes = readFileSync(path)
        bytes[bytes.indexOf('"nick_name":"') + '"nick_name":"'.length] = 0xff
        writeFileSync(path, bytes)
        rewriteManifest(folder)
      },
      'has bytes that are no UTF-8',
    ],
    [
      'with half of a surrogate pair',
      (folder) => {
        changePart(folder, 'lines/users.ndjson', '"nick_name":"', '"nick_name":"\\ud800')
        rewriteManifest(folder)
      },
      'line 1 of lines/users.ndjson has half a character in nick_name',
    ],
    [
      'with a file whose key leads out of its folder',
      (folder) => {
        writeFileSync(join(folder, 'outside'), bytes)
        listFiles(folder, [fileOf('app0'), { ...fileOf('app0'), key: '../outside' }])
      },
      'line 2 of files.ndjson of the export has a bad field key',
    ],
    [
      'with another digest',
      (folder) =>
        rewriteManifest(folder, (each) => ({
          ...each,
          digest: { ...each.digest, users: { ...each.digest.users, count: 4 } },
        })),
      'the database does not have what the export has (users: 3 of 4 rows)',
    ],
  ])('an export %s is refused', (_, damage, text) =>
    expectRefused(Installation.embedded(), damage, text),
  )

  it('an import needs an empty database', async () => {
    await using there = Installation.embedded()
    const { exportFolder } = sound
    await succeed(there.hermod('import', exportFolder, '--json'))
    const again = await there.hermod('import', exportFolder)
    expect([again.code, again.err]).toEqual([
      1,
      expect.stringContaining('is not empty (it has apps)'),
    ])
    const checked = await there.hermod('import', exportFolder, '--check')
    expect(checked.err).toContain('is not empty')
  })

  it('an import leaves the database of an earlier version as it is', async () => {
    await using there = Installation.embedded()
    there.makeFolder()
    await using database = new Database(openDialect(there))
    await migrate(database)
    const log = pino({ level: 'silent' })
    const settings = { HERMOD_DATA_DIR: there.dataDir, HERMOD_SECRET_KEY: secretKey }
    const options = { ...loadConfig(settings), log, release: laterRelease() }
    const from = { from: sound.exportFolder }
    const text = 'is not empty (it has the schema 1 of an earlier version)'
    await expect(importData(options, from, {})).rejects.toThrow(text)
    await expect(checkImport(options, from, {})).rejects.toThrow(text)
    expect((await listMigrations(database, options.release)).map((each) => each.isApplied)).toEqual(
      [true, false],
    )
  })

  it('a check refuses a file with other bytes of the same number', async () => {
    await using there = Installation.embedded()
    const folder = there.exportFolder
    cpSync(sound.exportFolder, folder, { recursive: true })
    listFiles(folder, [fileOf('app0')])
    const check = () => there.hermod('import', folder, '--check', '--json')
    expect(await succeed(check())).toMatchObject({ files: { count: 1, bytes: bytes.length } })
    writeFileSync(join(folder, 'files', fileOf('app0').key), 'off')
    expect((await check()).err).toContain(`files/${fileOf('app0').key} of the export in`)
  })

  it('a check counts, names what cannot be imported, and writes nothing', async () => {
    await using there = Installation.embedded()
    const folder = there.exportFolder
    cpSync(sound.exportFolder, folder, { recursive: true })
    const check = () => there.hermod('import', folder, '--check', '--json')
    expect(await succeed(check())).toMatchObject({
      counts: { users: 3, messages: 3, groups: 3 },
      problems: 0,
      samples: [],
    })
    expect(existsSync(there.dataDir)).toBe(false)
    changePart(folder, 'lines/operator_tokens.ndjson', '"created_at":', '"made_at":')
    changePart(folder, 'lines/users.ndjson', '"nick_name":"', '"nick_name":"\\u0000')
    rewriteManifest(folder)
    const { code, out, err } = await check()
    expect([code, err]).toEqual([1, expect.stringContaining('2 lines cannot be imported')])
    expect(JSON.parse(out)).toMatchObject({
      problems: 2,
      samples: [
        { type: 'operator_tokens', line: 1, reason: expect.stringContaining('made_at') },
        { type: 'users', line: 1, reason: 'has U+0000 in nick_name, which no database stores' },
      ],
    })
    const imported = await there.hermod('import', folder)
    expect(imported.err).toContain('line 1 of lines/operator_tokens.ndjson has a member made_at')
    // What was written before stays for a repaired export, and no service uses it.
    expect((await there.hermod('check')).err).toContain('has an unfinished import')
    const another = await there.hermod('import', sound.exportFolder)
    expect(another.err).toContain('has an unfinished import of another export')
  })
})

describe.each(testBackends())('an import into $name', (backend) => {
  it.each<Refusal>([
    [
      'with a row twice',
      (folder) => {
        const path = join(folder, 'lines/users.ndjson')
        writeFileSync(path, readFileSync(path, 'utf8').replace(/^.*\n/, '$&$&'))
        rewriteManifest(folder)
      },
      'one of the lines 1 to 4 of lines/users.ndjson cannot be written: two rows have one key',
    ],
    [
      'with a row without a member',
      (folder) => {
        const path = join(folder, 'lines/users.ndjson')
        writeFileSync(path, without(readFileSync(path, 'utf8'), 'username'))
        rewriteManifest(folder)
      },
      'cannot be written: a member that every row has is missing',
    ],
  ])('of an export %s is refused', async (_, damage, text) => {
    await expectRefused(await Installation.create(backend), damage, text)
  })
})

/** A kind of damage, its effect on the folder of an export, and the refusal. */
type Refusal = [string, (folder: string) => void, string]

async function expectRefused(
  place: Installation,
  damage: (folder: string) => void,
  text: string,
): Promise<void> {
  await using there = place
  cpSync(sound.exportFolder, there.exportFolder, { recursive: true })
  damage(there.exportFolder)
  const { code, err } = await there.hermod('import', there.exportFolder)
  expect([code, err]).toEqual([1, expect.stringContaining(text)])
  expect(existsSync(join(there.dataDir, 'outside'))).toBe(false)
  const started = await there.hermod('check')
  expect([started.code, started.err]).toEqual([1, expect.any(String)])
}

/** The file that the row of an application of the export names, as it is listed. */
function fileOf(appId: string) {
  const row = appId.at(-1)
  const file = { appId, fileId: `7d0c5tzmv4fhq2n8r1xk3apw${row}0`, uploadId: `ab0cd0${row}0` }
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  return { key: originalKey(file), size: bytes.length, content_type: '', sha256 }
}

/** Writes a list of files, and those that it names. */
function listFiles(folder: string, files: readonly ReturnType<typeof fileOf>[]): void {
  for (const { key } of files) {
    const path = join(folder, 'files', key)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, bytes)
  }
  const lines = files.map((file) => `${JSON.stringify(file)}\n`)
  writeFileSync(join(folder, 'files.ndjson'), lines.join(''))
  rewriteManifest(folder, (manifest) => ({
    ...manifest,
    files: { store: 'folder', count: files.length, bytes: files.length * bytes.length, missing: 0 },
  }))
}

/** Returns lines of JSON, of which the first one does not have a member. */
function without(lines: string, member: string): string {
  const [first = '', ...rest] = lines.split('\n')
  return [JSON.stringify({ ...JSON.parse(first), [member]: undefined }), ...rest].join('\n')
}
