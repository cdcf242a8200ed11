/** Thumbnails and mp3 as clients get them: their costs, their failures, and pictures that have none. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { UploadTicket } from '@hermod/protocol'
import { anyBackend, type Session } from '@hermod/testkit'
import sharp from 'sharp'
import { beforeEach, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { container, officeDocument, officeType } from '../support/files/documents.js'
import {
  blobsIn,
  fetchAs,
  fetchBytes,
  fileIdOf,
  fileTypes,
  png,
  sendFile,
  ticketFor,
  upload,
  withCredentials,
} from '../support/files/files.js'
import { gif, png as pngOf } from '../support/files/pictures.js'
import { ownServer } from '../support/in-process-server.js'

const dayMs = 24 * 3_600_000
const limits = { HERMOD_RATE_LIMIT: 'on', HERMOD_USER_RATE: '1', HERMOD_USER_BURST: '10' }
const thumbnail = { image_type: 2 }

/** A picture of one colour. */
function plain(width: number, height: number) {
  return sharp({ create: { width, height, channels: 3, background: '#f00' } })
}

describe.each(anyBackend())('renditions on $name', (backend) => {
  const server = ownServer(backend, limits)
  let alice: Session
  let bob: Session

  beforeEach(async () => {
    ;[alice, bob] = [await server.api.newSession(), await server.api.newSession()]
  })

  const blobOf = (url: string) => {
    const blobs = blobsIn(server.dataDir).filter((path) => path.includes(fileIdOf(url)))
    return join(server.dataDir, 'files', blobs.toSorted()[0] ?? '')
  }

  const fetched = (url: string, wanted = {}) =>
    fetchBytes(withCredentials(server.api, server.adminToken, url, wanted))
  const avatarOf = async ({ api }: Session, content: Buffer) => {
    const { data: ticket } = await api.succeed<UploadTicket>('GET', '/file/upload/avatar/user')
    const { text } = await upload(server.api, ticket, content)
    expect(text).toBe('{"code":200,"data":true,"message":null}')
    return ticket.download_url
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

  it.each(['docx', 'xlsx', 'pptx'] as const)(
    'a document is an attachment of its own type by its content: %s',
    async (format) => {
      const content = officeDocument(format)
      const url = await sendFile(alice.api, { to_id: bob.id }, content, { name: 'file' })
      expect((await fetched(url)).headers).toMatchObject({
        'content-type': officeType(format),
        'content-disposition': 'attachment; filename=file',
        'x-content-type-options': 'nosniff',
      })
    },
  )

  it.each([
    ['report.DOC', 'application/msword'],
    ['list.csv', 'text/csv'],
    ['page.html', 'application/octet-stream'],
    ['code.js', 'application/octet-stream'],
    ['photo.png', 'application/octet-stream'],
  ])(
    'the name of an attachment determines its type, unless it could run: %s',
    async (name, type) => {
      const url = await sendFile(alice.api, { to_id: bob.id }, Buffer.from('words'), { name })
      expect((await fetched(url)).headers).toMatchObject({
        'content-type': type,
        'content-disposition': `attachment; filename=${name}`,
        'x-content-type-options': 'nosniff',
        'content-security-policy': "sandbox; default-src 'none'",
      })
    },
  )

  it.each([
    ['3gp', () => container('3gp4')],
    ['mov', () => container('qt  ')],
    ['caf', () => Buffer.concat([Buffer.from('caff\0\x01\0\0desc'), Buffer.alloc(100)])],
  ])('a recording of a phone is a voice: %s', async (_, make) => {
    const voice = make()
    const url = await sendFile(alice.api, { to_id: bob.id, file_type: fileTypes.voice }, voice)
    expect((await fetched(url)).body).toEqual(voice)
  })

  it.each([
    [
      'a TIFF with its directory at the end',
      async () => plain(200, 100).tiff({ compression: 'none' }).toBuffer(),
    ],
    [
      'a JPEG that lacks its last bytes',
      async () => (await plain(200, 100).jpeg().toBuffer()).subarray(0, -30),
    ],
  ])('has a thumbnail: %s', async (_, make) => {
    const picture = { to_id: bob.id, file_type: fileTypes.picture }
    const url = await sendFile(alice.api, picture, await make())
    const { headers, body } = await fetched(url, thumbnail)
    expect(headers['content-type']).toBe('image/jpeg')
    expect(await sharp(body).metadata()).toMatchObject({ width: 200, height: 100 })
  })

  it.each([
    ['HEIC', () => container('heic')],
    ['BMP', () => Buffer.concat([Buffer.from('BM'), Buffer.alloc(100)])],
  ])(
    'is refused as a picture, since it has no thumbnail, and stored as a file: %s',
    async (_, make) => {
      const to = { to_id: bob.id, file_type: fileTypes.picture }
      const { data: ticket } = await ticketFor(alice.api, to)
      const answer = await upload(server.api, ticket, make())
      expect(answer.code).toBe(answerCode.file_type_invalid)
      expect(answer.text).toContain('pictures are JPEG, PNG, WebP, GIF, AVIF or TIFF')
      await sendFile(alice.api, { to_id: bob.id }, make())
    },
  )

  it('an avatar loses the place where it was taken, and stays upright', async () => {
    const exif = { IFD0: { Copyright: 'the owner' }, IFD3: { GPSLatitude: '51/1 30/1 0/1' } }
    const photo = plain(400, 200).withMetadata({ orientation: 6 }).withExifMerge(exif)
    const url = await avatarOf(alice, await photo.jpeg().toBuffer())
    const { body } = await fetched(url)
    expect(body.includes('the owner')).toBe(false)
    const { width, height, exif: left } = await sharp(body).metadata()
    expect({ width, height, left }).toEqual({ width: 200, height: 400, left: undefined })
  })

  it('an avatar without metadata stays as it is', async () => {
    const animation = gif(40, 40, 5)
    expect((await fetched(await avatarOf(alice, animation))).body).toEqual(animation)
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
