/** Files as clients send and fetch them, on both databases. */
import { type Session, testBackends } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  fetchAs,
  fetchBytes,
  fileTypes,
  png,
  sendFile,
  signOf,
  targets,
  ticketFor,
  upload,
  withCredentials,
} from './support/files.js'
import { WatchedServer } from './support/watched-server.js'

for (const backend of testBackends()) {
  describe(`files on ${backend.name}`, () => {
    let watched: WatchedServer
    let alice: Session
    let bob: Session

    beforeAll(async () => {
      watched = await WatchedServer.start(backend)
      const { api } = watched
      ;[alice, bob] = [await api.newSession(), await api.newSession()]
    })

    afterAll(async () => {
      await watched?.[Symbol.asyncDispose]()
    })

    it('a ticket names where to send the file, with which fields, and where it will be', async () => {
      const { data } = (await ticketFor(alice.api, { to_id: bob.id })).envelope
      const { url } = alice.api.options
      expect(data).toEqual({
        upload_url: expect.stringMatching(new RegExp(`^${url}/file/upload\\?ticket=[\\w-]+$`)),
        upload_method: 'POST',
        oss_body_param: {},
        download_url: expect.stringMatching(
          new RegExp(`^${url}/file/download/chat\\?file_sign=[\\w-]+$`),
        ),
      })
    })

    it('a picture goes to its recipient and comes back as it was, in an element of a page', async () => {
      const url = await sendFile(
        alice.api,
        { to_id: bob.id, to_type: targets.user, file_type: fileTypes.picture },
        png,
        { name: 'red.png' },
      )
      const { status, headers, body } = await fetchBytes(withCredentials(bob.api, bob.token, url))
      expect({ status, body }).toEqual({ status: 200, body: png })
      expect(headers).toMatchObject({
        'content-type': 'image/png',
        'content-disposition': 'inline; filename=red.png',
        'cross-origin-resource-policy': 'cross-origin',
      })
      const thumbnail = await fetchAs(bob.api, bob.token, url, { image_type: 2 })
      expect(thumbnail.subarray(0, 4).toString('hex')).toMatch(/^(52494646|ffd8ff)/)
      expect(await fetchAs(bob.api, bob.token, url, { image_type: 2 })).toEqual(thumbnail)
    })

    it('a file is forwarded by the text after sign=, and its new address is for the new recipient', async () => {
      const carol = await watched.api.newSession()
      const url = await sendFile(alice.api, { to_id: bob.id }, Buffer.from('plain'))
      expect(await fetchAs(carol.api, carol.token, url)).toBe(10010)
      const { data: forwarded } = await bob.api.succeed('GET', '/file/upload/forward', {
        query: { file_sign: signOf(url), to_id: carol.id, to_type: targets.user },
      })
      expect(await fetchAs(carol.api, carol.token, forwarded)).toEqual(Buffer.from('plain'))
      expect(await fetchAs(carol.api, carol.token, url)).toBe(10010)
    })

    it('a ticket is for one file', async () => {
      const { data: ticket } = (await ticketFor(alice.api, { to_id: bob.id })).envelope
      const answers = await Promise.all(
        ['first', 'second', 'third'].map((text) => upload(alice.api, ticket, Buffer.from(text))),
      )
      expect(answers.map(({ code }) => code).toSorted((a, b) => a - b)).toEqual([200, 14009, 14009])
      const winner = ['first', 'second', 'third'][answers.findIndex(({ code }) => code === 200)]
      expect(String(await fetchAs(bob.api, bob.token, ticket.download_url))).toBe(winner)
    })
  })
}
