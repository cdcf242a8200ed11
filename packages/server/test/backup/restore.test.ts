/** Restores of backups into new data folders, and their end. */
import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { EventPage, FinishedRestore } from '@hermod/protocol'
import {
  type Api,
  isFullRun,
  type ServerProcess,
  type Session,
  startServer,
  TempFolder,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import type { WebhookReceiver } from '@hermod/testkit/webhooks'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseManifest } from '../../dist/backup/manifest.js'
import { answerCode } from '../support/answer-codes.js'
import { filesOf, partsOf, writeManifest } from '../support/backup/altered-backups.js'
import { makeBackup } from '../support/backup/backups.js'
import { openSql } from '../support/database/sql.js'
import { png, upload } from '../support/files/files.js'
import { callHermod, hermodEnvironment, hermodScript } from '../support/hermod-command.js'
import { InProcessServer } from '../support/in-process-server.js'
import { endedJob } from '../support/long-jobs.js'
import { sendText, sessions, textTo } from '../support/messaging/messaging.js'
import { Random } from '../support/random.js'
import { hookSecret, hookSettings, startReceiver } from '../support/webhooks/hooks.js'

const random = new Random(Number(process.env.HERMOD_TEST_SEED ?? 20_260_101))
const patience = { timeoutMs: 30_000 }
/** HERMOD_TEST_BACKUP_KILLS sets the number. */
const kills = Number(process.env.HERMOD_TEST_BACKUP_KILLS ?? (isFullRun ? 6 : 1))
const flippedBytes = isFullRun ? 100 : 10

async function page(api: Api, after: string): Promise<EventPage> {
  const { data } = await api.succeed<EventPage>('GET', '/events', { query: { after } })
  return data
}

const embedded = testBackends().filter(({ name }) => name === 'sqlite')

