/** Portable exports: `hermod export`, their import beside other applications, and its undo. */
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  isFullRun,
  parallelBackend,
  type ServerProcess,
  startServer,
  testBackends,
} from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pino } from 'pino'
import { loadConfig } from '../../dist/config/config.js'
import { checkImport, importData, undoImportData } from '../../dist/context/database/import-data.js'
import { Database } from '../../dist/db/database.js'
import { sql } from '../../dist/db/kysely.js'
import { lineTypes } from '../../dist/transfer/lines.js'
import { openDialect } from '../support/database/database-place.js'
import { blobsIn, fetchAs, fileTypes, png, sendFile, upload } from '../support/files/files.js'
import { callHermod } from '../support/hermod-command.js'
import { integrityFaults, sendText } from '../support/messaging/messaging.js'
import { direct, SyncClient } from '../support/messaging/sync-client.js'
import { changePart, rewriteManifest } from '../support/transfer/changed-exports.js'
import {
  digestOf,
  Installation,
  portableDigest,
  secretKey,
  succeed,
} from '../support/transfer/installations.js'

const publicUrl = 'https://chat.example.org'
const env = { HERMOD_SECRET_KEY: secretKey }

function exported(source: Installation, ...more: readonly string[]): Promise<unknown> {
  return succeed(source.hermod('export', '--to', source.exportFolder, '--json', ...more))
}

function optionsOf({ dataDir, databaseUrl }: Installation) {
  const place = { HERMOD_DATA_DIR: dataDir, HERMOD_SECRET_KEY: secretKey }
  const database = databaseUrl === undefined ? {} : { HERMOD_DATABASE_URL: databaseUrl }
  return { ...loadConfig({ ...place, ...database }), log: pino({ level: 'silent' }) }
}

/** An installation with rows in every table, and an export of all its applications. */
let filled: Installation
beforeAll(async () => {
  filled = await Installation.filled()
  await exported(filled)
})
afterAll(() => filled[Symbol.asyncDispose]())

// The way back is into the embedded database, so the short run exports and imports both.
describe.each(parallelBackend())('a portable export, imported into $name', (backend) => {
  it('and back has equal digests, and nothing of tables with credentials', async () => {
    await using there = await Installation.create(backend)
    await using back = Installation.embedded()
    const digest = await portableDigest(filled)
    expect(Object.keys(digest)).toEqual(lineTypes.portable.map(({ name }) => name))
    await succeed(there.hermod('import', filled.exportFolder, '--json'))
    expect(await portableDigest(there)).toEqual(digest)
    there.makeFolder()
    await exported(there, '--app', 'app1')
    await succeed(back.hermod('import', there.exportFolder, '--json'))
    expect(await portableDigest(back)).toEqual(await portableDigest(filled, '--app', 'app1'))
    const all = await digestOf((...args) => back.hermod(...args))
    const moved = ['apps', 'histories', 'database_identity']
    const portable = lineTypes.portable.map(({ name }) => name as string)
    expect(
      Object.keys(all).filter((name) => !portable.includes(name) && !moved.includes(name)),
    ).toEqual([])
  })
})

