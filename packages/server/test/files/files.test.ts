/** Files as clients send and fetch them, on both databases. */
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import type { UploadTicket } from '@hermod/protocol'
import {
  type Answer,
  type Api,
  anyBackend,
  type Session,
  type TokenData,
  waitFor,
} from '@hermod/testkit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { fileSignature } from '../../dist/domain/files/credentials/file-credentials.js'
import { type FileLink, linkText } from '../../dist/domain/files/links/file-links.js'
import { type FileTicket, ticketText } from '../../dist/domain/files/tickets/file-tickets.js'
import { purposeKey } from '../../dist/lib/secrets/secret-keys.js'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { fileLinkKeyOf } from '../support/files/file-links.js'
import { fileStoreKinds, isOnItsWay, type StoreOfServer } from '../support/files/file-stores.js'
import {
  amr,
  blobsIn,
  fetchAs,
  fetchBytes,
  fileTypes,
  formOf,
  pathOf,
  png,
  SlowUpload,
  sendFile,
  signOf,
  targets,
  ticketFor,
  upload,
  withCredentials,
} from '../support/files/files.js'
import { aGroup } from '../support/groups/groups.js'
import { WatchedServer } from '../support/watched-server.js'

const secretKey = 'the-tests-know-it-as-well-as-the-service'
const dayMs = 24 * 3_600_000

/** Whether the last part of a key is that of a file as it was uploaded. */
function isOriginal(name: string): boolean {
  return name.split('.').length === 2
}

const ticketKey = purposeKey(Buffer.from(secretKey), 'file tickets')

const places = anyBackend().flatMap((backend) => fileStoreKinds.map((kind) => ({ backend, kind })))

