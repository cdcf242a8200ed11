/** How long addresses of files work: over every change of keys, until the operator ends them. */
import { randomBytes } from 'node:crypto'
import type { UploadTicket } from '@hermod/protocol'
import {
  type Api,
  anyBackend,
  isFullRun,
  type Json,
  type LoginSession,
  type ServerProcess,
  startServer,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { fileSignature } from '../../dist/domain/files/credentials/file-credentials.js'
import { type FileLink, linkText } from '../../dist/domain/files/links/file-links.js'
import { keyId } from '../../dist/lib/secrets/secret-keys.js'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { fileLinkKeyOf, plantFileLinkKey } from '../support/files/file-links.js'
import {
  fetchAs,
  fileIdOf,
  pathOf,
  png,
  sendFile,
  signOf,
  ticketFor,
  upload,
} from '../support/files/files.js'
import { aGroup } from '../support/groups/groups.js'
import { callHermod } from '../support/hermod-command.js'
import { WatchedServer } from '../support/watched-server.js'

const { file_signature_invalid, upload_ticket_invalid, token_invalid } = answerCode
const newKey = () => randomBytes(32).toString('hex')
const nodePatience = { what: 'the end of the old addresses', timeoutMs: 10_000 }

/** What one user has sent to another, and what both hold, at one moment. */
interface Moment {
  readonly chat: string
  readonly forwarded: string
  readonly inGroup: string
  readonly avatar: string
  readonly ticket: UploadTicket
  readonly session: LoginSession
}

describe.each(anyBackend())('addresses of files on $name', (backend) => {
  let watched: WatchedServer
  /** The server of the tests without settings. */
  let shared: WatchedServer | undefined
  let alice: LoginSession
  let bob: LoginSession
  let group: number

  async function start(env?: Readonly<Record<string, string>>): Promise<void> {
    if (env) watched = await WatchedServer.start(backend, { env })
    else {
      shared ??= await WatchedServer.start(backend)
      watched = shared
    }
    alice = await watched.api.newLogin()
    bob = await watched.api.newLogin()
    group = await aGroup(alice, { members: [bob] })
  }

  afterEach(async () => {
    if (watched !== shared) await watched?.[Symbol.asyncDispose]()
  })

  afterAll(() => shared?.[Symbol.asyncDispose]())

  const as = ({ token }: LoginSession) => watched.api.as(token)
  const operate = async (path: string, body: object = {}): Promise<Json> => {
    const operator = watched.api.as(watched.server.operatorToken)
    return (await operator.succeed('POST', `/operator/v1/${path}`, { body })).data
  }
  const hermod = (line: string) => callHermod(line.split(' '), watched.settings)
  const revoke = (app_id = watched.server.appId) => operate('file/revoke_links', { app_id })
  /** A change of an application, after which the service reads its row: it keeps what it has read. */
  const readAgain = (app_id = watched.server.appId) =>
    operate('app/update', { app_id, name: 'Read again' })
  const restart = async (env?: Readonly<Record<string, string>>) => {
    await watched.server.stop()
    watched.server = await watched.server.startAgain(
      env === undefined ? {} : { env: { HERMOD_CHECK_ANSWERS: 'on', ...env } },
    )
  }

  async function moment(): Promise<Moment> {
    const chat = await sendFile(as(alice), { to_id: bob.id }, png)
    const { data: forwarded } = await forward(as(bob), chat)
    const { data: avatar } = await as(alice).succeed('GET', '/file/upload/avatar/user')
    await expectCode(upload(watched.api, avatar, png), 'ok')
    return {
      chat,
      forwarded: forwarded as string,
      inGroup: await sendFile(as(alice), { to_id: group, to_type: 2 }, png),
      avatar: avatar.download_url,
      ticket: (await ticketFor(as(alice), { to_id: bob.id })).envelope.data,
      session: await watched.api.login(bob),
    }
  }

  function forward(api: Api, url: string) {
    const query = { file_sign: signOf(url), to_id: alice.id }
    return api.call('GET', '/file/upload/forward', { query }).then(({ envelope }) => envelope)
  }

  /** 200 for the whole file, else the code of the refusal; the server may have another port by now. */
  async function outcome(url: string, { token }: LoginSession = bob): Promise<number> {
    const got = await fetchAs(watched.api, token, watched.api.options.url + pathOf(url))
    if (typeof got === 'number') return got
    expect(got).toEqual(png)
    return answerCode.ok
  }

  /** The outcome of everything of a moment that was an address then. */
  async function outcomes({ chat, forwarded, inGroup, avatar }: Moment) {
    const { code: forwardable } = await forward(as(bob), avatar)
    const [name] = avatar.split('&file_sign=') as [string]
    const [first, second, third] = [
      await outcome(chat),
      await outcome(forwarded, alice),
      await outcome(inGroup),
    ]
    const avatars = [await outcome(avatar), await outcome(name)]
    return { links: [first, second, third, forwardable], avatars }
  }

  async function expectAllWork(made: Moment): Promise<void> {
    const { ok } = answerCode
    expect(await outcomes(made)).toEqual({ links: [ok, ok, ok, ok], avatars: [ok, ok] })
  }

  /** The outcome of a download that is signed with the file credentials of a login. */
  async function signedOutcome({ chat, session }: Moment): Promise<number> {
    const { store_token, access_key_secret } = session.record
    const target = `/file/download/chat?file_sign=${signOf(chat)}`
    const expiresAt = Date.now() + 60_000
    const sdkSign = fileSignature(access_key_secret, { method: 'GET', target, expiresAt })
    const credentials = `&app_id=${watched.server.appId}&store_token=${store_token}&sdk_sign=${sdkSign}`
    const url = watched.api.options.url + pathOf(chat) + credentials
    const got = await fetchAs(watched.api, null, url)
    return typeof got === 'number' ? got : answerCode.ok
  }

  const sendWith = async ({ ticket }: Moment) => (await upload(watched.api, ticket, png)).code
  const faults = async (): Promise<Json[]> => (await operate('check')).faults

  it('work for ever when the key in the data folder is changed; tickets and file credentials end with the old key', async () => {
    await start()
    const [first, second] = [await moment(), await moment()]
    expect((await hermod('secret rotate')).code).toBe(0)
    await expectAllWork(first)
    expect(await signedOutcome(first)).toBe(answerCode.ok)
    expect(await sendWith(first)).toBe(answerCode.ok)
    const third = await moment()
    await restart()
    for (const made of [first, second, third]) await expectAllWork(made)

    expect((await hermod('secret retire')).code).toBe(0)
    for (const made of [first, second, third]) await expectAllWork(made)
    expect(await sendWith(second)).toBe(upload_ticket_invalid)
    expect(await sendWith(third)).toBe(answerCode.ok)
    expect(await signedOutcome(second)).toBe(token_invalid)
    expect(await signedOutcome(third)).toBe(answerCode.ok)
    expect(await signedOutcome({ ...second, session: await watched.api.login(bob) })).toBe(
      answerCode.ok,
    )
    await restart()
    for (const made of [first, second, third, await moment()]) await expectAllWork(made)
    expect(await faults()).toEqual([])
  })

  if (isFullRun)
    it('work for ever when the key of the settings is changed', async () => {
      const [before, after] = [newKey(), newKey()]
      await start({ HERMOD_SECRET_KEY: before })
      const first = await moment()
      const both = { HERMOD_SECRET_KEY: after, HERMOD_SECRET_KEY_OLD: before }
      await restart(both)
      const second = await moment()
      const settings = { ...watched.settings, ...both }
      expect((await callHermod(['secret', 'rotate'], settings)).code).toBe(0)
      await restart({ HERMOD_SECRET_KEY: after })
      for (const made of [first, second]) await expectAllWork(made)
      expect(await sendWith(first)).toBe(upload_ticket_invalid)
      expect(await sendWith(second)).toBe(answerCode.ok)
      expect(await faults()).toEqual([])
    })

  it('are signed with a key of their application, which is stored encrypted with the current secret key', async () => {
    const [before, after] = [newKey(), newKey()]
    await start({ HERMOD_SECRET_KEY: before })
    const { app_id: other } = await operate('app/create')
    const { appId } = watched.server
    const keysBy = (secretKey: string) =>
      Promise.all([appId, other].map((app) => fileLinkKeyOf(watched.sql, app, secretKey)))
    const keys = await keysBy(before)
    expect(keys.map(({ length }) => length)).toEqual([32, 32])
    expect(keys[0]).not.toEqual(keys[1])
    const rows = () => watched.sql.run('select file_link_key from apps')
    const form = (key: string) =>
      new RegExp(`^hs1:${keyId(Buffer.from(key))}:[\\w-]{16}:[\\w-]{79}$`)
    for (const { file_link_key } of await rows()) expect(file_link_key).toMatch(form(before))

    const both = { HERMOD_SECRET_KEY: after, HERMOD_SECRET_KEY_OLD: before }
    await restart(both)
    await operate('secret/rotate')
    for (const { file_link_key } of await rows()) expect(file_link_key).toMatch(form(after))
    expect(await keysBy(after)).toEqual(keys)
    await operate('app/update', { app_id: other, name: 'Another', registration_secret: 'x' })
    expect(await keysBy(after)).toEqual(keys)
  })

  describe('that are revoked', () => {
    it('end at once for everybody, and those made after work', async () => {
      await start()
      const made = await moment()
      const command = await hermod(`file revoke-links --app ${watched.server.appId}`)
      expect(command).toMatchObject({ code: 0, err: '' })
      expect(command.out).toContain('have ended')
      const ended = {
        links: Array(4).fill(file_signature_invalid),
        // For them no signature is asked for.
        avatars: [answerCode.ok, answerCode.ok],
      }
      expect(await outcomes(made)).toEqual(ended)
      const { adminToken: token } = watched.server
      expect(await outcome(made.chat, { ...bob, token })).toBe(file_signature_invalid)
      expect(await sendWith(made)).toBe(answerCode.ok)
      expect(await outcome(made.ticket.download_url)).toBe(file_signature_invalid)
      const next = await moment()
      await expectAllWork(next)

      await restart()
      expect(await outcomes(made)).toEqual(ended)
      await expectAllWork(next)
      await revoke()
      expect(await outcomes(next)).toEqual(ended)
      expect(await faults()).toEqual([])
    })

    it('are those of one application', async () => {
      await start()
      const made = await moment()
      const { app_id } = await operate('app/create')
      await revoke(app_id)
      await expectAllWork(made)
      const unknown = await hermod('file revoke-links --app nowhere')
      expect(unknown).toMatchObject({ code: 1, out: '' })
      expect((await hermod('file revoke-links')).code).toBe(2)
    })

    it('end on a node once it has seen it, and new ones of the other node work there at once', async () => {
      const secretKey = newKey()
      await start({ HERMOD_SECRET_KEY: secretKey })
      const { appId } = watched.server
      const { chat } = await moment()
      const key = randomBytes(32)
      expect(await outcome(chat)).toBe(answerCode.ok)
      await plantFileLinkKey(watched.sql, appId, { key, secretKey })
      const link: FileLink = {
        appId,
        fileId: fileIdOf(chat),
        recipient: { type: 'user', id: bob.id },
        makerId: alice.id,
        createdAt: Date.now(),
        expiresAt: Date.now() + 60_000,
      }
      expect(await outcome(`${chat.split('=')[0]}=${linkText(key, link)}`)).toBe(answerCode.ok)
      await readAgain()
      expect(await outcome(chat)).toBe(file_signature_invalid)
    })
  })

  it('whose key is damaged are not served, which hermod check says, and a new key mends', async () => {
    await start()
    const { appId } = watched.server
    const { chat } = await moment()
    const { app_id: other } = await operate('app/create')
    await watched.sql.run(
      `update apps set file_link_key = (select file_link_key from apps where app_id = '${other}') where app_id = '${appId}'`,
    )
    await readAgain()
    expect(await outcome(chat)).toBe(answerCode.internal_error)
    expect(await faults()).toEqual([
      {
        check: 'stored_secret',
        app_id: appId,
        subject: `apps.file_link_key of ${appId}`,
        detail: expect.stringContaining('another row'),
      },
    ])
    expect(await operate('secret/rotate')).toMatchObject({ unreadable: 1 })
    expect((await hermod('secret retire')).code).toBe(1)
    await revoke()
    await expectAllWork(await moment())
    expect(await hermod('secret retire')).toMatchObject({ code: 0 })
    expect(await faults()).toEqual([])
  })

  if (isFullRun)
    it('start anew when the secret key is lost', async () => {
      await start({ HERMOD_SECRET_KEY: newKey() })
      const { appId } = watched.server
      await moment()
      await watched.server.stop()
      await watched.sql.run("update apps set registration_secret = '', file_link_key = ''")
      await watched.sql.run('delete from push_certificates')
      await watched.sql.run('delete from key_checks')
      watched.server = await watched.server.startAgain({ env: { HERMOD_SECRET_KEY: newKey() } })
      expect(await faults()).toMatchObject([
        { check: 'stored_secret', subject: `apps.file_link_key of ${appId}` },
      ])
      expect(await revoke()).toBe(true)
      bob = await watched.api.login(bob)
      await expectAllWork(await moment())
      expect(await faults()).toEqual([])
    })
})

for (const backend of testBackends().filter(({ name }) => name === 'postgres')) {
  if (isFullRun)
    it('addresses of files that were revoked on one node end on the other within a second, which opens new ones at once', async () => {
      await using database = await backend.createDatabase()
      const options = {
        databaseUrl: database.url as string,
        adminToken: `hma_${'a'.repeat(48)}`,
        operatorToken: `hmo_${'b'.repeat(48)}`,
        env: { HERMOD_CHECK_ANSWERS: 'on', HERMOD_SECRET_KEY: newKey() },
      }
      await using first = await startServer(options)
      await using second = await startServer(options)
      const alice = await first.api.newLogin()
      const bob = await first.api.newLogin()
      const send = () => sendFile(first.api.as(alice.token), { to_id: bob.id }, png)
      /** Whether bob may pass it on, which takes no bytes: each node has a folder of its own. */
      const codeOn = async (node: ServerProcess, url: string) => {
        const query = { file_sign: signOf(url), to_id: alice.id }
        return (await node.api.as(bob.token).call('GET', '/file/upload/forward', { query })).code
      }
      const before = await send()
      expect(await codeOn(second, before)).toBe(answerCode.ok)
      const operator = first.api.as(first.operatorToken)
      const body = { app_id: first.appId }
      await operator.succeed('POST', '/operator/v1/file/revoke_links', { body })
      const after = await send()
      expect(await codeOn(second, after)).toBe(answerCode.ok)
      expect(await codeOn(first, before)).toBe(file_signature_invalid)
      await waitFor(
        async () => (await codeOn(second, before)) === file_signature_invalid,
        nodePatience,
      )
      expect(await codeOn(second, after)).toBe(answerCode.ok)
    })
}
