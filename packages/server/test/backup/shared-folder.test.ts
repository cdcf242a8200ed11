/** Plain and encrypted backups in one folder, of a service whose settings have no passphrase. */
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { memoryDisk, type ServerProcess, startServer, TempFolder } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { metric } from '../support/attack.js'
import { filesOf } from '../support/backup/altered-backups.js'
import { backup } from '../support/backup/backups.js'
import { fileTypes, png, sendFile, targets } from '../support/files/files.js'
import { endedJob } from '../support/long-jobs.js'
import { sessions } from '../support/messaging/messaging.js'

describe('plain and encrypted backups of one folder', () => {
  let place: TempFolder
  let server: ServerProcess
  let target: string
  let passphraseFile: string
  let settings: Readonly<Record<string, string>>

  beforeAll(async () => {
    place = new TempFolder('shared', memoryDisk())
    target = join(place.path, 'target')
    passphraseFile = join(place.path, 'passphrase')
    writeFileSync(passphraseFile, 'correct horse battery', { mode: 0o600 })
    server = await startServer({ env: { HERMOD_BACKUP_DIR: target } })
    settings = { HERMOD_DATA_DIR: server.dataDir, HERMOD_BACKUP_DIR: target }
    const [alice, bob] = await sessions(server, 2)
    const to = { to_id: bob.id, to_type: targets.user, file_type: fileTypes.picture }
    await sendFile(alice.api, to, png)
  }, 60_000)
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]()
    place?.[Symbol.dispose]()
  })

  /** Makes a backup. @returns its folder */
  const create = async (...more: string[]) =>
    join(target, (await backup(['create', ...more], settings)).result.name)
  const verify = (order: object) => endedJob(server, '/operator/v1/backup/verify', order)
  const plainFiles = () => filesOf(join(target, 'files'))
  const places = () => readdirSync(join(target, 'files-encrypted'))
  const isEncrypted = () => metric(server, 'hermod_backup_encrypted')

  it('each have their own copies of the files, are verified, and leave no file to the others', async () => {
    const plain = await create()
    expect(await isEncrypted()).toBe(0)
    const encrypted = await create('--passphrase-file', passphraseFile)
    expect(await isEncrypted()).toBe(1)
    expect([plainFiles().length, places().length]).toEqual([1, 1])
    const { backups } = await backup(['list'], settings)
    expect(backups).toMatchObject([{ encrypted: true }, { encrypted: false }])

    expect(await verify({})).toMatchObject({
      state: 'failed',
      error: expect.stringContaining('is encrypted; name the file'),
    })

    rmSync(plain, { recursive: true })
    await backup(['prune'], settings)
    expect([plainFiles().length, places().length]).toEqual([0, 1])
    expect(await verify({ passphrase_file: passphraseFile })).toMatchObject({
      ...{ state: 'done', error: '', result: { digest: 'equal', files: 1 } },
    })
    expect(existsSync(join(encrypted, 'VERIFIED'))).toBe(true)

    await create()
    rmSync(encrypted, { recursive: true })
    await backup(['prune'], settings)
    expect([plainFiles().length, places().length]).toEqual([1, 0])
  })

  it('are refused by operations with a file of a passphrase that cannot be read', async () => {
    const operator = server.api.as(server.operatorToken)
    for (const path of ['create', 'verify'].map((name) => `/operator/v1/backup/${name}`))
      for (const [passphrase_file, problem] of [
        ['passphrase', 'the field passphrase_file must be an absolute path'],
        [join(place.path, 'none'), 'field passphrase_file'],
      ]) {
        const { code, text } = await operator.call('POST', path, { body: { passphrase_file } })
        expect([code, text]).toEqual([
          answerCode.backup_refused,
          expect.stringContaining(problem ?? ''),
        ])
      }
  })
})