describe.each(embedded)('a restore of the embedded database', (backend) => {
  let place: TempFolder
  let server: InProcessServer
  let receiver: WebhookReceiver
  let alice: Session
  let bob: Session
  let carol: Session
  let backup: string
  let before: EventPage
  let lost: EventPage
  let lostToken: string

  /** Makes a server with messages, a file and a webhook, a backup of it, and more messages after it. */
  beforeAll(async () => {
    place = new TempFolder('restore')
    receiver = await startReceiver()
    server = await InProcessServer.start(backend, hookSettings)
    ;[alice, bob, carol] = await sessions(server, 3)
    const body = { url: receiver.url, secret: hookSecret, kinds: ['message.stored'] }
    await server.api.admin().succeed('POST', '/app/webhook/create', { body })
    for (const text of ['one', 'two', 'three']) await sendText(alice.api, bob.id, text)
    const { data: ticket } = await alice.api.succeed('GET', '/file/upload/avatar/user')
    await upload(alice.api, ticket, png)
    await waitFor(() => receiver.events.length === 3, { what: 'all events', ...patience })
    before = await page(server.api.admin(), '')
    const target = join(place.path, 'target')
    backup = (await makeBackup(target, { HERMOD_DATA_DIR: server.dataDir })).folder
    await sendText(alice.api, bob.id, 'lost')
    lost = await page(server.api.admin(), before.cursor)
    lostToken = (await server.api.sessionOf(alice)).token
    await waitFor(() => receiver.events.length === 4, { what: 'the lost event', ...patience })
    await erase(carol)
    await server.stop()
  }, 60_000)
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]()
    await receiver?.[Symbol.asyncDispose]()
    place?.[Symbol.dispose]()
  })

  async function erase({ id }: Session): Promise<void> {
    const body = { app_id: server.appId, user_id: id, messages: 'delete', reason: 'wanted' }
    const { state } = await endedJob(server, '/operator/v1/user/erase', body)
    expect(state).toBe('done')
  }

  const keyFile = () => join(server.dataDir, 'secret.key')
  const restore = (from: string, to: string, ...more: string[]) =>
    callHermod(['restore', from, '--to', to, '--key-file', keyFile(), ...more])
  const folder = (name: string) => join(place.path, name)

  /** Restores and starts the service on it. */
  async function startRestored(name: string): Promise<ServerProcess> {
    const to = folder(name)
    const { code, err } = await restore(backup, to)
    if (code !== 0) throw new Error(err)
    const { adminToken, operatorToken } = server
    return startServer({
      ...{ dataDir: to, adminToken, operatorToken, env: hookSettings },
      startedAt: '/healthz',
    })
  }

  it('the service on it serves operators and reads of Admin tokens, sends nothing, and after finish serves users; events keep their IDs and new ones have other IDs', async () => {
    await using restored = await startRestored('data')
    const admin = restored.api.admin()
    const operator = restored.api.as(restored.operatorToken)
    const user = restored.api.as(alice.token)
    for (const name of ['secret.key', 'erasures.ndjson'])
      expect(statSync(join(folder('data'), name)).mode & 0o777).toBe(0o600)
    expect(readdirSync(folder('data'))).not.toContain('restoring')
    const targets = readFileSync(join(folder('data'), 'backup-targets.json'), 'utf8')
    expect(JSON.parse(targets)).toEqual([join(place.path, 'target')])
    const arrived = receiver.requests

    const refused = [
      await user.call('GET', '/user/profile'),
      await user.call('POST', '/message/send', { body: textTo([bob.id], 'too early') }),
      await admin.call('POST', '/message/send', {
        body: { ...textTo([bob.id], 'too early'), from_user_id: alice.id },
      }),
    ]
    for (const answer of refused) {
      expect([answer.status, answer.code]).toEqual([503, answerCode.unavailable])
      expect(answer.text).toContain('restore is not finished')
    }
    expect((await page(admin, '')).events.map(({ id }) => id)).toEqual(
      before.events.map(({ id }) => id),
    )
    const { data: check } = await operator.succeed('POST', '/operator/v1/check', { body: {} })
    expect(check.faults).toEqual([])
    // An operator appends events before the end of the restore.
    await operator.succeed('POST', '/operator/v1/app/update', {
      body: { app_id: restored.appId, settings: { system_name: 'Restored' } },
    })
    // Afterwards an event may come twice: the backup may be older than the record of its delivery.
    expect(receiver.requests).toBe(arrived)

    const { data: finished } = await operator.succeed<FinishedRestore>(
      'POST',
      '/operator/v1/restore/finish',
      { body: {} },
    )
    expect(finished).toMatchObject({
      ...{ restored: true, user_tokens: 2, ended_user_tokens: 0, repeated_erasures: 1 },
    })
    expect((await restored.api.as(carol.token).call('GET', '/user/profile')).code).toBe(
      answerCode.token_invalid,
    )
    expect(Number(finished.newest_msg_id)).toBe(Number(before.events.at(-1)?.data.msg_id ?? 0))
    // The backup has the job that made it, which does not begin again.
    const { data: list } = await operator.succeed('GET', '/operator/v1/job/list')
    const jobs = list.jobs as { readonly kind: string; readonly state: string }[]
    expect(jobs.find(({ kind }) => kind === 'backup_create')?.state).toBe('cancelled')
    const again = await operator.call('POST', '/operator/v1/restore/finish', { body: {} })
    expect(again.code).toBe(answerCode.not_restored)

    const id = await sendText(user, bob.id, 'after')
    expect(id).toBeGreaterThan(Number(lost.events[0]?.data.msg_id))
    await waitFor(() => receiver.events.some(({ data }) => data.content === 'after'), {
      what: 'the new event',
      ...patience,
    })
    const { events } = await page(admin, before.cursor)
    expect(events.length).toBeGreaterThan(1)
    for (const { id } of events) expect(id).toMatch(/_[A-Z]{6}_\d+(?:_\d+)?$/)
    expect(new Set(receiver.events.map(({ id }) => id)).size).toBe(5)
    const late = await admin.call('GET', '/events', { query: { after: lost.cursor } })
    expect(late.code).toBe(answerCode.event_cursor_invalid)
    expect((await restored.api.as(lostToken).call('GET', '/user/profile')).code).toBe(
      answerCode.token_invalid,
    )
  })

  it('finish without a service ends old pushes, all tokens when it is told to, and raises the IDs', async () => {
    const to = folder('finished')
    expect((await restore(backup, to)).code).toBe(0)
    await using sql = await openSql({ dataDir: to, databaseUrl: undefined })
    const task = (id: number, msgId: number, at: number, strategy: string) =>
      sql.run(`insert into push_tasks (app_id, task_id, msg_id, request_id, content, state, begins_at, expires_at, created_at, updated_at, page, page_batch_id, position, devices, finished)
        values ('test', ${id}, ${msgId}, '', '{"audience":{"kind":"all"},"strategy":"${strategy}"}', 0, ${at}, ${at + 90_000_000}, ${at}, ${at}, 1, 0, 0, 0, 0)`)
    const now = Date.now()
    await task(1, 11, now - 6 * 60_000, 'ospush_only')
    await task(2, 12, now - 60_000, 'ospush_only')
    await task(3, 0, now - 6 * 60_000, 'combined')
    await task(4, 0, now - 60_000, 'corepush_only')
    // A crash has cut a line.
    appendFileSync(join(to, 'erasures.ndjson'), '{"app_id":"te')
    const settings = { HERMOD_DATA_DIR: to }
    const status = await callHermod(['restore', 'status', '--json'], settings)
    expect(JSON.parse(status.out)).toMatchObject({ restored: true, pushes: 4 })
    const { code, out, err } = await callHermod(
      ['restore', 'finish', '--end-logins', '--json'],
      settings,
    )
    expect([code, err]).toEqual([0, ''])
    expect(JSON.parse(out)).toMatchObject({
      ...{ ended_message_pushes: 1, ended_core_pushes: 1, pushes: 2 },
      ...{ ended_user_tokens: 3, user_tokens: 0 },
      ...{ repeated_erasures: 1, unreadable_erasures: 1 },
    })
    const states = await sql.run('select task_id, state from push_tasks order by task_id')
    expect(states.map(({ state }) => state)).toEqual([3, 0, 0, 3])
    const [slots] = await sql.run('select min(reserved_until) as until from id_slots')
    expect(Number(slots?.until) + Date.UTC(2015, 0, 1)).toBeGreaterThan(now + 60_000)
    await using restored = await startServer({ dataDir: to, env: hookSettings })
    const ended = await restored.api.as(alice.token).call('GET', '/user/profile')
    expect(ended.code).toBe(answerCode.token_expired)
  })

  /** A copy of the target, and what is wrong with it. */
  function spoilt(name: string, spoil: (backup: string) => void): string {
    const target = folder(`target ${name}`)
    cpSync(join(place.path, 'target'), target, { recursive: true })
    const copy = join(target, backup.split('/').at(-1) as string)
    spoil(copy)
    return copy
  }
  const changed = (name: string, changes: object) =>
    spoilt(name, (copy) => {
      const manifest = parseManifest(readFileSync(join(copy, 'manifest.json'), 'utf8'))
      writeManifest(copy, JSON.stringify({ ...manifest, ...changes }))
    })

  const withList = (name: string, change: (text: string) => string) =>
    spoilt(name, (copy) => {
      const path = join(copy, 'files.ndjson')
      writeFileSync(path, change(readFileSync(path, 'utf8')))
      const manifest = parseManifest(readFileSync(join(copy, 'manifest.json'), 'utf8'))
      writeManifest(copy, JSON.stringify({ ...manifest, parts: partsOf(copy) }))
    })

  it('says what is wrong with a backup and what to do, and leaves nothing', async () => {
    const { files } = parseManifest(readFileSync(join(backup, 'manifest.json'), 'utf8'))
    const cases: [string, string, RegExp][] = [
      [
        'incomplete',
        spoilt('incomplete', (copy) => rmSync(join(copy, 'COMPLETE'))),
        /is no complete backup.*take another/,
      ],
      ['a target', join(place.path, 'target'), /is a folder of backups; name one/],
      ['missing', folder('nothing'), /there is no backup/],
      [
        'newer',
        changed('newer', { version: '9.9.9', schema: { number: 99, name: '099-x' } }),
        /made by Hermod 9\.9\.9.*restore it with that version/,
      ],
      [
        'postgres',
        changed('postgres', { engine: 'postgres' }),
        /PostgreSQL and no database; restore the database with/,
      ],
      [
        'other key',
        changed('other key', { secret_key_fingerprint: 'AAAAAAAA' }),
        /another installation, and .* needs the key AAAAAAAA; name the secret\.key/,
      ],
      [
        'no space',
        changed('no space', { files: { ...files, bytes: 2 ** 50 } }),
        /has \d+ free bytes, and the backup needs \d+; make room/,
      ],
      [
        'bad line',
        withList('bad line', (text) => `{"key":"../x","size":1}\n${text}`),
        /line 1 of .*files\.ndjson has a bad field key/,
      ],
      ['no JSON', withList('no JSON', (text) => `null\n${text}`), /files\.ndjson is no object/],
      ...['COMPLETE', 'files.ndjson', 'VERIFIED', '../files.ndjson'].map(
        (name): [string, string, RegExp] => [
          `FIFO ${name}`,
          spoilt(`FIFO ${name.replace('/', ' ')}`, (copy) => {
            rmSync(join(copy, name), { force: true })
            execFileSync('mkfifo', [join(copy, name)])
          }),
          /is no regular file/,
        ],
      ),
      [
        'lost file',
        spoilt('lost file', (copy) => rmSync(join(copy, '../files'), { recursive: true })),
        /files\/.* is missing .*restore another one/,
      ],
    ]
    for (const [name, from, expected] of cases) {
      const { code, err } = await restore(from, folder('refused'))
      expect([name, code, err]).toEqual([name, 1, expect.stringMatching(expected)])
      expect(existsSync(folder('refused'))).toBe(false)
    }
    const withoutKey = await callHermod(['restore', backup, '--to', folder('refused')])
    expect(withoutKey.err).toMatch(/there is no secret key .*; name the secret\.key/)
    mkdirSync(folder('used'))
    writeFileSync(join(folder('used'), 'notes.txt'), '')
    const { err } = await restore(backup, folder('used'))
    expect(err).toMatch(/is not empty: it has notes\.txt; name a folder that does not exist/)
    expect(readdirSync(folder('used'))).toEqual(['notes.txt'])
  })

  it('finds every flipped byte', async () => {
    const target = join(place.path, 'target')
    const paths = [
      ...filesOf(backup),
      ...filesOf(join(target, 'files')),
      join(target, 'files.ndjson'),
    ]
      // Verifications write it.
      .filter((path) => !path.endsWith('VERIFIED'))
    for (let count = 0; count < flippedBytes; count++) {
      const path = paths[count % paths.length] as string
      const bytes = readFileSync(path)
      if (bytes.length === 0) continue
      const at = random.integer(0, bytes.length - 1)
      const bit = 1 << random.integer(0, 7)
      const flipped = Buffer.from(bytes)
      flipped[at] = (flipped[at] as number) ^ bit
      writeFileSync(path, flipped)
      const { code, err } = await restore(backup, folder('flipped'))
      writeFileSync(path, bytes)
      expect([path, at, bit, code, err]).toEqual([
        ...[path, at, bit, 1],
        expect.stringContaining('is damaged'),
      ])
      expect(existsSync(folder('flipped'))).toBe(false)
    }
  })

  it('a killed one leaves no folder that a service opens half-written, and the next one succeeds', {
    timeout: 60_000 + kills * 20_000,
  }, async () => {
    // Files that take a while.
    const many = spoilt('many', (copy) => {
      const added = Array.from({ length: 300 }, (_, index) => `zz/${index}`)
      mkdirSync(join(copy, '../files/zz'))
      for (const key of added) writeFileSync(join(copy, '../files', key), key)
      const lines = added.map((key) => {
        const sha256 = createHash('sha256').update(key).digest('hex')
        return `${JSON.stringify({ key, size: key.length, sha256 })}\n`
      })
      for (const list of ['files.ndjson', '../files.ndjson'])
        appendFileSync(join(copy, list), lines.join(''))
      const manifest = parseManifest(readFileSync(join(copy, 'manifest.json'), 'utf8'))
      const files = {
        ...manifest.files,
        count: manifest.files.count + added.length,
        bytes: manifest.files.bytes + added.join('').length,
      }
      writeManifest(copy, JSON.stringify({ ...manifest, files, parts: partsOf(copy) }))
    })
    const startedAt = performance.now()
    expect((await restore(many, folder('whole'))).code).toBe(0)
    const tookMs = Math.round(performance.now() - startedAt)
    let interrupted = 0
    for (let count = 0; count < kills; count++) {
      const to = folder(`killed ${count}`)
      const args = [hermodScript, 'restore', many, '--to', to, '--key-file', keyFile()]
      const child = spawn(process.execPath, args, { env: hermodEnvironment({}), stdio: 'ignore' })
      const exited = once(child, 'exit')
      await waitFor(() => existsSync(join(to, 'restoring')) || child.exitCode !== null, {
        what: 'a restore in progress',
        everyMs: 1,
        ...patience,
      })
      await sleep(random.integer(0, tookMs))
      child.kill('SIGKILL')
      await exited
      if (existsSync(join(to, 'restoring'))) {
        interrupted++
        const { code, err } = await callHermod(['check'], { HERMOD_DATA_DIR: to })
        expect([code, err]).toEqual([1, expect.stringContaining('has an unfinished restore')])
        expect((await restore(many, to)).code).toBe(0)
      }
      const { code, out } = await callHermod(['check'], { HERMOD_DATA_DIR: to })
      expect([code, out]).toEqual([0, expect.stringContaining('all agree')])
      expect(filesOf(join(to, 'files')).length).toBe(301)
      rmSync(to, { recursive: true })
    }
    if (kills > 1) console.log(`${interrupted} of ${kills} restores were killed before their end`)
  })
})
