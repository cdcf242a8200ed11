/** `hermod export --move`, `hermod import` and `hermod digest`, on and between both databases. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  isFullRun,
  memoryDisk,
  parallelBackend,
  PostgresCluster,
  startServer,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { Database } from '../../dist/db/database.js'
import { migrate } from '../../dist/db/migrations/migrate.js'
import { lineTypes } from '../../dist/transfer/lines.js'
import { openDialect } from '../support/database/database-place.js'
import { fetchAs, fileTypes, png, sendFile } from '../support/files/files.js'
import { callHermod } from '../support/hermod-command.js'
import { integrityCast } from '../support/integrity/cast.js'
import { integrityFaults, sendText } from '../support/messaging/messaging.js'
import { direct, SyncClient, syncPage } from '../support/messaging/sync-client.js'
import {
  digestOf,
  exportMove,
  Installation,
  secretKey,
  succeed,
} from '../support/transfer/installations.js'
import { WatchedServer } from '../support/watched-server.js'

// The way back is into the embedded database, so the short run exports and imports both.
describe.each(parallelBackend())('a move to $name', (backend) => {
  it('and back keeps every row of every table: the digests are equal', async () => {
    await using source = await Installation.filled()
    await using there = await Installation.create(backend)
    await using back = Installation.embedded()
    const digest = await digestOf((...args) => source.hermod(...args))
    expect(Object.keys(digest).sort()).toEqual(lineTypes.move.map(({ name }) => name).sort())
    await exportMove(source)
    await succeed(there.hermod('import', source.exportFolder, '--json'))
    expect(await digestOf((...args) => there.hermod(...args))).toEqual(digest)
    there.makeFolder()
    await exportMove(there)
    await succeed(back.hermod('import', there.exportFolder, '--json'))
    expect(await digestOf((...args) => back.hermod(...args))).toEqual(digest)
    const [lines, again] = [source, there].map(({ exportFolder }) =>
      lineTypes.move
        .map(({ name }) => readFileSync(join(exportFolder, 'lines', `${name}.ndjson`), 'utf8'))
        .map((text) => text.split('\n').sort()),
    )
    expect(again).toEqual(lines)
  })
})

// Rows are equal on both databases, so one direction shows what clients see of them.
describe.each(parallelBackend())('a move to $name', (backend) => {
  it('keeps tokens, files and positions: clients continue, and the check finds no fault', async () => {
    const from = testBackends().find(({ name }) => name !== backend.name) ?? backend
    const env = { HERMOD_SECRET_KEY: secretKey, HERMOD_OUTBOUND_ALLOW: '127.0.0.1,::1' }
    await using watched = await WatchedServer.start(from, { env })
    const { server } = watched
    const [alice, bob] = [await server.api.newSession(), await server.api.newSession()]
    await integrityCast(server)
    const ticket = { to_id: bob.id, to_type: 1, file_type: fileTypes.picture }
    const address = await sendFile(alice.api, ticket, png)
    await sendText(alice.api, bob.id, 'a picture', { attachment: JSON.stringify({ url: address }) })
    const client = new SyncClient(alice.api)
    await client.syncToEnd({ list: true })
    const events = { query: { consumer: 'backend' } }
    await server.api.admin().succeed('GET', '/events', events)
    await sendText(bob.api, alice.id, 'before the move')
    await allHandled(watched)
    const args = ['export', '--move', '--to', join(watched.server.dataDir, 'export'), '--json']
    const running = await callHermod(args, { ...watched.settings, ...env })
    expect(running.err).toMatch(/is in use by process|uses? the database; stop them/)
    const digest = await digestOf((...args) => callHermod(args, watched.settings))

    // Nothing of users changes in maintenance, so the service may run on.
    await succeed(callHermod(['maintenance', 'on', '--json'], watched.settings))
    await using there = await Installation.create(backend)
    const settings = { ...watched.settings, ...env }
    expect(await callHermod(args, settings)).toMatchObject({
      code: 1,
      err: expect.stringContaining('events for the reader backend of test (1)'),
    })
    const report = await succeed(callHermod([...args, '--drop-undelivered'], settings))
    expect(report).toMatchObject({
      dropped: [{ what: 'events for the reader backend of test', count: 1 }],
      files: { store: 'folder', count: 1, bytes: png.length, missing: 0 },
    })
    await server.stop()
    await succeed(there.hermod('import', String(args[3]), '--json'))
    expect(await digestOf((...command) => there.hermod(...command))).toEqual(digest)

    const { appId, adminToken, operatorToken } = server
    await using moved = await startServer({
      ...{ appId, adminToken, operatorToken, env, dataDir: there.dataDir },
      ...(there.databaseUrl === undefined ? {} : { databaseUrl: there.databaseUrl }),
    })
    const aliceThere = moved.api.as(alice.token)
    const page = await syncPage(aliceThere, { after: client.pos })
    expect(page.reset ?? false).toBe(false)
    const clientThere = new SyncClient(aliceThere)
    clientThere.pos = client.pos
    for (const [name, log] of client.logs) clientThere.logs.set(name, log)
    await clientThere.sync()
    await sendText(moved.api.as(bob.token), alice.id, 'after the move')
    await clientThere.sync()
    const held = clientThere.held(direct(alice.id, bob.id))
    const messages = [...(held?.messages.values() ?? [])].map(({ seq, content }) => [seq, content])
    expect(messages).toEqual([
      [1, 'a picture'],
      [2, 'before the move'],
      [3, 'after the move'],
    ])
    const moveUrl = address.replace(server.url, moved.url)
    expect(await fetchAs(moved.api, bob.token, moveUrl)).toEqual(png)
    const { data } = await moved.api.admin().succeed('GET', '/events', events)
    expect(data.events).toMatchObject([{ data: { content: 'after the move' } }])
    expect(await integrityFaults(moved)).toEqual([])
  })
})

describe.each(testBackends())('an export from $name', (backend) => {
  it('is refused while the data of a deleted user is not removed, and leaves out only jobs that change no data', async () => {
    await using source = await Installation.create(backend)
    source.makeFolder()
    await using database = new Database(openDialect(source))
    await migrate(database)
    const job = { app_id: 'app', payload: '{}', run_at: 0, created_at: 0, updated_at: 0 }
    const longJob = { params: '{}', state: 'running', created_at: 0 }
    await database.transaction(async (tx) => {
      const jobs = ['push.send', 'text_erasure', 'reaction_removal', 'long_job', 'long_job']
      for (const [at, kind] of jobs.entries())
        await tx
          .insertInto('jobs')
          .values({ ...job, job_id: at, kind })
          .execute()
      for (const [at, kind] of ['user_erase', 'backup_create'].entries())
        await tx
          .insertInto('long_jobs')
          .values({ ...longJob, job_id: at, slot: at, kind })
          .execute()
    })
    const args = ['export', '--move', '--to', source.exportFolder, '--drop-undelivered', '--json']
    const refused = await source.hermod(...args)
    expect([refused.code, refused.err]).toEqual([
      1,
      expect.stringContaining('not done (reaction_removal, text_erasure, user_erase)'),
    ])
    expect(existsSync(source.exportFolder)).toBe(false)
    await database.transaction(async (tx) => {
      const removals = ['text_erasure', 'reaction_removal']
      await tx.updateTable('jobs').set({ outcome: 'done' }).where('kind', 'in', removals).execute()
      await tx
        .updateTable('long_jobs')
        .set({ state: 'done' })
        .where('kind', '=', 'user_erase')
        .execute()
    })
    expect(await succeed(source.hermod(...args))).toMatchObject({
      dropped: [
        { what: 'jobs of the kind backup_create', count: 1 },
        { what: 'jobs of the kind push.send', count: 1 },
      ],
    })
  })
})

describe('an export of a backup', () => {
  it('becomes data that is restored, which waits for hermod restore finish', async () => {
    await using source = await Installation.withMessages(1)
    await using there = Installation.embedded()
    const target = join(source.dataDir, '..', 'backups')
    const made = await source.hermod('backup', 'create', '--to', target)
    expect([made.code, made.err]).toEqual([0, expect.any(String)])
    const [name] = readdirSync(target).filter((each) => existsSync(join(target, each, 'COMPLETE')))
    const settings = {
      HERMOD_SECRET_KEY: secretKey,
      HERMOD_DATA_DIR: join(target, String(name)),
      HERMOD_FILES_DIR: join(target, 'files'),
    }
    const to = there.exportFolder
    const before = readdirSync(settings.HERMOD_DATA_DIR)
    await succeed(
      callHermod(['export', '--move', '--drop-undelivered', '--to', to, '--json'], settings),
    )
    expect(readdirSync(settings.HERMOD_DATA_DIR)).toEqual(before)
    expect(await succeed(there.hermod('import', to, '--json'))).toMatchObject({ restored: true })
    expect((await there.hermod('maintenance')).out).toContain('hermod restore finish')
  })
})

if (isFullRun && testBackends().some(({ name }) => name === 'postgres'))
  it('an export reads a standby while nodes run on its primary', async () => {
    await using primary = await PostgresCluster.start({
      folder: memoryDisk(),
      settings: { fsync: 'off', full_page_writes: 'off' },
    })
    const database = await primary.createDatabase()
    const env = { HERMOD_SECRET_KEY: secretKey }
    await using node = await startServer({ databaseUrl: database.url, env })
    const [alice, bob] = [await node.api.newSession(), await node.api.newSession()]
    await sendText(alice.api, bob.id, 'hello')
    await using standby = await primary.startStandby()
    await primary.waitForStandby(standby)
    await using there = Installation.embedded()
    const settings = {
      ...{ ...env, HERMOD_DATA_DIR: node.dataDir },
      HERMOD_DATABASE_URL: standby.urlOf(new URL(database.url).pathname.slice(1)),
    }
    const args = ['export', '--move', '--drop-undelivered', '--to', there.exportFolder, '--json']
    await succeed(callHermod(args, settings))
    await succeed(there.hermod('import', there.exportFolder, '--json'))
    expect((await digestOf((...each) => there.hermod(...each))).messages?.count).toBe(1)
    // The primary has gone on.
    expect((await there.hermod('maintenance')).out).toContain('hermod restore finish')
  })

/** Waits until no consumer and no job has work left. */
async function allHandled({ sql }: WatchedServer): Promise<void> {
  const isHandled = async () => {
    const jobs = await sql.run("select 1 from jobs where outcome = ''")
    const behind = await sql.run(`select 1 from outbox_positions p
      join outbox_heads h on h.app_id = p.app_id where h.position > p.position`)
    return jobs.length + behind.length === 0
  }
  await waitFor(isHandled, { what: 'the end of the work of consumers', timeoutMs: 20_000 })
}
