/** What is done with the content of files: types, pictures, voice; and what hostile ones cannot do. */
import { execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { TempFolder } from '@hermod/testkit'
import sharp from 'sharp'
import { afterAll, describe, expect, it } from 'vitest'
import { detectType } from '../../dist/media/detect-type.js'
import { FfmpegConverter } from '../../dist/media/ffmpeg-converter.js'
import { headBytes } from '../../dist/media/media.js'
import { PictureRenderer } from '../../dist/media/pictures/picture-renderer.js'
import { amr } from '../support/files/files.js'
import { gif, manyScans, png } from '../support/files/pictures.js'

const red = { r: 255, g: 0, b: 0 }
const inside = { width: 200, height: 200, fit: 'inside' } as const

function sourceOf(content: Buffer) {
  const stream = Readable.from([content])
  return { size: content.length, stream, open: async () => stream }
}

/** A user who wants something converted. */
function turnOf(userId: number, appId = 'shop') {
  const charged: number[] = []
  return { appId, userId, charged, charge: (tokens: number) => void charged.push(tokens) }
}

const turn = turnOf(1)

/** A picture of one colour. */
function plain(width: number, height: number, channels: 3 | 4 = 3) {
  return sharp({ create: { width, height, channels, background: { ...red, alpha: 0.5 } } })
}

/** With GPS data, and turned by its EXIF data. */
async function photo(width: number, height: number): Promise<Buffer> {
  const exif = { IFD0: { Copyright: 'somebody' }, IFD3: { GPSLatitude: '51/1 30/1 0/1' } }
  return plain(width, height).withMetadata({ orientation: 6 }).withExifMerge(exif).jpeg().toBuffer()
}

/** Its frames have different colours, red first. */
async function animation(format: 'gif' | 'webp', frames: number): Promise<Buffer> {
  const [width, height] = [60, 40]
  const pixels = Buffer.concat(
    Array.from({ length: frames }, (_, index) =>
      Buffer.alloc(width * height * 3, index === 0 ? Buffer.from([255, 0, 0]) : index),
    ),
  )
  const raw = { width, height: height * frames, channels: 3, pageHeight: height } as const
  return sharp(pixels, { raw }).toFormat(format).toBuffer()
}

/** An AVIF of few pixels that says to have this size. */
async function avifOf(width: number, height: number): Promise<Buffer> {
  const picture = await plain(16, 16).avif({ effort: 0 }).toBuffer()
  const size = picture.indexOf('ispe') + 8
  picture.writeUInt32BE(width, size)
  picture.writeUInt32BE(height, size + 4)
  return picture
}

const svg = Buffer.from(
  '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><image href="file:///etc/passwd"/></svg>',
)

describe('type by content', () => {
  const mp4 = Buffer.from('000000186674797069736f6d0000020069736f6d6d703431', 'hex')
  const wav = Buffer.concat([Buffer.from('RIFF$\0\0\0WAVEfmt '), Buffer.alloc(32)])
  it.each([
    ['image/jpeg', 'image', true, () => plain(9, 9).jpeg().toBuffer()],
    ['image/png', 'image', true, () => plain(9, 9).png().toBuffer()],
    ['image/webp', 'image', true, () => plain(9, 9).webp().toBuffer()],
    ['image/gif', 'image', true, () => plain(9, 9).gif().toBuffer()],
    ['image/avif', 'image', true, () => plain(9, 9).avif().toBuffer()],
    ['image/tiff', 'image', false, () => plain(9, 9).tiff().toBuffer()],
    ['audio/amr', 'audio', true, () => Buffer.from('#!AMR\n<')],
    ['audio/amr', 'audio', true, () => Buffer.from('#!AMR-WB\n<')],
    ['audio/wav', 'audio', true, () => wav],
    ['video/mp4', 'video', true, () => mp4],
    ['application/pdf', 'other', false, () => Buffer.from('%PDF-1.7\n')],
    ['application/zip', 'other', false, () => Buffer.from('504b0304140000000000', 'hex')],
    ['application/xml', 'other', false, () => Buffer.from('<?xml version="1.0"?><svg/>')],
    ['application/octet-stream', 'other', false, () => svg],
    ['application/octet-stream', 'other', false, () => Buffer.from('<!doctype html><script>')],
    ['application/octet-stream', 'other', false, () => Buffer.from('plain text')],
    ['application/octet-stream', 'other', false, () => Buffer.alloc(0)],
    ['application/octet-stream', 'other', false, () => Buffer.alloc(headBytes)],
  ] as const)('%s (%s, inline: %s)', async (contentType, kind, isInline, make) => {
    const head = (await make()).subarray(0, headBytes)
    expect(await detectType(head)).toEqual({ contentType, kind, isInline })
  })
})

describe('pictures', () => {
  const renderer = new PictureRenderer()
  afterAll(() => renderer.stop())
  const render = (picture: Buffer, of = turn) => renderer.render(sourceOf(picture), inside, of)

  it.each(['jpeg', 'png', 'webp', 'gif', 'avif', 'tiff'] as const)('reads %s', async (format) => {
    const picture = await plain(800, 400).toFormat(format).toBuffer()
    const { contentType, body, width, height } = await render(picture)
    expect({ width, height }).toEqual({ width: 200, height: 100 })
    expect(await detectType(body)).toMatchObject({ contentType })
    const { dominant } = await sharp(body).stats()
    expect(dominant).toMatchObject({ r: 248, g: 8, b: 8 })
  })

  it('cuts the middle out for a cover, and enlarges only for that', async () => {
    const picture = await plain(100, 50).png().toBuffer()
    const cover = await renderer.render(
      sourceOf(picture),
      { width: 300, height: 300, fit: 'cover' },
      turn,
    )
    expect(cover).toMatchObject({ contentType: 'image/jpeg', width: 300, height: 300 })
    expect(await render(picture)).toMatchObject({
      width: 100,
      height: 50,
    })
  })

  it('keeps what is transparent so', async () => {
    const picture = await plain(300, 300, 4).png().toBuffer()
    const { contentType, body } = await render(picture)
    expect(contentType).toBe('image/webp')
    expect((await sharp(body).stats()).isOpaque).toBe(false)
  })

  it('turns a photo as its EXIF data says, and leaves that and the place behind', async () => {
    const picture = await photo(400, 200)
    expect((await sharp(picture).metadata()).exif?.includes('somebody')).toBe(true)
    const { body, width, height } = await render(picture)
    expect({ width, height }).toEqual({ width: 100, height: 200 })
    const metadata = await sharp(body).metadata()
    expect([metadata.exif, metadata.xmp, metadata.iptc, metadata.orientation]).toEqual(
      Array(4).fill(undefined),
    )
  })

  it.each(['gif', 'webp'] as const)('takes the first frame of an animated %s', async (format) => {
    const picture = await animation(format, 5)
    const { body, width, height } = await render(picture)
    expect({ width, height }).toEqual({ width: 60, height: 40 })
    expect((await sharp(body).stats()).dominant).toMatchObject({ r: 248, g: 8, b: 8 })
  })

  it.each([
    ['a PNG of 64 million pixels in 63 KiB', () => png(8000, 8000)],
    ['a PNG that says to have 4 billion pixels', () => png(65_535, 65_535, 1)],
    ['a GIF of 1001 frames', () => gif(10, 10, 1001)],
    ['a JPEG of 2,649 scans', () => manyScans(100)],
    ['an AVIF that says to have 16 million pixels', () => avifOf(4000, 4000)],
    ['33 MiB', () => Buffer.concat([png(10, 10), Buffer.alloc(33 * 1024 * 1024)])],
  ])('refuses a bomb before it is decoded: %s', async (_, make) => {
    const bomb = await make()
    const isRefused = { name: 'MediaError', reason: 'too_complex' }
    await expect(render(bomb)).rejects.toMatchObject(isRefused)
  })

  it('takes pictures below these limits', async () => {
    const large = png(7000, 7000)
    expect(await render(large)).toMatchObject({
      width: 200,
      height: 200,
    })
    expect(await render(gif(10, 10, 1000))).toMatchObject({ width: 10, height: 10 })
  })

  it.each([
    ['nothing', () => Buffer.alloc(0)],
    ['random bytes', () => randomBytes(10_000)],
    ['text', () => Buffer.from('no picture')],
    ['SVG', () => svg],
    ['the head of a JPEG', async () => (await photo(400, 200)).subarray(0, 20)],
  ])('refuses what it cannot read: %s', async (_, make) => {
    const source = sourceOf(await make())
    const rendering = renderer.render(source, inside, turn)
    await expect(rendering).rejects.toMatchObject({ name: 'MediaError', reason: 'unreadable' })
    expect(source.stream.destroyed).toBe(true)
  })

  it('a picture that was cut off has a thumbnail', async () => {
    const picture = await photo(400, 200)
    expect(await render(picture.subarray(0, -40))).toMatchObject({ width: 100, height: 200 })
    expect(await render(png(500, 500, 250))).toMatchObject({ width: 200, height: 200 })
  })

  it('fails with the error of its source, and renders the next picture', async () => {
    const stream = new Readable({ read() {} })
    const rendering = renderer.render({ size: 9, open: async () => stream }, inside, turn)
    stream.destroy(new Error('the store is down'))
    await expect(rendering).rejects.toThrow('the store is down')
    expect(await render(png(9, 9))).toMatchObject({ width: 9 })
  })

  it('a picture costs its user tokens by pixels and time, also when it is refused', async () => {
    const [large, small, refused] = [turnOf(1), turnOf(1), turnOf(1)]
    await render(png(4000, 4000), large)
    await render(png(9, 9), small)
    await render(png(8000, 8000), refused).catch(() => {})
    expect(large.charged.length).toBe(1)
    expect(large.charged[0]).toBeGreaterThan(4)
    expect(small.charged[0]).toBeGreaterThan(0)
    expect(refused.charged[0]).toBeGreaterThan(0)
  })
})

const ffmpeg = spawnSync('ffmpeg', ['-version']).error
  ? null
  : execFileSync('sh', ['-c', 'command -v ffmpeg'], { encoding: 'utf8' }).trim()

/** In seconds. */
function duration(mp3: Buffer): number {
  const args = ['-f', 'mp3', '-i', '-', '-f', 's16le', '-ac', '1', '-ar', '8000', '-']
  return spawnSync('ffmpeg', args, { input: mp3 }).stdout.length / 16_000
}

describe('voice', () => {
  it('is not converted on a machine without ffmpeg', async () => {
    const converting = new FfmpegConverter(null).toMp3(sourceOf(amr(1)), turn)
    await expect(converting).rejects.toMatchObject({ name: 'MediaError', reason: 'unsupported' })
  })

  it('is not converted when the program has gone', async () => {
    const converting = new FfmpegConverter('/no/such/ffmpeg').toMp3(sourceOf(amr(1)), turn)
    await expect(converting).rejects.toMatchObject({ name: 'MediaError', reason: 'unsupported' })
  })

  it('ends a program that writes without end', async () => {
    using folder = new TempFolder('ffmpeg')
    const program = join(folder.path, 'ffmpeg')
    writeFileSync(program, '#!/bin/sh\nexec cat /dev/zero\n')
    chmodSync(program, 0o755)
    const converting = new FfmpegConverter(program).toMp3(sourceOf(amr(1)), turn)
    await expect(converting).rejects.toMatchObject({ name: 'MediaError', reason: 'too_complex' })
  })

  describe.skipIf(ffmpeg === null)('with ffmpeg', () => {
    const converter = new FfmpegConverter(ffmpeg)

    it('becomes an mp3 of the same length', async () => {
      const mp3 = await converter.toMp3(sourceOf(amr(3)), turn)
      expect(await detectType(mp3)).toMatchObject({ contentType: 'audio/mpeg' })
      expect(Math.abs(duration(mp3) - 3)).toBeLessThan(0.3)
    })

    it.each([
      ['nothing', () => Buffer.alloc(0)],
      ['random bytes', () => randomBytes(5000)],
      ['only the beginning', () => Buffer.from('#!AMR\n')],
      ['a list of files', () => Buffer.from("ffconcat version 1.0\nfile '/etc/passwd'\n")],
      ['an HLS playlist', () => Buffer.from('#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n')],
    ])('is refused when it cannot be read: %s', async (_, make) => {
      const converting = converter.toMp3(sourceOf(make()), turn)
      await expect(converting).rejects.toMatchObject({ name: 'MediaError', reason: 'unreadable' })
    })

    it.each([
      ['more than 2 MiB', () => Buffer.alloc(2 * 1024 * 1024 + 1)],
      // A frame without data is one byte of silence for 20 ms.
      [
        '11 hours of silence in 2 MB',
        () => Buffer.concat([Buffer.from('#!AMR\n'), Buffer.alloc(2e6, 0x7c)]),
      ],
    ])('is refused when it is too long: %s', async (_, make) => {
      const converting = converter.toMp3(sourceOf(make()), turn)
      await expect(converting).rejects.toMatchObject({ name: 'MediaError', reason: 'too_complex' })
    })
  })
})