for (const { backend, kind } of places) {
  describe.skipIf(kind.missing)(`files in ${kind.name} on ${backend.name}`, () => {
    let store: StoreOfServer
    let watched: WatchedServer
    let api: Api
    let operator: Api
    let linkKey: Buffer
    let alice: Session
    let bob: Session
    let carol: Session

    beforeAll(async () => {
      store = await kind.start()
      const env = { ...store.env, HERMOD_SECRET_KEY: secretKey }
      watched = await WatchedServer.start(backend, { env })
      api = watched.api
      operator = api.as(watched.server.operatorToken)
      linkKey = await fileLinkKeyOf(watched.sql, watched.server.appId, secretKey)
    })

    beforeEach(async () => {
      ;[alice, bob, carol] = [
        await api.newSession(),
        await api.newSession(),
        await api.newSession(),
      ]
    })

    afterAll(async () => {
      await watched?.[Symbol.asyncDispose]()
      await store?.[Symbol.asyncDispose]()
    })

    const ticketOf = async (...args: Parameters<typeof ticketFor>) =>
      (await ticketFor(...args)).envelope.data
    const set = (settings: object) =>
      operator.succeed('POST', '/operator/v1/app/update', {
        body: { app_id: watched.server.appId, settings },
      })
    const usage = async () => {
      const [row = { files: 0, bytes: 0 }] = await watched.sql.run(
        `select files, bytes from file_usage where app_id = '${watched.server.appId}'`,
      )
      return { files: Number(row.files), bytes: Number(row.bytes) }
    }
    const rows = async () => {
      const [row] = await watched.sql.run(
        `select count(*) as files, coalesce(sum(size), 0) as bytes from files where app_id = '${watched.server.appId}'`,
      )
      return { files: Number(row?.files), bytes: Number(row?.bytes) }
    }
    /** Nothing is in the store that no row knows, and the usage is that of the rows. */
    async function expectOrder(): Promise<void> {
      expect(await usage()).toEqual(await rows())
      const known = (await watched.sql.run('select file_id, upload_id from files')).map(
        ({ file_id, upload_id }) => `${file_id}.${upload_id}`,
      )
      const keys = await store.keys(watched.server.dataDir)
      const originals = keys.map((key) => key.split('/').at(-1) as string).filter(isOriginal)
      expect(originals.toSorted()).toEqual(known.toSorted())
    }

    describe('the way of a file', () => {
      it('begins with a ticket that says where to send it, with which fields, and where it will be', async () => {
        const { url } = api.options
        expect(await ticketOf(alice.api, { to_id: bob.id })).toEqual({
          upload_url: expect.stringMatching(new RegExp(`^${url}/file/upload\\?ticket=[\\w-]+$`)),
          upload_method: 'POST',
          oss_body_param: {},
          download_url: expect.stringMatching(
            new RegExp(`^${url}/file/download/chat\\?file_sign=[\\w-]+$`),
          ),
        })
      })

      it('leads to its recipient and back into an element of a page, as it was', async () => {
        const to = { to_id: bob.id, to_type: targets.user, file_type: fileTypes.picture }
        const url = await sendFile(alice.api, to, png, { name: 'red.png' })
        const { status, headers, body } = await fetchBytes(withCredentials(api, bob.token, url))
        expect({ status, body }).toEqual({ status: 200, body: png })
        expect(headers).toMatchObject({
          'content-type': 'image/png',
          'content-disposition': 'inline; filename=red.png',
          'cross-origin-resource-policy': 'cross-origin',
        })
        await expectOrder()
      })

      it('ends in a thumbnail for image_type 2, of either strategy, made once', async () => {
        const url = await sendFile(alice.api, { to_id: bob.id }, png)
        const wanted = [1, 2, 1, 2].map((thumbnail_strategy) =>
          fetchAs(api, bob.token, url, { image_type: 2, thumbnail_strategy }),
        )
        const [first, ...others] = await Promise.all(wanted)
        expect(first).toBeInstanceOf(Buffer)
        for (const other of others) expect(other).toEqual(first)
        const before = await store.keys(watched.server.dataDir)
        expect(await fetchAs(api, bob.token, url, { image_type: 2 })).toEqual(first)
        expect(await store.keys(watched.server.dataDir)).toEqual(before)
        expect(before.filter((key) => key.endsWith('thumbnail-200x200')).length).toBeGreaterThan(0)
        expect(await fetchAs(api, bob.token, url)).toEqual(png)
      })

      it('ends in no thumbnail of what is no picture, and in no mp3 of what is no voice', async () => {
        const url = await sendFile(alice.api, { to_id: bob.id }, Buffer.from('words'))
        expect(await fetchAs(api, bob.token, url, { image_type: 2 })).toBe(
          answerCode.rendition_unavailable,
        )
        expect(await fetchAs(api, bob.token, url, { format: 'mp3' })).toBe(
          answerCode.rendition_unavailable,
        )
        const damaged = Buffer.concat([png.subarray(0, 30), Buffer.alloc(40)])
        const picture = await sendFile(alice.api, { to_id: bob.id }, damaged)
        expect(await fetchAs(api, bob.token, picture, { image_type: 2 })).toBe(
          answerCode.rendition_unavailable,
        )
      })

      it('leads voice as amr to those who want it so', async () => {
        const to = { to_id: bob.id, file_type: fileTypes.voice }
        const voice = amr(1)
        const url = await sendFile(alice.api, to, voice)
        expect(await fetchAs(api, bob.token, url)).toEqual(voice)
        expect(await fetchAs(api, bob.token, url, { format: 'amr' })).toEqual(voice)
      })

      it('makes mp3 of voice once, where the machine has ffmpeg', async () => {
        const to = { to_id: bob.id, file_type: fileTypes.voice }
        const url = await sendFile(alice.api, to, amr(1))
        const wanted = () => fetchAs(api, bob.token, url, { format: 'mp3' })
        if (spawnSync('ffmpeg', ['-version']).error)
          return expect(await wanted()).toBe(answerCode.voice_conversion_unavailable)
        const mp3 = await wanted()
        // The eleven bits with which each frame begins.
        expect((mp3 as Buffer).readUInt16BE() >> 5).toBe(0x7ff)
        const before = await store.keys(watched.server.dataDir)
        expect(before.filter((key) => key.endsWith('.mp3'))).toHaveLength(1)
        expect(await wanted()).toEqual(mp3)
        expect(await store.keys(watched.server.dataDir)).toEqual(before)
      })

      it('goes on to another recipient by the text after sign=', async () => {
        const url = await sendFile(alice.api, { to_id: bob.id }, Buffer.from('plain'))
        const forward = (by: Session, query: object) =>
          by.api.call('GET', '/file/upload/forward', {
            query: { file_sign: signOf(url), ...query },
          })
        const to = { to_id: carol.id, to_type: targets.user }
        expect(await fetchAs(api, carol.token, url)).toBe(answerCode.no_permission)
        await expectCode(forward(carol, to), 'no_permission')
        const { data: forwarded } = await forward(bob, to)
        expect(forwarded).toMatch(/\/file\/download\/chat\?file_sign=[\w-]+$/)
        expect(await fetchAs(api, carol.token, forwarded)).toEqual(Buffer.from('plain'))
        expect(await fetchAs(api, carol.token, url)).toBe(answerCode.no_permission)
        expect(await fetchAs(api, alice.token, forwarded)).toEqual(Buffer.from('plain'))
        await expectCode(forward(bob, { to_id: 7 }), 'user_not_found')
        await expectCode(forward(bob, { ...to, file_sign: 'x' }), 'file_signature_invalid')
      })

      it('has credentials in the query of a forward and of the ticket for the avatar of a group', async () => {
        const url = await sendFile(alice.api, { to_id: bob.id }, png)
        const call = async (path: string) => {
          const query = `&access-token=${bob.token}&app_id=${watched.server.appId}`
          return (await api.call('GET', path + query, { token: null, appId: null })).code
        }
        const group_id = await aGroup(bob)
        expect(await call(`/file/upload/forward?file_sign=${signOf(url)}&to_id=${carol.id}`)).toBe(
          200,
        )
        expect(await call(`/file/upload/avatar/group?group_id=${group_id}`)).toBe(200)
      })

      it('is the same for an avatar, which has a name of its own too', async () => {
        const { data: ticket } = await alice.api.succeed('GET', '/file/upload/avatar/user')
        expect((await upload(api, ticket, png)).envelope).toEqual({
          code: 200,
          data: true,
          message: null,
        })
        const { download_url: avatar } = ticket
        expect(avatar).toMatch(
          /\/file\/download\/avatar\?object_name=[a-z0-9]{26}&file_sign=[\w-]+$/,
        )
        await alice.api.succeed('POST', '/user/avatar', { body: { avatar } })
        const name = new URL(avatar).searchParams.get('object_name')
        const bare = `${api.options.url}/file/download/avatar?object_name=${name}`
        for (const url of [avatar, bare, `${bare}&image_type=1`])
          expect(await fetchAs(api, bob.token, url)).toEqual(png)
        expect(await fetchAs(api, bob.token, avatar, { image_type: 2 })).toBeInstanceOf(Buffer)
        expect(await fetchAs(api, null, `${bare}&app_id=${watched.server.appId}`)).toBe(
          answerCode.token_missing,
        )
        const { data: forwarded } = await bob.api.succeed('GET', '/file/upload/forward', {
          query: { file_sign: signOf(avatar), to_id: carol.id },
        })
        expect(await fetchAs(api, carol.token, forwarded)).toEqual(png)
      })

      it('has addresses under the name by which the client reached the service', async () => {
        const headers = { host: 'chat.example.org:8443', 'x-forwarded-proto': 'https' }
        const { data } = await alice.api.succeed('GET', '/file/upload/chat', {
          query: { file_type: 100, to_id: bob.id },
          headers,
        })
        expect(data.download_url).toMatch(/^http:\/\/chat\.example\.org:8443\/file\//)
      })
    })

    describe('a ticket', () => {
      it('is for one file, whichever comes first', async () => {
        const ticket = await ticketOf(alice.api, { to_id: bob.id })
        const texts = ['first', 'second', 'third', 'fourth']
        const answers = await Promise.all(
          texts.map((each) => upload(api, ticket, Buffer.from(each))),
        )
        const winners = texts.filter((_, index) => answers[index]?.code === 200)
        expect(winners.length).toBe(1)
        for (const { code } of answers) expect([200, answerCode.upload_ticket_used]).toContain(code)
        expect(String(await fetchAs(api, bob.token, ticket.download_url))).toBe(winners[0])
        await expectCode(upload(api, ticket, png), 'upload_ticket_used')
        expect(String(await fetchAs(api, bob.token, ticket.download_url))).toBe(winners[0])
        await expectOrder()
      })

      it('that is changed, cut or made with another key opens nothing', async () => {
        const ticket = await ticketOf(alice.api, { to_id: bob.id })
        const text = new URL(ticket.upload_url).searchParams.get('ticket') as string
        const forged = ticketText(purposeKey(Buffer.from('x'), 'file tickets'), aTicket())
        const link = linkText(ticketKey, aLink())
        for (const each of [
          `${text}A`,
          text.slice(1),
          text.slice(0, -1),
          `B${text.slice(1)}`,
          forged,
          link,
          'x',
          '%20',
        ]) {
          const path = `/file/upload?ticket=${each}`
          const answer = await api.call('POST', path, { ...formOf(png), token: null, appId: null })
          expect(answer.code, each).toBe(answerCode.upload_ticket_invalid)
        }
        await expectOrder()
      })

      const aTicket = (changes: Partial<FileTicket> = {}): FileTicket => ({
        appId: watched.server.appId,
        fileId: '0'.repeat(26),
        ownerId: alice.id,
        payerId: alice.id,
        credentialEpoch: 0,
        purpose: 0,
        fileType: 100,
        recipient: { type: 'user', id: bob.id },
        maxBytes: 100,
        expiresAt: Date.now() + 60_000,
        ...changes,
      })

      it('ends after its time, with the logins of its user, and with the application', async () => {
        const send = (ticket: FileTicket) =>
          api.call('POST', `/file/upload?ticket=${ticketText(ticketKey, ticket)}`, {
            ...formOf(png),
            token: null,
            appId: null,
          })
        await expectCode(send(aTicket({ expiresAt: Date.now() - 1 })), 'upload_ticket_invalid')
        await expectCode(send(aTicket({ credentialEpoch: 1 })), 'upload_ticket_invalid')
        await expectCode(send(aTicket({ ownerId: 7 })), 'upload_ticket_invalid')
        expect((await send(aTicket({ appId: 'nowhere' }))).code).not.toBe(200)
        expect((await send(aTicket({ fileId: '1'.repeat(26) }))).code).toBe(200)

        const ticket = await ticketOf(alice.api, { to_id: bob.id })
        const slow = new SlowUpload(api, ticket, Buffer.alloc(50_000, 1))
        await alice.api.succeed('POST', '/user/change_password', {
          body: { old_password: alice.password, new_password: 'battery staple' },
        })
        await expectCode(slow.finish(), 'upload_ticket_invalid')
        await expectCode(upload(api, ticket, png), 'upload_ticket_invalid')
        await expectOrder()
      })

      it('ends with its user, also while the file is on its way', async () => {
        const ticket = await ticketOf(alice.api, { to_id: bob.id })
        const slow = new SlowUpload(api, ticket, Buffer.alloc(300_000, 1))
        await alice.api.succeed('POST', '/user/delete', { body: { password: alice.password } })
        await expectCode(slow.finish(), 'upload_ticket_invalid')
        await expectCode(upload(api, ticket, png), 'upload_ticket_invalid')
        await expectOrder()
      })

      it('that is asked for by an Admin token for a user works as one of the user', async () => {
        const admin = api.admin({ userId: alice.id })
        const url = await sendFile(admin, { to_id: bob.id }, png)
        for (const { token } of [alice, bob]) expect(await fetchAs(api, token, url)).toEqual(png)
      })
    })

    describe('an upload', () => {
      const send = async (rawBody: Buffer | string, contentType?: string): Promise<Answer> => {
        const ticket = await ticketOf(alice.api, { to_id: bob.id })
        const { headers } = formOf(png)
        return api.call('POST', pathOf(ticket.upload_url), {
          rawBody,
          headers: contentType === undefined ? headers : { 'content-type': contentType },
          token: null,
          appId: null,
        })
      }
      const whole = formOf(Buffer.from('text'), { fields: { key: 'value' } }).rawBody.toString()
      const filePart = whole.slice(
        whole.lastIndexOf('--boundary-of-the-form\r\n'),
        whole.lastIndexOf('--boundary'),
      )
      const fieldPart = whole.slice(0, whole.indexOf(filePart))
      const end = '--boundary-of-the-form--\r\n'

      it.each<[string, () => string | Buffer, number]>([
        ['without a file', () => fieldPart + end, answerCode.file_missing],
        ['with nothing at all', () => end, answerCode.file_missing],
        ['with two files', () => filePart + filePart + end, answerCode.upload_form_invalid],
        [
          'with a field after the file',
          () => filePart + fieldPart + end,
          answerCode.upload_form_invalid,
        ],
        ['without an end', () => filePart, answerCode.upload_form_invalid],
        ['with a file of 0 bytes', () => formOf(Buffer.alloc(0)).rawBody, answerCode.file_missing],
        [
          'with a name of 300 characters',
          () => formOf(png, { name: 'n'.repeat(300) }).rawBody,
          answerCode.file_name_invalid,
        ],
        [
          'with a control character in the name',
          () => formOf(png, { name: 'a\u0001b' }).rawBody,
          answerCode.file_name_invalid,
        ],
      ])('%s is refused by name, and nothing of it stays', async (_, form, code) => {
        const before = await rows()
        expect((await send(form())).code).toBe(code)
        expect(await rows()).toEqual(before)
        await expectOrder()
      })

      it('that is no form is refused', async () => {
        for (const type of ['application/json', 'multipart/form-data', 'text/plain; boundary=x'])
          expect((await send(whole, type)).code, type).toBe(answerCode.upload_form_invalid)
      })

      it('has the last part of its name, whatever folders it claims', async () => {
        const url = await sendFile(alice.api, { to_id: bob.id }, png, {
          name: '../../../etc/pass wd.png',
        })
        const { headers } = await fetchBytes(withCredentials(api, bob.token, url))
        expect(headers['content-disposition']).toBe('inline; filename="pass wd.png"')
      })

      it('is what it contains, whatever it is called', async () => {
        const page = Buffer.from('<!doctype html><script>alert(1)</script>')
        const drawing = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>')
        for (const content of [page, drawing, Buffer.from('words')]) {
          const url = await sendFile(alice.api, { to_id: bob.id }, content, { name: 'red.png' })
          const { headers } = await fetchBytes(withCredentials(api, bob.token, url))
          expect(headers['content-disposition']).toMatch(/^attachment;/)
          expect(headers).toMatchObject({
            'x-content-type-options': 'nosniff',
            'content-security-policy': "sandbox; default-src 'none'",
          })
        }
      })

      it.each([
        ['words as a picture', fileTypes.picture, Buffer.from('words')],
        ['words as voice', fileTypes.voice, Buffer.from('words')],
        ['words as a video', fileTypes.video, Buffer.from('words')],
        ['a picture as voice', fileTypes.mp3, png],
        ['voice as a picture', fileTypes.picture, amr(1)],
      ])('of %s is refused, and nothing of it stays', async (_, file_type, content) => {
        const ticket = await ticketOf(alice.api, { to_id: bob.id, file_type })
        await expectCode(upload(api, ticket, content, { name: 'red.png' }), 'file_type_invalid')
        expect(await fetchAs(api, bob.token, ticket.download_url)).toBe(answerCode.file_not_found)
        await expectOrder()
        const right = file_type === fileTypes.picture ? png : amr(1)
        if (file_type !== fileTypes.video) expect((await upload(api, ticket, right)).code).toBe(200)
      })

      it('of words as an avatar is refused', async () => {
        const { data: ticket } = await alice.api.succeed('GET', '/file/upload/avatar/user')
        await expectCode(upload(api, ticket, Buffer.from('words')), 'file_type_invalid')
        await expectOrder()
      })

      it('that is cut leaves nothing, and its ticket works again', async () => {
        const ticket = await ticketOf(alice.api, { to_id: bob.id })
        const slow = new SlowUpload(api, ticket, Buffer.alloc(1_000_000, 7))
        const isArriving = () => blobsIn(watched.server.dataDir).some(isOnItsWay)
        await waitFor(isArriving, { what: 'the file on its way', timeoutMs: 10_000 })
        slow.cut()
        await waitFor(() => !isArriving(), { what: 'nothing on its way', timeoutMs: 10_000 })
        expect(await fetchAs(api, bob.token, ticket.download_url)).toBe(answerCode.file_not_found)
        await expectOrder()
        expect((await upload(api, ticket, png)).code).toBe(200)
      })

      it('is as large as the application allows, and not a byte larger', async () => {
        await set({ file_max_bytes: 1_000 })
        try {
          const before = await rows()
          await sendFile(alice.api, { to_id: bob.id }, Buffer.alloc(1_000, 1))
          const ticket = await ticketOf(alice.api, { to_id: bob.id })
          for (const size of [1_001, 200_000, 3_000_000]) {
            const answer = await upload(api, ticket, Buffer.alloc(size, 1))
            expect([size, answer.status, answer.code]).toEqual([
              size,
              200,
              answerCode.file_too_large,
            ])
          }
          const { files, bytes } = await rows()
          expect({ files, bytes }).toEqual({ files: before.files + 1, bytes: before.bytes + 1_000 })
          await expectOrder()
        } finally {
          await set({ file_max_bytes: 100 * 2 ** 20 })
        }
      })

      it('keeps within the quota of the application, however many come at once', async () => {
        const before = await usage()
        const tickets = await Promise.all(
          Array.from({ length: 12 }, () => ticketOf(alice.api, { to_id: bob.id })),
        )
        await set({ file_quota_bytes: before.bytes + 5_000 })
        try {
          const answers = await Promise.all(
            tickets.map((ticket) => upload(api, ticket, Buffer.alloc(1_000, 1))),
          )
          expect(answers.filter(({ code }) => code === 200).length).toBe(5)
          expect(answers.filter(({ code }) => code === answerCode.file_quota_reached).length).toBe(
            7,
          )
          expect(await usage()).toEqual({ files: before.files + 5, bytes: before.bytes + 5_000 })
          await expectCode(ticketFor(alice.api, { to_id: bob.id }), 'file_quota_reached')
          await expectCode(alice.api.call('GET', '/file/upload/avatar/user'), 'file_quota_reached')
          await expectOrder()
        } finally {
          await set({ file_quota_bytes: 0 })
        }
      })
    })

    describe('an upload beyond the quota of the application', () => {
      const left = 500_000
      let ticket: UploadTicket

      beforeEach(async () => {
        ticket = await ticketOf(alice.api, { to_id: bob.id })
        await set({ file_quota_bytes: (await usage()).bytes + left })
      })

      afterEach(async () => {
        await set({ file_quota_bytes: 0 })
      })

      async function expectNothing(): Promise<void> {
        expect(await fetchAs(api, bob.token, ticket.download_url)).toBe(answerCode.file_not_found)
        await waitFor(() => !blobsIn(watched.server.dataDir).some(isOnItsWay), {
          what: 'nothing on its way',
          timeoutMs: 10_000,
        })
        await expectOrder()
      }

      it('is refused before it comes when its length says so', async () => {
        const before = await usage()
        const early = new SlowUpload(api, ticket, Buffer.alloc(left + 1_100_000), 0)
        await expectCode(early.answered, 'file_quota_reached')
        early.cut()
        await expectNothing()
        expect(await usage()).toEqual(before)
      })

      it('is refused as soon as more has come than is left, and its ticket works again', async () => {
        const content = Buffer.alloc(left + 900_000, 1)
        const slow = new SlowUpload(api, ticket, content, 0.6)
        await expectCode(slow.answered, 'file_quota_reached')
        slow.cut()
        await expectNothing()
        await expectCode(upload(api, ticket, content.subarray(0, left + 1)), 'file_quota_reached')
        await expectNothing()
        expect((await upload(api, ticket, content.subarray(0, left))).code).toBe(200)
        await expectOrder()
      })

      it('and beyond the size of a file is refused for its size', async () => {
        await set({ file_max_bytes: 1_000 })
        try {
          const early = new SlowUpload(api, ticket, Buffer.alloc(left + 1_100_000), 0)
          await expectCode(early.answered, 'file_too_large')
          early.cut()
          await expectNothing()
        } finally {
          await set({ file_max_bytes: 100 * 2 ** 20 })
        }
      })
    })

    describe('an address', () => {
      const aLinkText = (changes: Partial<FileLink> = {}, key = linkKey) =>
        `${api.options.url}/file/download/chat?file_sign=${linkText(key, aLink(changes))}`

      it('that is changed, cut, made with another key or of another application opens nothing', async () => {
        const url = await sendFile(alice.api, { to_id: bob.id }, png)
        const sign = signOf(url)
        const base = url.slice(0, -sign.length)
        const bad = [
          `${base}${sign}A`,
          `${base}${sign.slice(1)}`,
          `${base}${sign.slice(0, -1)}`,
          `${base}B${sign.slice(1)}`,
          `${base}x`,
          aLinkText({}, randomBytes(32)),
          aLinkText({}, ticketKey),
          aLinkText({ appId: 'elsewhere' }),
          aLinkText({ expiresAt: Date.now() - 1 }),
        ]
        for (const each of bad)
          expect(await fetchAs(api, bob.token, each), each).toBe(answerCode.file_signature_invalid)
        expect(await fetchAs(api, bob.token, url)).toEqual(png)
        expect(await fetchAs(api, bob.token, aLinkText())).toBe(answerCode.file_not_found)
      })

      it('works for as many days as the application says', async () => {
        await set({ file_link_days: 2 })
        try {
          const url = await sendFile(alice.api, { to_id: bob.id }, png)
          const payload = signOf(url).slice(0, -43)
          const [, , , , , createdAt, expiresAt] = JSON.parse(
            Buffer.from(payload, 'base64url').toString(),
          )
          expect(expiresAt - createdAt).toBe(2 * dayMs)
        } finally {
          await set({ file_link_days: 3_650 })
        }
      })

      it('is opened by a signature under the file key in place of an access token', async () => {
        const url = await sendFile(alice.api, { to_id: bob.id }, png)
        const loggedIn = await Promise.all([alice, bob, carol].map((user) => api.login(user)))
        const [ofAlice, ofBob, ofCarol] = loggedIn.map(({ record }) => record) as [
          TokenData,
          TokenData,
          TokenData,
        ]
        const { store_token, access_key_secret } = ofBob
        const appId = `&app_id=${watched.server.appId}`
        const signed = (
          {
            secret = access_key_secret,
            token = store_token,
            sign = signOf(url),
            lifeMs = 60_000,
          } = {},
          more = '',
        ) => {
          const target = `/file/download/chat?file_sign=${sign}`
          const expiresAt = Date.now() + lifeMs
          const sdkSign = fileSignature(secret, { method: 'GET', target, expiresAt })
          return `${url}${appId}&store_token=${token}&sdk_sign=${sdkSign}${more}`
        }
        expect(await fetchAs(api, null, signed())).toEqual(png)
        expect(await fetchAs(api, null, signed({}, '&image_type=2'))).toBeInstanceOf(Buffer)
        expect((await fetchBytes(signed(), { method: 'HEAD' })).status).toBe(200)
        const refused = [
          signed({ secret: ofAlice.access_key_secret }),
          signed({ token: ofAlice.store_token }),
          signed({ sign: 'another' }),
          signed({ lifeMs: -1 }),
          signed({ lifeMs: 2 * dayMs }),
          `${url}${appId}&store_token=${store_token}&sdk_sign=x`,
        ]
        for (const each of refused)
          expect(await fetchAs(api, null, each)).toBe(answerCode.token_invalid)
        expect(await fetchAs(api, null, `${url}${appId}&store_token=${store_token}`)).toBe(
          answerCode.token_missing,
        )
        const other = { secret: ofCarol.access_key_secret, token: ofCarol.store_token }
        expect(await fetchAs(api, null, signed(other))).toBe(answerCode.no_permission)
        const before = signed()
        await bob.api.succeed('POST', '/user/change_password', {
          body: { old_password: bob.password, new_password: 'battery staple' },
        })
        expect(await fetchAs(api, null, before)).toBe(answerCode.token_invalid)
      })

      it('says everything of the file without its bytes to HEAD, and nothing twice to a condition', async () => {
        const url = withCredentials(
          api,
          bob.token,
          await sendFile(alice.api, { to_id: bob.id }, png),
        )
        const { headers, body } = await fetchBytes(url, { method: 'HEAD' })
        expect([headers['content-length'], body.length]).toEqual([String(png.length), 0])
        const again = await fetchBytes(url, { headers: { 'if-none-match': String(headers.etag) } })
        expect([again.status, again.body.length]).toEqual([304, 0])
        const part = await fetchBytes(url, { headers: { range: 'bytes=1-3' } })
        expect([part.status, part.body.toString()]).toEqual([206, 'PNG'])
      })
    })

    function aLink(changes: Partial<FileLink> = {}): FileLink {
      return {
        appId: watched.server.appId,
        fileId: 'z'.repeat(26),
        recipient: { type: 'user', id: bob.id },
        makerId: alice.id,
        createdAt: Date.now(),
        expiresAt: Date.now() + 60_000,
        ...changes,
      }
    }
  })
}
