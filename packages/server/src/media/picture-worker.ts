/** Decodes pictures in a process of its own, one at a time; see {@link PictureJob}. */
import sharp, { type Metadata, type SharpOptions } from 'sharp'
import { countJpegScans } from './jpeg-scans.js'
import type { RenderedImage } from './media.js'
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
    const excess = excessOf(input, metadata)
    if (excess !== null) return { pixels: 0, reason: 'too_complex', message: excess }
    return { pixels, image: await render(input, job, metadata.hasAlpha) }
  } catch {
    return { pixels, reason: 'unreadable', message: 'the picture cannot be read' }
  }
}

/** Counts what decoding costs by the headers. @returns null when the picture may be decoded */
function excessOf(input: Buffer, { format, width, height, pages = 1 }: Metadata): string | null {
  const limit = format === 'heif' ? maxAvifPixels : maxPixels
  if (width * height > limit) return `${width} x ${height} pixels are too many`
  if (pages > maxFrames) return `${pages} frames are too many`
  const scans = format === 'jpeg' ? countJpegScans(input) : 0
  return scans > maxScans ? `${scans} scans are too many` : null
}

async function render(
  input: Buffer,
  { width, height, fit }: PictureJob,
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
