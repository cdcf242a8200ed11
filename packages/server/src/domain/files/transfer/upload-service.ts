import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { AppError, fileType } from '@hermod/protocol'
import { BlobError, type BlobStore, type StoredBlob } from '../../../blobs/blob-store.js'
import type { Database } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import type { ByteRange } from '../../../lib/system/byte-range.js'
import { type DetectedType, type ImageRenderer, MediaError } from '../../../media/media.js'
import type { StoredBytes } from '../../../media/sliced-file.js'
import type { AppService } from '../../apps/app-service.js'
import { fileFailure } from '../file-failures.js'
import { incomingKey, isAvatar, newUploadId, originalKey, type StoredFile } from '../file-model.js'
import type { FileQuota } from '../file-quota.js'
import type { FileStore } from '../file-store.js'
import type { FileTicket } from '../tickets/file-tickets.js'
import type { FileWriter } from './file-writer.js'
import { firstBytesOf } from './upload-head.js'

interface UploadServiceOptions {
  readonly database: Database
  readonly files: FileStore
  readonly writer: FileWriter
  readonly quota: FileQuota
  readonly apps: AppService
  readonly blobs: Pick<BlobStore, 'put' | 'open' | 'stat' | 'remove'>
  /** Detects the type of a file by its first bytes. */
  readonly detectType: (head: Buffer) => Promise<DetectedType>
  /** Detects the type of a stored file by all of it; null: not known. */
  readonly detectStoredType: (
    file: StoredBytes,
    charge: (tokens: number) => void,
  ) => Promise<DetectedType | null>
  /** Reports whether pictures of this type are rendered in other sizes. */
  readonly isRenderableType: (contentType: string) => boolean
  readonly images: Pick<ImageRenderer, 'withoutMetadata'>
  readonly clock: Clock
}

/** An uploaded form, read up to its file. */
export interface IncomingForm {
  readonly fileName: string | null
  /** Fails with the AppError that the call is to be answered with. */
  readonly body: Readable
}

/** Charges the payer of the upload. */
export interface UploadCharges {
  chargeFileBytes(bytes: number): void
  /** Charges tokens for work on the content. */
  charge(tokens: number): void
}

interface IncomingUpload {
  /** Bytes of the whole form; null: not known. */
  readonly length: number | null
  /** @param arrived called with the number of bytes of each part */
  form(arrived: (bytes: number) => void): Promise<IncomingForm>
}

/** The type of content that no detector knows. */
const unknownType = 'application/octet-stream'
/** Most bytes of a form without its file. */
const maxFormBytes = 1_048_576

/** The content of an uploaded file. */
type UploadedContent = StoredBlob & Pick<StoredFile, 'uploadId' | 'contentType' | 'name'>

interface StoreOptions {
  readonly name: string
  readonly room: Room
  readonly charges: UploadCharges
}

/** Takes the files of tickets. An upload that fails leaves nothing (rule J2). */
export class UploadService {
  constructor(private readonly options: UploadServiceOptions) {}

  /**
   * Resolves when the file is durable and can be downloaded.
   * @throws AppError upload_ticket_invalid when the ticket has ended since; upload_ticket_used,
   * file_missing, file_type_invalid, file_too_large, file_quota_reached, file_storage_full,
   * object_storage_failed, and the errors of the form
   */
  async receive(ticket: FileTicket, upload: IncomingUpload, charges: UploadCharges): Promise<void> {
    const room = await this.#room(ticket)
    requireRoomFor((upload.length ?? 0) - maxFormBytes, room)
    if (await this.#find(ticket)) throw new AppError('upload_ticket_used')
    const { fileName, body } = await upload.form((bytes) => charges.chargeFileBytes(bytes))
    await this.#store(ticket, body, { name: fileName ?? '', room, charges })
  }

  /**
   * Takes over a file that the client has sent straight to the store. The file gets another key,
   * because the client may send further files to the same place until its form expires. Repeating
   * it does no harm.
   * @throws AppError as {@link receive}; file_missing when the store has no file of the ticket
   */
  async finish(ticket: FileTicket, charges: UploadCharges): Promise<void> {
    const { blobs } = this.options
    if (await this.#find(ticket)) return
    const room = await this.#room(ticket)
    const from = incomingKey(ticket.fileId)
    try {
      const stat = await blobs.stat(from)
      if (!stat) throw new AppError('file_missing')
      requireRoomFor(stat.size, room)
      charges.chargeFileBytes(stat.size)
      await this.#store(ticket, await blobs.open(from), { name: '', room, charges })
      await blobs.remove([from])
    } catch (error) {
      throw fileFailure(error)
    }
  }

  /** @param body is destroyed when it is not read to its end */
  async #store(
    ticket: FileTicket,
    body: Readable,
    { name, room, charges }: StoreOptions,
  ): Promise<void> {
    const headType = await this.#typeOfHead(ticket, body)
    const uploadId = newUploadId()
    const key = originalKey({ ...ticket, uploadId })
    try {
      const blob = await this.#put(key, body, { contentType: headType.contentType, room })
      const contentType = await this.#typeOfStored(
        ticket,
        { key, headType, size: blob.size },
        charges,
      )
      const stored = { ...blob, uploadId, contentType, name }
      const shown = isAvatar(ticket) ? await this.#clean(ticket, stored, charges) : stored
      await this.#record(ticket, shown)
    } catch (error) {
      throw fileFailure(error)
    }
  }