// Rows are equal on both databases, so one direction shows what clients see of them.
describe.each(parallelBackend())('a portable export, imported into $name', (backend) => {
  it('beside another application keeps IDs, opens its files, and leaves the other alone', async () => {
    const from = testBackends().find(({ name }) => name !== backend.name) ?? backend
    await using source = await Installation.create(from)
    await using there = await Installation.create(backend)
    const sourceDatabase =
      source.databaseUrl === undefined ? {} : { databaseUrl: source.databaseUrl }
    const database = there.databaseUrl === undefined ? {} : { databaseUrl: there.databaseUrl }
    const server = await startServer({
      ...{ ...sourceDatabase, dataDir: source.dataDir, appId: 'shop' },
      env: { ...env, HERMOD_SECRET_KEY: 'o'.repeat(40) },
    })
    const [alice, bob] = [await server.api.newSession(), await server.api.newSession()]
    const ticket = { to_id: bob.id, to_type: 1, file_type: fileTypes.picture }
    const address = await sendFile(alice.api, ticket, png)
    const forged = address.replace(/.{8}$/, 'AAAAAAAA')
    await sendText(alice.api, bob.id, 'a picture', { attachment: JSON.stringify({ url: address }) })
    await sendText(alice.api, bob.id, 'hermod:base and hermod:link:x', { ext: forged })
    const { data: avatar } = await alice.api.succeed('GET', '/file/upload/avatar/user')
    await upload(alice.api, avatar, png)
    await alice.api.succeed('POST', '/user/avatar', { body: { avatar: avatar.download_url } })
    const events = { query: { consumer: 'backend' } }
    const { data: log } = await server.api.admin().succeed('GET', '/events', events)
    await server.stop()
    source.secretKey = 'o'.repeat(40)
    const digest = await digestOf((...args) => source.hermod(...args, '--app', 'shop'))
    await exported(source, '--app', 'shop')

    const old = await startServer({ ...database, dataDir: there.dataDir, env })
    const [carol, dave] = [await old.api.newSession(), await old.api.newSession()]
    await sendText(carol.api, dave.id, 'in the other application')
    const busy = await there.hermod('import', source.exportFolder)
    expect(busy.err).toMatch(/is in use by process|use the database; stop them|HERMOD_PUBLIC_URL/)
    await old.stop()
    expect((await there.hermod('import', source.exportFolder)).err).toContain('HERMOD_PUBLIC_URL')
    there.publicUrl = publicUrl
    const before = await digestOf((...args) => there.hermod(...args, '--app', old.appId))
    const imported = await there.hermod('import', source.exportFolder)
    expect([imported.code, imported.err]).toEqual([0, ''])
    expect(imported.out).toContain('hermod token create --app shop')
    expect(await digestOf((...args) => there.hermod(...args, '--app', 'shop'))).toEqual(digest)
    expect(await digestOf((...args) => there.hermod(...args, '--app', old.appId))).toEqual(before)
    const again = await there.hermod('import', source.exportFolder)
    expect(again.err).toContain('rows of applications of the export already: shop (in apps)')

    const { operatorToken } = old
    await using moved = await startServer({
      ...{ ...database, dataDir: there.dataDir, appId: 'shop', adminToken: server.adminToken },
      ...{ operatorToken, env: { ...env, HERMOD_PUBLIC_URL: publicUrl } },
    })
    const tokenOf = async (id: number) =>
      (await moved.api.admin().succeed('POST', '/token/issue', { body: { user_id: id } })).data
        .token
    const [aliceThere, bobThere] = [await tokenOf(alice.id), await tokenOf(bob.id)]
    await expectRefused(moved, alice.token)
    const client = new SyncClient(moved.api.as(bobThere))
    await client.syncToEnd({ list: true })
    await sendText(moved.api.as(aliceThere), bob.id, 'after the move')
    await client.sync()
    const held = [...(client.held(direct(alice.id, bob.id))?.messages.values() ?? [])].sort(
      (a, b) => Number(a.seq) - Number(b.seq),
    )
    expect(held.map(({ seq, content }) => [seq, content])).toEqual([
      [1, 'a picture'],
      [2, 'hermod:base and hermod:link:x'],
      [3, 'after the move'],
    ])
    const [first, second] = held.map((each) => each as unknown as Record<string, string>)
    const url: string = JSON.parse(String(first?.attachment)).url
    expect(url.startsWith(`${publicUrl}/`)).toBe(true)
    expect(second?.ext).toBe(forged)
    const open = (token: string | null, each: string) =>
      fetchAs(moved.api, token, each.replace(publicUrl, moved.url).replace(server.url, moved.url))
    expect(await open(bobThere, url)).toEqual(png)
    expect(await open(bobThere, address)).not.toEqual(png)
    expect(await open(null, url)).not.toEqual(png)
    const { data: profile } = await moved.api.as(aliceThere).succeed('GET', '/user/profile')
    expect(profile.avatar.startsWith(`${publicUrl}/`)).toBe(true)
    expect(await open(bobThere, profile.avatar)).toEqual(png)
    // The event has an ID that the old installation never gives.
    const { data } = await moved.api
      .admin()
      .succeed('GET', '/events', { query: { after: log.cursor } })
    expect(JSON.stringify(data)).toContain('after the move')
    expect(JSON.stringify(data)).toMatch(/evt_shop_[A-Z]{6}_\d/)
    const other = { appId: old.appId, token: carol.token }
    expect(await moved.api.call('GET', '/user/profile', other)).toMatchObject({ code: 200 })
    expect(await integrityFaults(moved)).toEqual([])
  })
})

