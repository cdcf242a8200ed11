import type { Readable } from 'node:stream'
import type { Metadata, SharpOptions } from 'sharp'
import { lateLoader } from '../lib/system/late-loader.js'
import {
  type ImageRenderer,
  type ImageSize,
  MediaError,
  type RenderedImage,
  type RenderOptions,
} from './media.js'
import { readBounded } from './read-bounded.js'
import { WorkQueue } from './work-queue.js'

/** Decoded with alpha this is 200 MB, which some formats need in one buffer. */
const maxPixels = 50_000_000
const maxFrames = 1000
/** Bound of the file. */
const maxSourceBytes = 32 * 1024 * 1024
const timeLimitSeconds = 10
/** Passwords and files share the four threads of the pool, so pictures take one of them. */
const queue = { parallel: 1, maxWaiting: 64 }

/** The decoders for untrusted bytes: no SVG, no PDF, none that reads other files. */
const decoders = [
  'VipsForeignLoadJpegBuffer',
  'VipsForeignLoadPngBuffer',
  'VipsForeignLoadWebpBuffer',
  'VipsForeignLoadNsgifBuffer',
  'VipsForeignLoadHeifBuffer',
]

const inputOptions: SharpOptions = {
  limitInputPixels: maxPixels,
  sequentialRead: true,
  // Cameras write pictures with harmless mistakes; cut or broken pictures are refused.
  failOn: 'error',
}

type SharpModule = typeof import('sharp')['default']

const load = lateLoader(import.meta.url)

/** Renders pictures with sharp (libvips): JPEG, PNG, WebP, GIF and AVIF. The library is loaded with the first picture. */
export class SharpRenderer implements ImageRenderer {
  readonly #queue = new WorkQueue(queue)
  #sharp: SharpModule | undefined

  async measure(source: Readable): Promise<ImageSize> {
    return this.#queue.run(source, async () => {
      const { autoOrient } = await this.#inspect(await readBounded(source, maxSourceBytes))
      return autoOrient
    })
  }

  async render(source: Readable, options: RenderOptions): Promise<RenderedImage> {
    return this.#queue.run(source, async () => {
      const input = await readBounded(source, maxSourceBytes)
      const { hasAlpha } = await this.#inspect(input)
      return this.#resize(input, options, hasAlpha)
    })
  }

  /** Reads the headers. @throws MediaError for a picture that must not be decoded */
  async #inspect(input: Buffer): Promise<Metadata> {
    // The library's own limit throws an unspecific error, so it is off here.
    const options = { ...inputOptions, limitInputPixels: false }
    const metadata = await readable(() => this.#load()(input, options).metadata())
    const { width, height, pages = 1 } = metadata
    if (width * height > maxPixels)
      throw new MediaError('too_complex', `${width} x ${height} pixels are too many`)
    if (pages > maxFrames) throw new MediaError('too_complex', `${pages} frames are too many`)
    return metadata
  }

  async #resize(
    input: Buffer,
    { width, height, fit }: RenderOptions,
    hasAlpha: boolean,
  ): Promise<RenderedImage> {
    const resized = this.#load()(input, inputOptions)
      .timeout({ seconds: timeLimitSeconds })
      .autoOrient()
      .resize({ width, height, fit, withoutEnlargement: fit === 'inside' })
    const encoded = hasAlpha ? resized.webp({ quality: 80 }) : resized.jpeg({ quality: 80 })
    const { data, info } = await readable(() => encoded.toBuffer({ resolveWithObject: true }))
    const contentType = hasAlpha ? 'image/webp' : 'image/jpeg'
    return { contentType, body: data, width: info.width, height: info.height }
  }

  #load(): SharpModule {
    this.#sharp ??= loadSharp()
    return this.#sharp
  }
}

function loadSharp(): SharpModule {
  const sharp = load('sharp') as SharpModule
  sharp.cache(false)
  sharp.concurrency(1)
  sharp.block({ operation: ['VipsForeignLoad'] })
  sharp.unblock({ operation: decoders })
  return sharp
}

/** Maps a failure of the library to an unreadable picture. */
async function readable<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw new MediaError('unreadable', 'the picture cannot be read', { cause: error })
  }
}