  /**
   * Replaces a stored avatar by one without metadata; all users of the app would see where it was taken.
   * @throws AppError file_type_invalid; MediaError too_complex, busy; BlobError
   */
  async #clean(
    ticket: FileTicket,
    stored: UploadedContent,
    charges: UploadCharges,
  ): Promise<UploadedContent> {
    const { blobs, images } = this.options
    const { appId, payerId } = ticket
    const { size, crc32 } = stored
    const key = originalKey({ ...ticket, ...stored })
    const open = () => blobs.open(key, { expected: { size, crc32 } })
    const turn = { appId, userId: payerId, charge: (tokens: number) => charges.charge(tokens) }
    try {
      const image = await images.withoutMetadata({ size, open }, turn)
      if (image === null) return stored
      const { contentType, body } = image
      const uploadId = newUploadId()
      const options = { contentType, maxBytes: body.length }
      const blob = await blobs.put(
        originalKey({ ...ticket, uploadId }),
        Readable.from([body]),
        options,
      )
      await blobs.remove([key])
      return { ...stored, ...blob, uploadId, contentType }
    } catch (error) {
      await blobs.remove([key]).catch(() => {})
      const isUnreadable = error instanceof MediaError && error.reason === 'unreadable'
      throw isUnreadable ? new AppError('file_type_invalid', error.message) : error
    }
  }

  /**
   * @throws AppError file_quota_reached once the file exceeds what the quota had left at the
   * beginning; BlobError
   */
  async #put(
    key: string,
    body: Readable,
    { contentType, room }: { readonly contentType: string; readonly room: Room },
  ): Promise<StoredBlob> {
    const { maxBytes, quotaBytes } = room
    try {
      const options = { contentType, maxBytes: Math.min(maxBytes, quotaBytes) }
      return await this.options.blobs.put(key, body, options)
    } catch (error) {
      const isTooLarge = error instanceof BlobError && error.reason === 'too_large'
      throw isTooLarge && quotaBytes < maxBytes ? new AppError('file_quota_reached') : error
    }
  }

  /** The app may allow less now than when the ticket was made. @throws AppError file_quota_reached */
  async #room({ appId, maxBytes }: FileTicket): Promise<Room> {
    const { apps, quota } = this.options
    const app = await apps.get(appId, 'current')
    return {
      maxBytes: Math.min(maxBytes, Number(app.settings.file_max_bytes)),
      quotaBytes: await quota.requireRoom(app),
    }
  }

  async #find(ticket: FileTicket): Promise<StoredFile | null> {
    const { database, files } = this.options
    return database.read((db) => files.find(db, ticket))
  }

  /**
   * Destroys the body when it fails.
   * @throws AppError file_missing, file_type_invalid, the error of the body
   */
  async #typeOfHead(ticket: FileTicket, body: Readable): Promise<DetectedType> {
    try {
      const head = await firstBytesOf(body)
      if (head.length === 0) throw new AppError('file_missing', 'it is empty')
      const type = await this.options.detectType(head)
      if (type.contentType !== unknownType) this.#requireKind(ticket, type)
      return type
    } catch (error) {
      body.destroy()
      throw error
    }
  }

  /**
   * Reads the stored file where its head does not determine the type. Removes the file when it
   * fails.
   * @throws AppError file_type_invalid; BlobError
   */
  async #typeOfStored(
    ticket: FileTicket,
    { key, headType, size }: { key: string; headType: DetectedType; size: number },
    charges: UploadCharges,
  ): Promise<string> {
    const { blobs, detectStoredType } = this.options
    if (headType.isInline) return headType.contentType
    const read = async (range: ByteRange) => buffer(await blobs.open(key, { range }))
    const charge = (tokens: number) => charges.charge(tokens)
    try {
      const type = (await detectStoredType({ size, read }, charge)) ?? headType
      this.#requireKind(ticket, type)
      return type.contentType
    } catch (error) {
      await blobs.remove([key]).catch(() => {})
      throw error
    }
  }

  /**
   * @throws AppError file_type_invalid for content of another kind than the ticket is for, and for
   * pictures without thumbnails
   */
  #requireKind(ticket: FileTicket, { contentType, kind }: DetectedType): void {
    const wanted = isAvatar(ticket) ? picture : wantedOf[ticket.fileType]
    if (!wanted) return
    if (wanted.kind !== kind && !wanted.containers.includes(contentType))
      throw new AppError('file_type_invalid', `it is ${contentType} and no ${wanted.name}`)
    if (wanted === picture && !this.options.isRenderableType(contentType))
      throw new AppError(
        'file_type_invalid',
        `it is ${contentType}; pictures are JPEG, PNG, WebP, GIF, AVIF or TIFF, others can be sent as plain files`,
      )
  }

  async #record(ticket: FileTicket, content: UploadedContent): Promise<void> {
    const { writer, apps, clock } = this.options
    const { appId, fileId, ownerId, purpose, fileType, recipient, credentialEpoch } = ticket
    const file: StoredFile = {
      ...{ appId, fileId, ownerId, purpose, fileType, recipient },
      ...content,
      createdAt: clock.now(),
    }
    const { settings } = await apps.get(appId, 'current')
    const quotaBytes = Number(settings.file_quota_bytes)
    try {
      await writer.write({ file, credentialEpoch, quotaBytes })
    } catch (error) {
      await this.#discard(file, error)
      throw error
    }
  }

  /**
   * Removes the bytes of a file that was refused. After a failure of the service they stay: either
   * the file was recorded, or maintenance removes them.
   */
  async #discard(file: StoredFile, error: unknown): Promise<void> {
    const isRefused = error instanceof AppError && error.entry.http < 500
    if (isRefused) await this.options.blobs.remove([originalKey(file)]).catch(() => {})
  }
}

