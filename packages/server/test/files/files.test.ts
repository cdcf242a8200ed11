/** Files as clients send and fetch them. */
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import type { Api, Session, TokenData } from '@hermod/testkit'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { fileSignature } from '../../dist/domain/files/credentials/file-credentials.js'
import { type FileLink, linkText } from '../../dist/domain/files/links/file-links.js'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { filePlace, filePlaces, ticketKey } from '../support/files/file-place.js'
import {
  amr,
  fetchAs,
  fetchBytes,
  fileTypes,
  png,
  sendFile,
  signOf,
  targets,
  upload,
  withCredentials,
} from '../support/files/files.js'
import { aGroup } from '../support/groups/groups.js'
import { sessions } from '../support/messaging/messaging.js'

const dayMs = 24 * 3_600_000

for (const { backend, kind, name } of filePlaces)
  describe.skipIf(kind.missing)(`files in ${name}`, () => {
    const place = filePlace(backend, kind)
    const { expectOrder, set, ticketOf } = place
    let api: Api
    let alice: Session
    let bob: Session
    let carol: Session

    beforeAll(() => {
      api = place.server.api
    })

    beforeEach(async () => {
      ;[alice, bob, carol] = await sessions(place.server, 3)
    })

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
        const before = await place.keys()
        expect(await fetchAs(api, bob.token, url, { image_type: 2 })).toEqual(first)
        expect(await place.keys()).toEqual(before)
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
        const before = await place.keys()
        expect(before.filter((key) => key.endsWith('.mp3'))).toHaveLength(1)
        expect(await wanted()).toEqual(mp3)
        expect(await place.keys()).toEqual(before)
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
          const query = `&access-token=${bob.token}&app_id=${place.server.appId}`
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
        expect(await fetchAs(api, null, `${bare}&app_id=${place.server.appId}`)).toBe(
          answerCode.token_missing,
        )
        const { data: forwarded } = await bob.api.succeed('GET', '/file/upload/forward', {
          query: { file_sign: signOf(avatar), to_id: carol.id },
        })
        expect(await fetchAs(api, carol.token, forwarded)).toEqual(png)
      })

      it('has addresses under the name by which the client reached the service', async () => {
        const headers = { host: 'chat.example.org:8443', 'x-forwarded-proto': 'https' }
        const query = { file_type: 100, to_id: bob.id }
        const { data } = await place.server.http
          .as(alice.token)
          .succeed('GET', '/file/upload/chat', { query, headers })
        expect(data.download_url).toMatch(/^http:\/\/chat\.example\.org:8443\/file\//)
      })
    })

    describe('an address', () => {
      const aLinkText = (changes: Partial<FileLink> = {}, key = place.linkKey) =>
        `${api.options.url}/file/download/chat?file_sign=${linkText(key, place.link(alice, bob, changes))}`

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
        const appId = `&app_id=${place.server.appId}`
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
  })
