/** Thumbnails and mp3 as clients get them: their costs, their failures, and pictures that have none. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { anyBackend, type Session } from '@hermod/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import {
  blobsIn,
  fetchAs,
  fetchBytes,
  fileIdOf,
  fileTypes,
  png,
  sendFile,
  withCredentials,
} from '../support/files/files.js'
import { png as pngOf } from '../support/files/pictures.js'
import { InProcessServer } from '../support/in-process-server.js'

const dayMs = 24 * 3_600_000
const limits = { HERMOD_RATE_LIMIT: 'on', HERMOD_USER_RATE: '1', HERMOD_USER_BURST: '10' }
const thumbnail = { image_type: 2 }

for (const backend of anyBackend())
  describe(`renditions on ${backend.name}`, () => {
    let server: InProcessServer
    let alice: Session
    let bob: Session

    beforeAll(async () => {
      server = await InProcessServer.start(backend, limits)
    })

    beforeEach(async () => {
      ;[alice, bob] = [await server.api.newSession(), await server.api.newSession()]
    })

    afterAll(() => server?.[Symbol.asyncDispose]())

    const blobOf = (url: string) => {
      const blobs = blobsIn(server.dataDir).filter((path) => path.includes(fileIdOf(url)))
      return join(server.dataDir, 'files', blobs.toSorted()[0] ?? '')
    }

    it('a file that cannot be converted is not tried again for a week, also after a restart', async () => {
      const damaged = Buffer.concat([png.subarray(0, 30), Buffer.alloc(40)])
      const url = await sendFile(alice.api, { to_id: bob.id }, damaged)
      const wanted = () => fetchAs(server.api, server.adminToken, url, thumbnail)
      expect(await wanted()).toBe(answerCode.rendition_unavailable)
      // Reading it again would succeed.
      writeFileSync(blobOf(url), png.subarray(0, damaged.length))
      expect(await wanted()).toBe(answerCode.rendition_unavailable)
      await server.stop()
      await server.startAgain()
      expect(await wanted()).toBe(answerCode.rendition_unavailable)
      server.clock.set(Date.now() + 8 * dayMs)
      await server.stop()
      await server.startAgain()
      expect(await wanted()).toBeInstanceOf(Buffer)
      server.clock.set(Date.now())
    })

    it('HEAD of a thumbnail costs its user the rendering, and its repetition does not', async () => {
      const picture = { to_id: bob.id, file_type: fileTypes.picture }
      const url = await sendFile(alice.api, picture, pngOf(6_000, 6_000))
      const address = withCredentials(server.api, bob.token, url, thumbnail)
      const head = () => fetchBytes(address, { method: 'HEAD' })
      expect(await head()).toMatchObject({ headers: { 'content-type': 'image/jpeg' } })
      const refused = await bob.api.call('GET', '/user/profile')
      expect(refused.code).toBe(answerCode.too_many_requests)
      const url2 = withCredentials(server.api, alice.token, url, thumbnail)
      for (let count = 0; count < 4; count++)
        expect((await fetchBytes(url2, { method: 'HEAD' })).headers['content-type']).toBe(
          'image/jpeg',
        )
    })
  })
