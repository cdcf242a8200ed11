/** Backups of a running service on the embedded database, and of its files. */
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  isFullRun,
  memoryDisk,
  type Session,
  TempFolder,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { metric } from '../support/attack.js'
import {
  backup,
  integrityOf,
  makeBackup,
  RestoredFolder,
  storedMessages,
} from '../support/backup/backups.js'
import { SmallDisk } from '../support/database/system-faults.js'
import { fileIdOf, fileTypes, png, sendFile, targets } from '../support/files/files.js'
import { callHermod } from '../support/hermod-command.js'
import { InProcessServer, ownServer } from '../support/in-process-server.js'
import { sendText, sessions } from '../support/messaging/messaging.js'
import { WatchedServer } from '../support/watched-server.js'

const timeoutMs = 60_000
const embedded = testBackends().filter(({ name }) => name === 'sqlite')
const remote = testBackends().filter(({ name }) => name === 'postgres')

describe.each(embedded)('backups on $name', (backend) => {
  const server = ownServer(backend)
  let place: TempFolder
  let target: string
  let alice: Session
  let bob: Session

  beforeEach(async () => {
    place = new TempFolder('backups', memoryDisk())
    target = join(place.path, 'backups')
    ;[alice, bob] = await sessions(server, 2)
    return () => place[Symbol.dispose]()
  })

  const keyFile = () => join(server.dataDir, 'secret.key')
  const picture = (from: Session, to: Session) =>
    sendFile(from.api, { to_id: to.id, to_type: targets.user, file_type: fileTypes.picture }, png)

  it('a backup under load: is a prefix of the log in every conversation, and passes hermod check', {
    timeout: timeoutMs,
  }, async () => {
    const users = await sessions(server, 6)
    const sent = new Map<string, string[]>()
    let isOver = false
    const senders = users.map(async (from, index) => {
      const to = users[(index + 1) % users.length] as Session
      const key = [from.id, to.id].sort((a, b) => a - b).join(' ')
      const texts: string[] = []
      sent.set(key, texts)
      for (let count = 0; !isOver; count++) {
        const text = `${index} ${count} ${'x'.repeat(500)}`
        await sendText(from.api, to.id, text)
        texts.push(text)
        // The backups of the other tests have these messages, too, one of them on a small disk.
        await sleep(20)
      }
    })
    await waitFor(() => [...sent.values()].every((texts) => texts.length > 20), {
      what: 'messages',
      timeoutMs: 30_000,
    })
    const answered = new Map([...sent].map(([key, texts]) => [key, texts.length]))
    const { folder, manifest } = await makeBackup(target, server.settings)
    isOver = true
    await Promise.all(senders)
    const path = join(folder, 'hermod.db')
    expect(integrityOf(path)).toEqual([{ integrity_check: 'ok' }])
    const stored = storedMessages(path)
    for (const [key, texts] of sent) {
      const found = stored.get(key) ?? []
      expect(found.map(({ seq }) => seq)).toEqual(found.map((_, index) => index + 1))
      expect(found.map(({ content }) => content)).toEqual(texts.slice(0, found.length))
      expect(found.length).toBeGreaterThanOrEqual(answered.get(key) ?? 0)
    }
    expect(manifest.positions).toEqual({ test: expect.any(Number) })
    using restored = new RestoredFolder(target, basename(folder), keyFile())
    const digest = await callHermod(['digest', '--json'], { HERMOD_DATA_DIR: restored.dataDir })
    expect(JSON.parse(digest.out)).toEqual(manifest.digest)
    const { report } = await restored.check()
    expect(report.faults).toEqual([])
  })

  it('files: are copied once for all backups, and stay while a backup names them', {
    timeout: timeoutMs,
  }, async () => {
    const fileId = fileIdOf(await picture(alice, bob))
    const first = await makeBackup(target, server.settings)
    const key = `app-test/${fileId.slice(0, 2)}/`
    const blobs = () => readdirSync(join(target, 'files', key)).map((name) => join(key, name))
    const [blob = ''] = blobs()
    const path = join(target, 'files', blob)
    expect(readFileSync(path)).toEqual(png)
    const { mtimeMs, ino } = statSync(path)
    await picture(bob, alice)
    const second = await makeBackup(target, server.settings)
    expect(statSync(path)).toMatchObject({ mtimeMs, ino })
    expect(second.manifest.files.count).toBe(first.manifest.files.count + 1)
    // The catalogue and the lists of the backups say the same of each file.
    const lines = (at: string) => readFileSync(at, 'utf8').trimEnd().split('\n')
    expect(new Set(lines(join(target, 'files.ndjson')))).toEqual(
      new Set(lines(join(second.folder, 'files.ndjson'))),
    )
    // A file that no backup names goes.
    rmSync(first.folder, { recursive: true })
    rmSync(second.folder, { recursive: true })
    await backup(['prune', '--to', target], server.settings)
    expect(existsSync(join(target, 'files', 'app-test'))).toBe(false)
    expect(readFileSync(join(target, 'files.ndjson'), 'utf8')).toBe('')
    const third = await makeBackup(target, server.settings)
    expect(readFileSync(path)).toEqual(png)
    expect(third.manifest.files.count).toBe(second.manifest.files.count)
  })

  it('list: shows complete backups, the newest first', async () => {
    const made = [await makeBackup(target, server.settings)]
    made.unshift(await makeBackup(target, server.settings))
    const names = made.map(({ folder }) => basename(folder))
    rmSync(join(target, names[1] as string, 'COMPLETE'))
    const { folder, backups } = await backup(['list', '--to', target], server.settings)
    expect(folder).toBe(target)
    expect(backups).toMatchObject([
      { name: names[0], engine: 'sqlite', version: '0.1.0', verified_at: 0, damaged: false },
    ])
  })

  it('create: says where the secret key is, and refuses a folder in the data folder', async () => {
    const create = (to: string) => callHermod(['backup', 'create', '--to', to], server.settings)
    const { code, out } = await create(target)
    expect({ code, out }).toEqual({
      code: 0,
      out: expect.stringMatching(/secret key is not inside.+secret\.key in the data folder/),
    })
    const refused = await create(join(server.dataDir, 'backups'))
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('another disk') })
  })

  it('a folder that had backups and is empty: is not mounted', async () => {
    await makeBackup(target, server.settings)
    rmSync(target, { recursive: true })
    await expect(makeBackup(target, server.settings)).rejects.toThrow('is not mounted')
    expect(existsSync(target)).toBe(false)
  })

  it('a second writer: is refused, and nothing of it stays', async () => {
    await makeBackup(target, server.settings)
    const lease = join(target, 'hermod-backups.lease')
    const { ppid: pid } = process
    writeFileSync(lease, JSON.stringify({ host: hostname(), pid, at: Date.now() }))
    const before = readdirSync(target)
    await expect(makeBackup(target, server.settings)).rejects.toThrow(`in progress (process ${pid}`)
    expect(readdirSync(target)).toEqual(before)
  })

  it('a full disk: fails with a sentence, and leaves nothing', {
    timeout: timeoutMs,
  }, async ({ skip }) => {
    const disk = SmallDisk.mount(64)
    if (typeof disk === 'string') return skip(disk)
    using _ = disk
    const full = join(disk.path, 'backups')
    await makeBackup(full, server.settings)
    const names = readdirSync(full)
    const free = disk.fill()
    await expect(makeBackup(full, server.settings)).rejects.toThrow(/free space|is full/)
    expect(readdirSync(full)).toEqual(names)
    free()
    await makeBackup(full, server.settings)
  })

  // The first backup of a schedule comes within a minute.
  if (isFullRun)
    it('HERMOD_BACKUP_DIR: the service makes backups, and its metrics show the newest one', {
      timeout: 180_000,
    }, async () => {
      await using scheduled = await WatchedServer.start(backend, {
        env: { HERMOD_BACKUP_DIR: target },
      })
      const newest = () => metric(scheduled.api, 'hermod_backup_last_success_seconds')
      expect(await newest()).toBe(0)
      await waitFor(async () => (await newest()) > 0, {
        what: 'the first backup',
        timeoutMs: 150_000,
      })
      const { backups } = await backup(['list'], {
        ...scheduled.settings,
        HERMOD_BACKUP_DIR: target,
      })
      expect(backups).toHaveLength(1)
      expect(backups[0].created_at / 1_000).toBe(await newest())
    })

  it('without a server: the command makes the backup itself', { timeout: timeoutMs }, async () => {
    await sendText(alice.api, bob.id, 'kept')
    await server.stop()
    const { folder } = await makeBackup(target, server.settings)
    const all = [...storedMessages(join(folder, 'hermod.db')).values()].flat()
    expect(all.map(({ content }) => content)).toContain('kept')
  })
})

describe.each(remote)('backups on $name', (backend) => {
  it('create is refused with the tools that make backups; files copies the files', {
    timeout: timeoutMs,
  }, async () => {
    await using server = await InProcessServer.start(backend)
    using place = new TempFolder('backups', memoryDisk())
    const target = join(place.path, 'backups')
    const [alice, bob] = await sessions(server, 2)
    const { err } = await callHermod(['backup', 'create', '--to', target], server.settings)
    expect(err).toMatch(/pgBackRest.+docs\/guides\/backup-postgresql\.md/)
    const to = { to_id: bob.id, to_type: targets.user, file_type: fileTypes.picture }
    await sendFile(alice.api, to, png)
    const { result } = await backup(['files', '--to', target], server.settings)
    expect(result).toMatchObject({ files: 1, database_bytes: 0, missing_files: 0 })
    const { backups } = await backup(['list', '--to', target], server.settings)
    expect(backups).toMatchObject([{ engine: 'postgres', files: 1 }])
  })
})