/** The largest size of a file, in bytes. */
interface Room {
  /** The bound of one file. */
  readonly maxBytes: number
  /** The rest of the quota at the beginning; it is checked again when the file is recorded. */
  readonly quotaBytes: number
}

/** @throws AppError file_too_large, file_quota_reached */
function requireRoomFor(size: number, { maxBytes, quotaBytes }: Room): void {
  if (size > maxBytes) throw new AppError('file_too_large')
  if (size > quotaBytes) throw new AppError('file_quota_reached')
}

interface AcceptedType {
  readonly kind: DetectedType['kind']
  /** Further types: browsers and phones record voice in containers that also hold video. */
  readonly containers: readonly string[]
  readonly name: string
}

const voice: AcceptedType = {
  kind: 'audio',
  containers: ['video/webm', 'video/mp4', 'video/3gpp', 'video/3gpp2', 'video/quicktime'],
  name: 'voice',
}
const picture: AcceptedType = { kind: 'image', containers: [], name: 'picture' }
const video: AcceptedType = { kind: 'video', containers: [], name: 'video' }

const wantedOf: Readonly<Record<number, AcceptedType>> = {
  [fileType.voiceAmr]: voice,
  [fileType.picture]: picture,
  [fileType.video]: video,
  [fileType.voiceMp3]: voice,
  [fileType.sharedVoice]: voice,
  [fileType.sharedPicture]: picture,
  [fileType.sharedVideo]: video,
}
