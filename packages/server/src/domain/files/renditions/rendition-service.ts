import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { AppError } from '@hermod/protocol'
import type { BlobStore } from '../../../blobs/blob-store.js'
import type { Clock } from '../../../lib/clock.js'
import { boundedCache } from '../../../lib/limits/bounded-cache.js'
import {
  type DetectedType,
  headBytes,
  type ImageRenderer,
  type MediaSource,
  type MediaTurn,
  type VoiceConverter,
} from '../../../media/media.js'
import { fileFailure } from '../file-failures.js'
import { originalKey, renditionKey, type StoredFile } from '../file-model.js'
import { FailedRenditions } from './failed-renditions.js'
import { pictureForm, type WantedPicture } from './rendition-model.js'

interface RenditionServiceOptions {
  readonly blobs: Pick<BlobStore, 'open' | 'put' | 'stat'>
  readonly images: ImageRenderer
  readonly voices: VoiceConverter
  /** Detects the type of a file by its first bytes. */
  readonly detectType: (head: Buffer) => Promise<DetectedType>
  readonly clock: Clock
}

/** A stored form of a file. */
export interface Rendition {
  /** The name of the form: lower-case letters, digits and dashes. */
  readonly name: string
  readonly key: string
  readonly contentType: string
  /** Bytes. */
  readonly size: number
}

interface Made {
  readonly contentType: string
  readonly body: Buffer
}

/** A form to make. */
interface RenditionRecipe {
  readonly name: string
  /** The failure of one form of a family is that of all. */
  readonly family: 'picture' | 'mp3'
  make(source: MediaSource): Promise<Made>
}

const mp3Type = 'audio/mpeg'
const amrType = /^audio\/amr/
const maxKnown = 10_000

/**
 * Makes other forms of files: smaller pictures, voice as mp3. The first request for a form makes
 * it, pays for it, and it is stored with the file.
 */
export class RenditionService {
  readonly #known = boundedCache<string, Rendition>(maxKnown)
  readonly #inProgress = new Map<string, Promise<Rendition>>()
  readonly #failed: FailedRenditions

  constructor(private readonly options: RenditionServiceOptions) {
    this.#failed = new FailedRenditions(options)
  }

  /**
   * @throws AppError rendition_unavailable, picture_too_complex, object_storage_failed,
   * file_storage_full, unavailable
   */
  async picture(file: StoredFile, wanted: WantedPicture, turn: MediaTurn): Promise<Rendition> {
    if (!file.contentType.startsWith('image/'))
      throw new AppError('rendition_unavailable', 'it is no picture')
    const form = pictureForm(wanted)
    return this.#get(file, {
      name: form.name,
      family: 'picture',
      make: (source) => this.options.images.render(source, form, turn),
    })
  }

  /**
   * @returns null when the file is an mp3
   * @throws AppError as {@link picture}, voice_conversion_unavailable
   */
  async mp3(file: StoredFile, turn: MediaTurn): Promise<Rendition | null> {
    if (file.contentType === mp3Type) return null
    if (!amrType.test(file.contentType))
      throw new AppError('rendition_unavailable', 'it is no voice in the format amr')
    return this.#get(file, {
      name: 'mp3',
      family: 'mp3',
      make: async (source) => ({
        contentType: mp3Type,
        body: await this.options.voices.toMp3(source, turn),
      }),
    })
  }

  /** Concurrent requests for one form share its making. */
  async #get(file: StoredFile, form: RenditionRecipe): Promise<Rendition> {
    const key = renditionKey(file, form.name)
    const known = this.#known.get(key) ?? this.#inProgress.get(key)
    if (known) return known
    const found = this.#findOrMake(file, key, form)
    this.#inProgress.set(key, found)
    try {
      const rendition = await found
      this.#known.set(key, rendition)
      return rendition
    } catch (error) {
      throw fileFailure(error)
    } finally {
      this.#inProgress.delete(key)
    }
  }

  async #findOrMake(file: StoredFile, key: string, form: RenditionRecipe): Promise<Rendition> {
    const { blobs, detectType } = this.options
    const { name } = form
    const stat = await blobs.stat(key)
    if (stat) {
      const end = Math.min(headBytes, stat.size) - 1
      const head = await buffer(await blobs.open(key, { range: { start: 0, end } }))
      const { contentType } = await detectType(head)
      return { key, name, contentType, size: stat.size }
    }
    const { contentType, body } = await this.#make(file, form)
    const size = body.length
    await blobs.put(key, Readable.from([body]), { contentType, maxBytes: size })
    return { key, name, contentType, size }
  }

  async #make(file: StoredFile, { family, make }: RenditionRecipe): Promise<Made> {
    const { blobs } = this.options
    const failureKey = renditionKey(file, `${family}-failed`)
    await this.#failed.requireNone(failureKey)
    const { size, crc32 } = file
    const expected = crc32 === null ? { size } : { size, crc32 }
    try {
      return await make({ size, open: () => blobs.open(originalKey(file), { expected }) })
    } catch (error) {
      await this.#failed.remember(failureKey, error)
      throw error
    }
  }
}
