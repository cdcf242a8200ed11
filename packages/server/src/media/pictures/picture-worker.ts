/** Decodes pictures in a separate process, one at a time; see {@link PictureJob}. */
import sharp, { type Metadata, type SharpOptions } from 'sharp'
import type { CleanImage, RenderedImage, RenderOptions } from '../media.js'
import { countJpegScans } from './jpeg-scans.js'
import type { PictureAnswer, PictureJob } from './picture-job.js'

/** Decoders without vector graphics, and without formats that read other files. */
const decoders = [
  'VipsForeignLoadJpegBuffer',
  'VipsForeignLoadPngBuffer',
  'VipsForeignLoadWebpBuffer',
  'VipsForeignLoadNsgifBuffer',
  'VipsForeignLoadHeifBuffer',
  'VipsForeignLoadTiffBuffer',
]
const maxPixels = 50_000_000
/** A decoded AVIF takes four times the memory of other pictures. */
const maxAvifPixels = 13_000_000
const maxFrames = 1_000
/** Encoders of progressive JPEG write about ten. Each one costs a pass over all pixels. */
const maxScans = 100

const inputOptions: SharpOptions = {
  limitInputPixels: false,
  sequentialRead: true,
  // A picture that was cut off is shown as far as it goes, as browsers do.
  failOn: 'none',
}

sharp.cache(false)
sharp.concurrency(1)
sharp.block({ operation: ['VipsForeignLoad'] })
sharp.unblock({ operation: decoders })

process.on('disconnect', () => process.exit())
process.on('message', (job: PictureJob) => void answer(job))

async function answer(job: PictureJob): Promise<void> {
  const input = await readInput(job.bytes)
  process.send?.(await convert(input, job))
}

function readInput(bytes: number): Promise<Buffer> {
  const { stdin } = process
  const input = Buffer.allocUnsafeSlow(bytes)
  if (bytes === 0) return Promise.resolve(input)
  let size = 0
  return new Promise((resolve) => {
    const take = (chunk: Buffer) => {
      size += chunk.copy(input, size)
      if (size < bytes) return
      // The bytes of the next picture may arrive before its job.
      stdin.off('data', take).pause()
      resolve(input)
    }
    stdin.on('data', take).resume()
  })
}

async function convert(input: Buffer, job: PictureJob): Promise<PictureAnswer> {
  let pixels = 0
  try {
    const metadata = await sharp(input, inputOptions).metadata()
    pixels = metadata.width * metadata.height
    const excess = excessOf(input, metadata, job)
    if (excess !== null) return { pixels: 0, reason: 'too_complex', message: excess }
    if (job.render) return { pixels, rendered: await render(input, job.render, metadata.hasAlpha) }
    return { pixels, clean: hasMetadata(metadata) ? await clean(input, metadata) : null }
  } catch {
    return { pixels, reason: 'unreadable', message: 'the picture cannot be read' }
  }
}

/** Counts what the work costs by the headers. @returns null when the picture may be decoded */
function excessOf(input: Buffer, metadata: Metadata, { render }: PictureJob): string | null {
  const { format, width, height, pages = 1 } = metadata
  const frames = render === null && hasMetadata(metadata) ? pages : 1
  const limit = format === 'heif' ? maxAvifPixels : maxPixels
  if (width * height * frames > limit) return `${width} x ${height} pixels are too many`
  if (pages > maxFrames) return `${pages} frames are too many`
  const scans = format === 'jpeg' ? countJpegScans(input) : 0
  return scans > maxScans ? `${scans} scans are too many` : null
}

async function render(
  input: Buffer,
  { width, height, fit }: RenderOptions,
  hasAlpha: boolean,
): Promise<RenderedImage> {
  const resized = sharp(input, inputOptions)
    .autoOrient()
    .resize({ width, height, fit, withoutEnlargement: fit === 'inside' })
  const encoded = hasAlpha ? resized.webp({ quality: 80 }) : resized.jpeg({ quality: 80 })
  const { data, info } = await encoded.toBuffer({ resolveWithObject: true })
  const contentType = hasAlpha ? 'image/webp' : 'image/jpeg'
  return { contentType, body: data, width: info.width, height: info.height }
}

/** TIFF has the location in a separate directory, which is not listed. */
function hasMetadata({ format, exif, xmp, iptc, comments, tifftagPhotoshop }: Metadata): boolean {
  const isListed = [exif, xmp, iptc, comments, tifftagPhotoshop].some((item) => item !== undefined)
  return isListed || format === 'tiff'
}

/** Encodes the picture again; sharp copies no metadata. */
async function clean(
  input: Buffer,
  { format, hasAlpha, pages = 1 }: Metadata,
): Promise<CleanImage> {
  const upright = sharp(input, { ...inputOptions, animated: pages > 1 }).autoOrient()
  const formats = {
    jpeg: () => upright.jpeg({ quality: 90 }),
    png: () => upright.png(),
    gif: () => upright.gif(),
    webp: () => upright.webp({ quality: 90 }),
  }
  const other = hasAlpha ? 'webp' : 'jpeg'
  const kept = Object.hasOwn(formats, format) ? (format as keyof typeof formats) : other
  return { contentType: `image/${kept}`, body: await formats[kept]().toBuffer() }
}
