/** Servers are killed while they make backups: a complete backup always opens. */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createBackup, listJobs } from '@hermod/protocol'
import { isFullRun, TempFolder, testBackends, waitFor } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import {
  integrityOf,
  makeBackup,
  RestoredFolder,
  storedMessages,
} from '../support/backup/backups.js'
import { fileTypes, png, sendFile, targets } from '../support/files/files.js'
import { callHermod } from '../support/hermod-command.js'
import { sendText, sessions } from '../support/messaging/messaging.js'
import { Random } from '../support/random.js'
import { WatchedServer } from '../support/watched-server.js'

/** The kills of all kinds of backups together; HERMOD_TEST_BACKUP_KILLS sets their number. */
const allKills = Number(process.env.HERMOD_TEST_BACKUP_KILLS ?? (isFullRun ? 6 : 1))
const seed = Number(process.env.HERMOD_TEST_SEED ?? 20_260_103)
const embedded = testBackends('durable').filter(({ name }) => name === 'sqlite')
const kinds = embedded.flatMap((backend) => [
  { name: backend.name, backend, isEncrypted: false },
  ...(isFullRun ? [{ name: `${backend.name}, encrypted`, backend, isEncrypted: true }] : []),
])
const kills = Math.ceil(allKills / kinds.length)
const text = 'x'.repeat(20_000)

describe.each(kinds)('kills during backups on $name', ({ backend, isEncrypted }) => {
  it('every complete backup restores, and the next one takes over', {
    timeout: 60_000 + kills * 20_000,
  }, async () => {
    const random = new Random(seed)
    using place = new TempFolder('backups')
    const passphraseFile = join(place.path, 'passphrase')
    writeFileSync(passphraseFile, 'correct horse battery', { mode: 0o600 })
    const env = isEncrypted ? { HERMOD_BACKUP_PASSPHRASE_FILE: passphraseFile } : {}
    await using watched = await WatchedServer.start(backend, { env })
    const target = join(place.path, 'backups')
    const [alice, bob] = await sessions(watched.server, 2)
    const to = { to_id: bob.id, to_type: targets.user, file_type: fileTypes.picture }
    for (let count = 0; count < 20; count++) {
      await sendText(alice.api, bob.id, `${count} ${text}`)
      await sendFile(alice.api, to, png)
    }
    const startedAt = performance.now()
    await makeBackup(target, watched.settings)
    // The command takes longer than the backup.
    const usualMs = (performance.now() - startedAt) / 2
    let met = 0
    let sound = new Set<string>()
    for (let kill = 0; kill < kills; kill++) {
      const { server } = watched
      const operator = server.api.as(server.operatorToken)
      const sender = server.api.as(alice.token)
      const sending = (async () => {
        for (let count = 0; ; count++) await sendText(sender, bob.id, `under load ${count}`)
      })().catch(() => {})
      await operator.succeed('POST', createBackup.path, { body: { folder: target } })
      await sleep(random.integer(0, Math.ceil(usualMs)))
      await watched.crash()
      if (readdirSync(target).some((name) => name.startsWith('.incoming-'))) met++
      // Whatever a killed one has left.
      if (isEncrypted)
        for (const path of readdirSync(target, { recursive: true, encoding: 'utf8' }))
          expectSealed(join(target, path))
      await sending
      await watched.startAgain()
      for (const name of complete(target)) {
        if (sound.has(name)) continue
        if (isEncrypted) await expectRestorable(join(target, name), passphraseFile)
        else expectSound(target, name)
      }
      sound = new Set(complete(target))
      await ended(watched)
    }
    if (kills > 1) console.log(`backup kills: seed ${seed}, ${met} of ${kills} met a backup`)
    const { folder } = await makeBackup(target, watched.settings)
    expect(readdirSync(target).filter((name) => name.startsWith('.'))).toEqual([])
    if (isEncrypted) {
      expect(existsSync(join(watched.server.dataDir, 'hermod.db.backup'))).toBe(false)
      await expectRestorable(folder, passphraseFile)
      return
    }
    const keyFile = join(watched.server.dataDir, 'secret.key')
    using restored = new RestoredFolder(target, basename(folder), keyFile)
    expect((await restored.check()).report.faults).toEqual([])
  })
})

/** Waits for the end of the jobs, which the next process begins again. */
async function ended({ server }: WatchedServer): Promise<void> {
  const operator = server.api.as(server.operatorToken)
  const unfinished = async () => {
    const { data } = await operator.succeed('GET', listJobs.path)
    return (data.jobs as { ended_at: number }[]).filter(({ ended_at }) => ended_at === 0)
  }
  await waitFor(async () => (await unfinished()).length === 0, {
    what: 'the end of the backup',
    timeoutMs: 30_000,
  })
}

function complete(target: string): string[] {
  return readdirSync(target).filter((name) => /^\d{8}T/.test(name))
}

/** The restore verifies the backup, and finds its files. */
async function expectRestorable(folder: string, passphraseFile: string): Promise<void> {
  using place = new TempFolder('restored')
  const to = join(place.path, 'data')
  const args = ['restore', folder, '--to', to, '--passphrase-file', passphraseFile]
  expect(await callHermod(args)).toMatchObject({ code: 0, err: '' })
  expectSoundDatabase(join(to, 'hermod.db'))
}

function expectSealed(path: string): void {
  if (!statSync(path).isFile()) return
  const bytes = readFileSync(path)
  // An index of keys of files is a database, too.
  for (const plain of [text.slice(0, 200), 'SQLite format 3', png.subarray(8)])
    if (!(plain === 'SQLite format 3' && path.endsWith('known.db')))
      expect(bytes.includes(plain), path).toBe(false)
}

function expectSound(target: string, name: string): void {
  const folder = join(target, name)
  expect(readdirSync(folder)).toContain('COMPLETE')
  expectSoundDatabase(join(folder, 'hermod.db'))
}

function expectSoundDatabase(path: string): void {
  expect(integrityOf(path)).toEqual([{ integrity_check: 'ok' }])
  for (const messages of storedMessages(path).values())
    expect(messages.map(({ seq }) => seq)).toEqual(messages.map((_, index) => index + 1))
}