async function expectRefused(server: ServerProcess, token: string): Promise<void> {
  const { code } = await server.api.as(token).call('GET', '/user/profile')
  expect(code).not.toBe(200)
}

describe('portable exports', () => {
  let sound: string
  /** An installation that has its tables and no rows. */
  let empty: Installation

  beforeAll(async () => {
    empty = await Installation.withoutRows()
    sound = `${filled.exportFolder}-of-two`
    await exported(filled, '--app', 'app0', '--app', 'app1', '--to', sound)
  })
  afterAll(() => empty?.[Symbol.asyncDispose]())

  /** A copy of the export, changed by an attacker, in a place for an installation. */
  async function changed(change: (folder: string) => void): Promise<Installation> {
    const there = Installation.embedded()
    cpSync(sound, there.exportFolder, { recursive: true })
    change(there.exportFolder)
    rewriteManifest(there.exportFolder)
    return there
  }

  const check = (there: Installation) =>
    checkImport(optionsOf(there), { from: there.exportFolder }, {})
  const failure = (there: Installation) =>
    importData(optionsOf(there), { from: there.exportFolder }, {}).then(
      () => 'no failure',
      (error: Error) => error.message,
    )
  const failureInEmpty = (there: Installation) => {
    cpSync(empty.dataDir, there.dataDir, { recursive: true })
    return failure(there)
  }

  it('name the applications, and need the secret key only for addresses of files', async () => {
    const none = `${filled.exportFolder}-none`
    const unknown = await filled.hermod('export', '--to', none, '--app', 'nope')
    expect(unknown.err).toContain('there is no application nope')
    expect(existsSync(none)).toBe(false)
    await using source = await Installation.filled()
    const withoutKey = { ...source.settings, HERMOD_SECRET_KEY: undefined }
    const args = ['export', '--to', source.exportFolder, '--json']
    await succeed(callHermod(args, withoutKey))
    expect(existsSync(join(source.dataDir, 'secret.key'))).toBe(false)
    {
      await using database = new Database(openDialect(source))
      const values = ['app0', '7d0c5tzmv4fhq2n8r1xk3apwbe', 1, 2, 3, 4, 5]
      const link = `${Buffer.from(JSON.stringify(values)).toString('base64url')}${'A'.repeat(43)}`
      await database.transaction((tx) =>
        tx
          .updateTable('users')
          .set({ avatar: `https://x/?sign=${link}` })
          .where('app_id', '=', 'app0')
          .execute(),
      )
    }
    const to = `${source.exportFolder}-2`
    const { err } = await callHermod(['export', '--to', to], withoutKey)
    expect(err).toContain('the texts of app0 may have addresses of files')
  })

  /** A check reads the lines with the rules of an import, so the short run needs some rows of it. */
  const isChecked = (type: string) =>
    isFullRun || ['outbox_heads', 'operator_tokens'].includes(type)

  it.each<[string, string, string | RegExp, string, string]>([
    [
      'an application of another export',
      'users',
      '"app1"',
      '"app2"',
      'has the app_id app2, which the export does not name',
    ],
    [
      'settings that no operation accepts',
      'apps',
      '\\"recall_seconds\\":7',
      '\\"recall_seconds\\":-7',
      'has a field that no operation accepts: settings.recall_seconds',
    ],
    ['an unknown setting', 'apps', 'recall_seconds', 'recall_hours', 'recall_hours'],
    [
      'settings that are not JSON',
      'apps',
      '{\\"recall',
      '\\"recall',
      'has settings that are not JSON',
    ],
    ['another status', 'apps', '"status":0', '"status":7', 'status'],
    [
      'a time zone that does not exist',
      'apps',
      '\\"recall_seconds\\":7',
      '\\"time_zone\\":\\"Mars/Base\\"',
      'time_zone',
    ],
    [
      'a position that no service reaches',
      'outbox_heads',
      '"position":"5"',
      '"position":"9007199254740993"',
      'has 9007199254740993 in position',
    ],
    [
      'an ID of the future, after which all others would follow',
      'conversations',
      /"last_msg_id":"\d+"/,
      '"last_msg_id":"4503599627370496"',
      'has 4503599627370496 in last_msg_id',
    ],
    [
      'a number at the end of 64 bits',
      'conversations',
      /"seq":"\d+"/,
      '"seq":"9223372036854775807"',
      'has 9223372036854775807 in seq',
    ],
    [
      'a link of another application',
      'users',
      '"avatar":"',
      '"avatar":"hermod:link:WyJ4Il0',
      'has a text with hermod: that is no address of a file of app0',
    ],
    [
      'a file ID with a separator',
      'files',
      '"file_id":"7d',
      '"file_id":"7/',
      'has a file_id of another form',
    ],
    [
      'a header in a content type',
      'files',
      '"image/png"',
      '"image/png\\r\\nx: y"',
      'has the content_type',
    ],
    ['U+0000', 'users', '"nick_name":"', '"nick_name":"\\u0000', 'has U+0000 in nick_name'],
    ['a text as a number', 'users', '"is_bot":', '"is_bot":"1","x":', 'has no smallint in is_bot'],
    ['a row without its key', 'users', /"user_id":"[-\d]+",/, '', 'has no user_id'],
    [
      'a token of operators',
      'operator_tokens',
      '',
      '{}',
      'the export has lines/operator_tokens.ndjson, which no portable export has',
    ],
  ])('with %s are refused, by a check too', async (_, type, from, to, text) => {
    await using there = await changed((folder) => {
      const name = `lines/${type}.ndjson`
      if (from !== '') return changePart(folder, name, from, to)
      writeFileSync(join(folder, name), `${to}\n`)
      rewriteManifest(folder, (manifest) => ({
        ...manifest,
        parts: [...manifest.parts, { name, size: 0, sha256: 'a'.repeat(64) }],
      }))
    })
    if (isChecked(type)) {
      const found = await check(there).catch((error: Error) => error.message)
      expect(JSON.stringify(found)).toContain(text)
      expect(existsSync(there.dataDir)).toBe(false)
    }
    expect(await failureInEmpty(there)).toContain(text)
  })

  it('have the applications whose IDs are names of properties of every object', async () => {
    await using source = await Installation.filled()
    {
      await using database = new Database(openDialect(source))
      for (const appId of ['constructor', '__proto__'])
        await database.transaction((tx) =>
          sql`insert into apps (app_id, name, status, open_registration, registration_secret, file_link_key, settings, created_at)
            select ${appId}, name, 0, 0, 'sealed', file_link_key, settings, 0 from apps where app_id = 'app0'`.execute(
            tx,
          ),
        )
    }
    await exported(source)
    const { apps } = JSON.parse(readFileSync(join(source.exportFolder, 'manifest.json'), 'utf8'))
    expect(Object.entries(apps)).toContainEqual(['constructor', { registration_secret: 1 }])
    expect(Object.entries(apps)).toContainEqual(['__proto__', { registration_secret: 1 }])
    await using there = Installation.embedded()
    const { out } = await there.hermod('import', source.exportFolder)
    expect(out).toContain('constructor: users have no password')
  })

  it('cannot name the files of another application, which an undo would remove', async () => {
    await using there = await changed((folder) =>
      rewriteManifest(folder, (each) => ({ ...each, apps: { ...each.apps, 'app2/7d': {} } })),
    )
    expect(await failure(there)).toContain(
      'manifest.json of the export has the application app2/7d',
    )
    expect(existsSync(there.dataDir)).toBe(false)
  })

  it('with a file of another application, IDs of the future or two equal rows are refused', async () => {
    const file = {
      key: 'app-app2/7d/7d0c5tzmv4fhq2n8r1xk3apw20.ab0cd020',
      size: 1,
      content_type: '',
    }
    await using foreign = await changed((folder) => {
      writeFileSync(
        join(folder, 'files.ndjson'),
        `${JSON.stringify({ ...file, sha256: 'a'.repeat(64) })}\n`,
      )
    })
    expect(await failureInEmpty(foreign)).toContain('which is of no application of it')
    await using future = await changed((folder) =>
      rewriteManifest(folder, (each) => ({ ...each, ids_reserved_until: 2 ** 50 })),
    )
    expect(await failureInEmpty(future)).toContain('which is after the time of this machine')
    await using doubled = await changed((folder) => {
      const path = join(folder, 'lines/contacts.ndjson')
      writeFileSync(path, readFileSync(path, 'utf8').replace(/^.*\n/, '$&$&'))
    })
    expect(await failureInEmpty(doubled)).toMatch(
      /one of the lines 1 to 3 of lines\/contacts.ndjson cannot be written/,
    )
    await using nameless = await changed((folder) =>
      rewriteManifest(folder, (each) => ({ ...each, apps: { ...each.apps, ghost: {} } })),
    )
    expect(await failureInEmpty(nameless)).toContain(
      'names the application ghost and has no row of it',
    )
  })
})

