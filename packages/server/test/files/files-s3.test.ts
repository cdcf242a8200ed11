/**
 * Clients that send files straight to a store that speaks S3, and fetch them there; and a store
 * that fails.
 */
import { type Answer, type Api, anyBackend, type Session } from '@hermod/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { missesSwift } from '../support/files/blob-stores.js'
import { S3OfServer } from '../support/files/file-stores.js'
import {
  fetchAs,
  fetchBytes,
  fileTypes,
  formOf,
  pathOf,
  png,
  sendFile,
  ticketFor,
  upload,
  withCredentials,
} from '../support/files/files.js'
import { WatchedServer } from '../support/watched-server.js'

const succeeded = { code: 200, data: true, message: null }

for (const backend of anyBackend()) {
  describe.skipIf(missesSwift)(`files straight in S3 on ${backend.name}`, () => {
    let store: S3OfServer
    let watched: WatchedServer
    let api: Api
    let alice: Session
    let bob: Session

    beforeAll(async () => {
      store = await S3OfServer.start({ HERMOD_S3_UPLOADS: 'direct' })
      watched = await WatchedServer.start(backend, { env: store.env })
      api = watched.api
      ;[alice, bob] = [await api.newSession(), await api.newSession()]
    })

    afterEach(() => store.s3.proxy.recover())

    afterAll(async () => {
      await watched?.[Symbol.asyncDispose]()
      await store?.[Symbol.asyncDispose]()
    })

    type Ticket = Awaited<ReturnType<typeof ticketOf>>
    const ticketOf = async (more: object = {}) =>
      (await ticketFor(alice.api, { to_id: bob.id, ...more })).envelope.data

    /** The form to the store. @returns where it sends the client */
    async function sendForm({ upload_url, oss_body_param }: Ticket, content: Buffer) {
      const form = formOf(content, { fields: oss_body_param as Record<string, string> })
      const { status, headers, body } = await fetchBytes(upload_url, {
        method: 'POST',
        headers: { ...form.headers, 'content-length': String(form.rawBody.length) },
        body: form.rawBody,
      })
      return { status, location: String(headers.location ?? ''), body: body.toString() }
    }

    async function follow(location: string): Promise<Answer> {
      expect(location).toMatch(`${api.options.url}/file/upload/done?ticket=`)
      return api.call('GET', pathOf(location), { token: null, appId: null })
    }

    it('a ticket leads to the store, and its redirect to the answer that clients look for', async () => {
      const ticket = await ticketOf({ file_type: fileTypes.picture })
      expect(ticket.upload_url).toMatch(store.s3.proxy.url)
      expect(ticket.oss_body_param).toMatchObject({
        key: expect.any(String),
        policy: expect.any(String),
      })
      const { status, location } = await sendForm(ticket, png)
      expect(status).toBe(303)
      expect(await fetchAs(api, bob.token, ticket.download_url)).toBe(answerCode.file_not_found)
      expect((await follow(location)).envelope).toEqual(succeeded)
      expect((await follow(location)).envelope).toEqual(succeeded)
      const found = await fetchBytes(withCredentials(api, bob.token, ticket.download_url))
      expect([found.status, found.headers['cache-control']]).toEqual([302, 'no-store'])
      const there = await fetchBytes(String(found.headers.location))
      expect({ status: there.status, body: there.body }).toEqual({ status: 200, body: png })
      expect(there.headers['content-type']).toBe('image/png')
      const small = await fetchBytes(
        withCredentials(api, bob.token, ticket.download_url, { image_type: 2 }),
      )
      expect((await fetchBytes(String(small.headers.location))).status).toBe(200)
    })

    it('HEAD says of a file and its thumbnail what the store answers to GET, and asks the store nothing', async () => {
      const ticket = await ticketOf({ file_type: fileTypes.picture })
      await follow((await sendForm(ticket, png)).location)
      for (const more of [{}, { image_type: 2 }]) {
        const url = withCredentials(api, bob.token, ticket.download_url, more)
        const there = await fetchBytes(String((await fetchBytes(url)).headers.location))
        const head = await fetchBytes(url, { method: 'HEAD' })
        expect([head.status, head.headers.location, head.body.length]).toEqual([200, undefined, 0])
        expect(head.headers['content-length']).toBe(String(there.body.length))
        for (const name of ['content-type', 'content-disposition'])
          expect(head.headers[name], name).toBe(there.headers[name])
      }
      store.s3.proxy.fail({ kind: 'down' })
      const url = withCredentials(api, bob.token, ticket.download_url)
      expect((await fetchBytes(url, { method: 'HEAD' })).status).toBe(200)
    })

    it('what is sent to the store again after the answer changes nothing', async () => {
      const ticket = await ticketOf({ file_type: fileTypes.picture })
      await follow((await sendForm(ticket, png)).location)
      const { location } = await sendForm(ticket, Buffer.from('<script>alert(1)</script>'))
      expect((await follow(location)).envelope).toEqual(succeeded)
      const found = await fetchBytes(withCredentials(api, bob.token, ticket.download_url))
      expect((await fetchBytes(String(found.headers.location))).body).toEqual(png)
    })

    it('an upload that never came, that is something else, or whose ticket is forged is no file', async () => {
      const ticket = await ticketOf({ file_type: fileTypes.picture })
      const { location } = await sendForm(ticket, Buffer.from('words'))
      await expectCode(follow(location), 'file_type_invalid')
      await expectCode(follow(location.replace('ticket=', 'ticket=x')), 'upload_ticket_invalid')
      const other = (await sendForm(await ticketOf(), png)).location
      const unsent = new URL(other)
      const [unused] = [await ticketOf()]
      const policy = String((unused.oss_body_param as Record<string, string>).policy)
      const { conditions } = JSON.parse(Buffer.from(policy, 'base64').toString())
      const redirect = conditions.flatMap(
        (each: Record<string, string>) => each.success_action_redirect ?? [],
      )
      unsent.search = new URL(redirect[0]).search
      await expectCode(follow(unsent.href), 'file_missing')
      expect(await fetchAs(api, bob.token, ticket.download_url)).toBe(answerCode.file_not_found)
    })

    it('an upload beyond the quota of the application is no file, and is not read', async () => {
      const set = (file_quota_bytes: number) =>
        api.as(watched.server.operatorToken).succeed('POST', '/operator/v1/app/update', {
          body: { app_id: watched.server.appId, settings: { file_quota_bytes } },
        })
      const [usage] = await watched.sql.run('select bytes from file_usage')
      const ticket = await ticketOf()
      const { location } = await sendForm(ticket, png)
      const own = async () => (await store.keys()).filter((key) => !key.startsWith('incoming/'))
      const before = await own()
      await set(Number(usage?.bytes) + png.length - 1)
      try {
        await expectCode(follow(location), 'file_quota_reached')
        expect(await own()).toEqual(before)
        await set(Number(usage?.bytes) + png.length)
        expect((await follow(location)).envelope).toEqual(succeeded)
      } finally {
        await set(0)
      }
    })

    it('an upload counts for the limits of its user, although the store took it', async () => {
      const limits = { HERMOD_RATE_LIMIT: 'on', HERMOD_USER_FILE_RATE: '1024' }
      const env = { ...store.env, ...limits, HERMOD_USER_FILE_BURST: '1024' }
      await using limited = await WatchedServer.start(backend, { env })
      const carol = await limited.api.newSession()
      const codeOf = async () => {
        const ticket = (await ticketFor(carol.api, { to_id: carol.id })).envelope.data
        const { location } = await sendForm(ticket, Buffer.alloc(1_000_000, 1))
        const anonymous = { token: null, appId: null }
        return (await limited.api.call('GET', pathOf(location), anonymous)).code
      }
      expect([await codeOf(), await codeOf()]).toEqual([200, answerCode.too_many_requests])
    })

    it('a store that is down is named, and what was stored is there afterwards', async () => {
      const ticket = await ticketOf()
      const { location } = await sendForm(ticket, png)
      for (const fault of [
        { kind: 'down' },
        { kind: 'error', status: 503, code: 'SlowDown' },
      ] as const) {
        store.s3.proxy.fail(fault)
        await expectCode(follow(location), 'object_storage_failed')
        store.s3.proxy.recover()
      }
      expect((await follow(location)).envelope).toEqual(succeeded)
    })
  })

  describe.skipIf(missesSwift)(
    `files through the service in S3 that fails on ${backend.name}`,
    () => {
      let store: S3OfServer
      let watched: WatchedServer
      let alice: Session

      beforeAll(async () => {
        store = await S3OfServer.start({ HERMOD_S3_DOWNLOADS: 'stream' })
        watched = await WatchedServer.start(backend, { env: store.env })
        alice = await watched.api.newSession()
      })

      afterEach(() => store.s3.proxy.recover())

      afterAll(async () => {
        await watched?.[Symbol.asyncDispose]()
        await store?.[Symbol.asyncDispose]()
      })

      it('are refused by name while it is down, and the same ticket works afterwards', async () => {
        const { api } = watched
        const url = await sendFile(alice.api, { to_id: alice.id }, png)
        const ticket = (await ticketFor(alice.api, { to_id: alice.id })).envelope.data
        store.s3.proxy.fail({ kind: 'down' })
        await expectCode(upload(api, ticket, png), 'object_storage_failed')
        expect(await fetchAs(api, alice.token, url)).toBe(answerCode.object_storage_failed)
        expect(await fetchAs(api, alice.token, url, { image_type: 2 })).toBe(
          answerCode.object_storage_failed,
        )
        store.s3.proxy.recover()
        expect((await upload(api, ticket, png)).code).toBe(200)
        expect(await fetchAs(api, alice.token, url)).toEqual(png)
        expect(await fetchAs(api, alice.token, url, { image_type: 2 })).toBeInstanceOf(Buffer)
      })

      it('never come with other bytes than were sent', async () => {
        const url = await sendFile(alice.api, { to_id: alice.id }, Buffer.alloc(40_000, 1))
        store.s3.proxy.fail({ kind: 'wrong_answer' })
        expect(await fetchAs(watched.api, alice.token, url)).toBe(answerCode.object_storage_failed)
      })
    },
  )
}
