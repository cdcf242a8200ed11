import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { AppError } from '@hermod/protocol'
import type { BlobStore } from '../../../blobs/blob-store.js'
import { boundedCache } from '../../../lib/limits/bounded-cache.js'
import {
  type DetectedType,
  headBytes,
  type ImageRenderer,
  type VoiceConverter,
} from '../../../media/media.js'
import { fileFailure } from '../file-failures.js'
import { originalKey, renditionKey, type StoredFile } from '../file-model.js'
import { pictureForm, type WantedPicture } from './rendition-model.js'

export interface RenditionServiceOptions {
  readonly blobs: Pick<BlobStore, 'open' | 'put' | 'stat'>
  readonly images: ImageRenderer
  readonly voices: VoiceConverter
  /** Detects the type of a file by its first bytes. */
  readonly detectType: (head: Buffer) => Promise<DetectedType>
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

const mp3Type = 'audio/mpeg'
const amrType = /^audio\/amr/
const maxKnown = 10_000
/** Makes other forms of files: smaller pictures, voice as mp3. The first request for a form makes it, and it is stored with the file. */
export class RenditionService {
  readonly #known = boundedCache<string, Rendition>(maxKnown)
  readonly #inProgress = new Map<string, Promise<Rendition>>()

  constructor(private readonly options: RenditionServiceOptions) {}

  /** @throws AppError rendition_unavailable, picture_too_complex, object_storage_failed, file_storage_full, unavailable */
  async picture(file: StoredFile, wanted: WantedPicture): Promise<Rendition> {
    if (!file.contentType.startsWith('image/'))
      throw new AppError('rendition_unavailable', 'it is no picture')
    const form = pictureForm(wanted)
    return this.#get(file, form.name, (source) => this.options.images.render(source, form))
  }

  /**
   * @returns null when the file is an mp3
   * @throws AppError as {@link picture}, voice_conversion_unavailable
   */
  async mp3(file: StoredFile): Promise<Rendition | null> {
    if (file.contentType === mp3Type) return null
    if (!amrType.test(file.contentType))
      throw new AppError('rendition_unavailable', 'it is no voice in the format amr')
    return this.#get(file, 'mp3', async (source) => ({
      contentType: mp3Type,
      body: await this.options.voices.toMp3(source),
    }))
  }

  /** Concurrent requests for one form share its making. */
  async #get(
    file: StoredFile,
    name: string,
    make: (source: Readable) => Promise<Made>,
  ): Promise<Rendition> {
    const key = renditionKey(file, name)
    const known = this.#known.get(key) ?? this.#inProgress.get(key)
    if (known) return known
    const found = this.#findOrMake(file, { key, name }, make)
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

  async #findOrMake(
    file: StoredFile,
    { key, name }: Pick<Rendition, 'key' | 'name'>,
    make: (source: Readable) => Promise<Made>,
  ): Promise<Rendition> {
    const { blobs, detectType } = this.options
    const stat = await blobs.stat(key)
    if (stat) {
      const end = Math.min(headBytes, stat.size) - 1
      const head = await buffer(await blobs.open(key, { range: { start: 0, end } }))
      const { contentType } = await detectType(head)
      return { key, name, contentType, size: stat.size }
    }
    const { contentType, body } = await make(await blobs.open(originalKey(file)))
    const size = body.length
    await blobs.put(key, Readable.from([body]), { contentType, maxBytes: size })
    return { key, name, contentType, size }
  }
}
