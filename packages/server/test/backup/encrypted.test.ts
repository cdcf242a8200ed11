/** Encrypted backups: nothing is read without the passphrase, and one artefact restores a machine. */
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import {
  isFullRun,
  memoryDisk,
  type ServerProcess,
  type Session,
  startServer,
  TempFolder,
} from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Manifest } from '../../dist/backup/manifest.js'
import { loadConfig } from '../../dist/config/config.js'
import {
  openChosenBackup,
  verifyChosenBackup,
  verifyOpenedBackup,
} from '../../dist/context/database/verify-backup.js'
import { filesOf, sha256Of, writeManifest } from '../support/backup/altered-backups.js'
import { backup, makeBackup, storedMessages } from '../support/backup/backups.js'
import { RememberedScrypt } from '../support/backup/remembered-scrypt.js'
import { fileTypes, png, sendFile } from '../support/files/files.js'
import { callHermod } from '../support/hermod-command.js'
import { endedJob } from '../support/long-jobs.js'
import { sendText, sessions } from '../support/messaging/messaging.js'
import { Random } from '../support/random.js'

const known = 'a text that must not be readable'
const random = new Random(Number(process.env.HERMOD_TEST_SEED ?? 20_260_104))

describe('encrypted backups', () => {
  let scrypt: RememberedScrypt
  let place: TempFolder
  let server: ServerProcess
  let target: string
  let first: string
  let second: string
  let passphraseFile: string
  let settings: Readonly<Record<string, string>>
  let alice: Session
  let bob: Session

  const path = (name: string) => join(place.path, name)
  function fileWith(name: string, passphrase: string): string {
    writeFileSync(path(name), `${passphrase}\n`, { mode: 0o600 })
    return path(name)
  }
  const send = (content: Buffer) =>
    sendFile(alice.api, { to_id: bob.id, to_type: 1, file_type: fileTypes.picture }, content)

  /** Two backups of a service with a message and a file, before and after one of each. */
  beforeAll(async () => {
    scrypt = new RememberedScrypt()
    place = new TempFolder('encrypted', memoryDisk())
    target = path('target')
    passphraseFile = fileWith('passphrase', 'correct horse battery')
    server = await startServer({ env: { HERMOD_BACKUP_PASSPHRASE_FILE: passphraseFile } })
    settings = { HERMOD_DATA_DIR: server.dataDir, HERMOD_BACKUP_PASSPHRASE_FILE: passphraseFile }
    ;[alice, bob] = await sessions(server, 2)
    await sendText(alice.api, bob.id, known)
    await send(png)
    first = (await makeBackup(target, settings)).folder
    await sendText(alice.api, bob.id, 'later')
    second = (await makeBackup(target, settings)).folder
  }, 60_000)
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]()
    place?.[Symbol.dispose]()
    scrypt?.[Symbol.dispose]()
  })

  const choice = { folder: null, keyFile: null, passphraseFile: null, temporary: null }
  const verify = (folder = second, change: Partial<typeof settings> = {}) =>
    verifyChosenBackup(loadConfig({ ...settings, ...change }), { ...choice, backup: folder }, {})
  const refusal = (...args: Parameters<typeof verify>) =>
    verify(...args).then(
      () => 'verified',
      (error: Error) => error.message,
    )
  const restore = (to: string, ...more: string[]) =>
    callHermod(['restore', second, '--to', path(to), ...more])
  const keyFile = () => join(server.dataDir, 'secret.key')
  const manifestOf = (folder: string): Manifest =>
    JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'))
  const rootOf = (folder: string) =>
    join(target, 'files-encrypted', manifestOf(folder).encryption?.files.id ?? '')

  /** Changes files for the time of some work. */
  async function withBytes<T>(changes: Readonly<Record<string, Buffer>>, work: () => Promise<T>) {
    const before = Object.keys(changes).map((name) => ({ name, bytes: readFileSync(name) }))
    try {
      for (const [name, bytes] of Object.entries(changes)) writeFileSync(name, bytes)
      return await work()
    } finally {
      for (const { name, bytes } of before) writeFileSync(name, bytes)
    }
  }

  /** Changes a backup as somebody does who has no passphrase: all hashes are right. */
  async function forged<T>(
    work: () => Promise<T>,
    { parts = {}, manifest = {} }: { parts?: Record<string, Buffer>; manifest?: object },
  ) {
    const original = manifestOf(second)
    const changes = Object.entries(parts).map(([name, bytes]) => [join(second, name), bytes])
    const kept = ['manifest.json', 'COMPLETE'].map((name) => join(second, name))
    const same = Object.fromEntries(kept.map((name) => [name, readFileSync(name)]))
    return withBytes({ ...same, ...Object.fromEntries(changes) }, async () => {
      const named = original.parts.map((part) => {
        const bytes = parts[part.name]
        return bytes ? { ...part, size: bytes.length, sha256: sha256Of(bytes) } : part
      })
      writeManifest(second, JSON.stringify({ ...original, parts: named, ...manifest }, null, 2))
      return work()
    })
  }

  it('show no text, name of a user, key or file, and share files', async () => {
    const secrets = [known, 'correct horse', readFileSync(keyFile(), 'utf8'), 'SQLite format 3']
    for (const each of filesOf(target)) {
      const bytes = readFileSync(each)
      for (const secret of [...secrets, png.subarray(8)])
        expect(bytes.includes(secret), `${secret} in ${each}`).toBe(false)
      expect(statSync(each).mode & 0o777, each).toBe(0o600)
    }
    expect(readdirSync(server.dataDir)).not.toContain('hermod.db.backup')
    expect(rootOf(first)).toBe(rootOf(second))
    expect(filesOf(join(rootOf(first), 'files'))).toHaveLength(1)
    const { digest, key_inside, files } = manifestOf(second)
    expect({ digest, key_inside, files }).toMatchObject({ key_inside: true, files: { count: 1 } })
    const { backups } = await backup(['list', '--to', target], settings)
    expect(backups).toMatchObject([{ encrypted: true }, { encrypted: true }])
  })

  it('are verified by the service and by the command, and restore a machine without its key', async () => {
    await backup(['verify', '--to', target], settings)
    expect(existsSync(join(second, 'VERIFIED'))).toBe(true)
    rmSync(join(second, 'VERIFIED'))
    // The schedule does the same each week.
    const job = await endedJob(server, '/operator/v1/backup/verify', { folder: target })
    expect(job).toMatchObject({ state: 'done', error: '', result: { digest: 'equal' } })
    expect(existsSync(join(second, 'VERIFIED'))).toBe(true)
    for (const folder of [target, server.dataDir])
      expect(readdirSync(folder).filter((name) => name.startsWith('.'))).toEqual([])
    const wrong = ['--passphrase-file', fileWith('wrong', 'correct horse batterie')]
    const startedAt = performance.now()
    expect((await restore('none', ...wrong)).err).toContain('does not open the backup')
    expect(performance.now() - startedAt).toBeLessThan(10_000)
    expect((await restore('none')).err).toMatch(
      /is encrypted; name .*--passphrase-file, or set HERMOD_BACKUP_PASSPHRASE_FILE/,
    )
    const right = ['--passphrase-file', passphraseFile]
    expect((await restore('none', ...right, '--key-file', keyFile())).err).toContain(
      'has its secret key inside; leave --key-file out',
    )
    expect(existsSync(path('none'))).toBe(false)
    expect(await restore('data', ...right)).toMatchObject({ code: 0, err: '' })
    const key = join(path('data'), 'secret.key')
    expect([readFileSync(key), statSync(key).mode & 0o777]).toEqual([
      readFileSync(keyFile()),
      0o600,
    ])
    expect(readdirSync(path('data'))).not.toContain('private.json')
    const [stored] = filesOf(join(path('data'), 'files'))
    expect(readFileSync(stored ?? '')).toEqual(png)
    const texts = [...storedMessages(join(path('data'), 'hermod.db')).values()].flat()
    expect(texts.map(({ content }) => content)).toEqual([known, 'later'])
    const { code, out } = await callHermod(['check'], { HERMOD_DATA_DIR: path('data') })
    expect([code, out]).toEqual([0, expect.stringContaining('all agree')])
  })

  it('of somebody without the passphrase are found, although their hashes are right', async () => {
    const bytesOf = (folder: string, name: string) => readFileSync(join(folder, name))
    const database = bytesOf(second, 'hermod.db')
    const chunk = 65_536 + 16
    const at = (number: number) => database.subarray(48 + number * chunk, 48 + (number + 1) * chunk)
    const swapped = Buffer.concat([
      ...[database.subarray(0, 48), at(1), at(0), database.subarray(48 + 2 * chunk)],
    ])
    const original = manifestOf(second).encryption as NonNullable<Manifest['encryption']>
    const other = manifestOf(first).encryption as typeof original
    const encryption = (change: object) => ({
      manifest: { encryption: { ...original, ...change } },
    })
    const files = { ...original.files, id: '0'.repeat(16) }
    const changes: Record<string, Parameters<typeof forged>[1]> = {
      'a part of another backup': { parts: { 'hermod.db': bytesOf(first, 'hermod.db') } },
      'a cut part': { parts: { 'hermod.db': database.subarray(0, 48 + 3 * chunk) } },
      'another key of the parts': encryption({ data_key: other.data_key }),
      ...(isFullRun && {
        'another secret key': { parts: { 'private.json': bytesOf(first, 'private.json') } },
        'swapped chunks': { parts: { 'hermod.db': swapped } },
        'another time': { manifest: { created_at: '2030-01-01T00:00:00.000Z' } },
        'another place of files': encryption({ files }),
      }),
    }
    for (const [what, change] of Object.entries(changes))
      expect(await forged(refusal, change), what).toContain(
        'manifest.json is not the one that was made with the passphrase',
      )
    const gigabytes = encryption({ kdf: { ...original.kdf, n: 2 ** 24 } })
    expect(await forged(refusal, gigabytes)).toContain('bad field encryption')
    const named = { ...choice, backup: second, passphraseFile }
    const openNamed = () => openChosenBackup(loadConfig(settings), named)
    await expect(forged(openNamed, { manifest: { encryption: undefined } })).rejects.toThrow(
      'is not encrypted, so that its passphrase proves nothing of it',
    )
  })

  /** Every file that the backups consist of. */
  const allFiles = () => [
    ...readdirSync(second)
      .filter((name) => name !== 'VERIFIED')
      .map((name) => join(second, name)),
    ...filesOf(rootOf(second)),
    join(target, 'hermod-backups.json'),
  ]

  it('with a flipped byte are found', { timeout: 3_600_000 }, async () => {
    const loaded = loadConfig(settings)
    const opened = await openChosenBackup(loaded, { ...choice, backup: second })
    for (const file of allFiles()) {
      const bytes = readFileSync(file)
      const step = basename(file) === 'hermod.db' ? 4_096 : 1
      const places = isFullRun
        ? Array.from({ length: Math.ceil(bytes.length / step) }, (_, index) => index * step)
        : [random.integer(0, Math.max(0, bytes.length - 1))]
      // Opening reads them again.
      const isRead = /(json|COMPLETE)$/.test(file)
      const check = () =>
        isRead
          ? refusal()
          : verifyOpenedBackup(loaded, opened, { temporary: path('') }).then(
              () => 'verified',
              (error: Error) => error.message,
            )
      for (const at of places) {
        const flipped = Buffer.from(bytes)
        flipped[at] = (flipped[at] as number) ^ (1 << random.integer(0, 7))
        const found = await withBytes({ [file]: flipped }, check)
        expect(found, `byte ${at} of ${file}`).not.toBe('verified')
      }
    }
    expect(await refusal()).toBe('verified')
  })

  it('of two passphrases share a folder, and prune removes what none names', async () => {
    const mixed = path('mixed')
    const create = async (name: string, passphrase: string) => {
      const args = ['create', '--to', mixed, '--passphrase-file', fileWith(name, passphrase)]
      return join(mixed, (await backup(args, settings)).result.name)
    }
    const ids = () => readdirSync(join(mixed, 'files-encrypted'))
    const one = await create('one', 'the first passphrase')
    const [id] = ids()
    const blob = () => filesOf(join(mixed, 'files-encrypted', id ?? '', 'files'))[0] as string
    const { ino, mtimeMs } = statSync(blob())
    await create('two', 'the second passphrase')
    await create('one', 'the first passphrase')
    expect(ids()).toHaveLength(2)
    expect(statSync(blob())).toMatchObject({ ino, mtimeMs })
    chmodSync(path('one'), 0o644)
    await expect(
      backup(['create', '--to', mixed, '--passphrase-file', path('one')], settings),
    ).rejects.toThrow('can be read by other users (mode 644)')
    const names = readdirSync(mixed).filter((name) => /^\d{8}T/.test(name))
    const ofFirst = names.filter(
      (name) => manifestOf(join(mixed, name)).encryption?.files.id === id,
    )
    expect(ofFirst).toHaveLength(2)
    for (const name of ofFirst.slice(1)) rmSync(join(mixed, name), { recursive: true })
    await backup(['prune', '--to', mixed], settings)
    expect(existsSync(blob())).toBe(true)
    rmSync(one, { recursive: true, force: true })
    for (const name of ofFirst) rmSync(join(mixed, name), { recursive: true, force: true })
    await backup(['prune', '--to', mixed], settings)
    expect(ids()).toHaveLength(1)
    expect(ids()).not.toContain(id)
  })
})