describe.each(testBackends())('an unfinished import on $name', (backend) => {
  it('blocks the start, and an undo leaves the other applications as they were', async () => {
    await using there = await Installation.create(backend)
    const [other, folder] = [`${there.exportFolder}-2`, there.exportFolder]
    await exported(filled, '--app', 'app0', '--to', other)
    await exported(filled, '--app', 'app1', '--to', folder)
    await succeed(there.hermod('import', other, '--json'))
    const before = await digestOf((...args) => there.hermod(...args))
    changePart(folder, 'lines/file_withdrawals.ndjson', '"app_id"', '"app"')
    rewriteManifest(folder)
    expect((await there.hermod('import', folder)).err).toContain('line 1 of lines/file_withdrawals')
    expect((await there.hermod('nodes')).err).toContain('hermod import --undo')
    expect((await there.hermod('import', folder, '--undo')).err).toContain('--undo has no folder')
    const stop = new AbortController()
    const stopped = undoImportData(optionsOf(there), {
      signal: stop.signal,
      progress: ({ done }) => done && stop.abort(new Error('stopped')),
    })
    await expect(stopped).rejects.toThrow('stopped')
    expect((await there.hermod('nodes')).err).toContain('hermod import --undo')
    expect((await there.hermod('import', folder)).err).toContain('is being undone')
    expect(await succeed(there.hermod('import', '--undo', '--json'))).toEqual({ apps: ['app1'] })
    expect(await digestOf((...args) => there.hermod(...args))).toEqual(before)
    expect((await there.hermod('import', '--undo')).err).toContain('no unfinished import')
    expect(blobsIn(there.dataDir)).toEqual([])
  })
})
