import type { Readable } from 'node:stream'
import { AppError, fileType } from '@hermod/protocol'
import { BlobError, type BlobStore, type StoredBlob } from '../../../blobs/blob-store.js'
import type { Database } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import type { MaybePromise } from '../../../lib/maybe-promise.js'
import type { DetectedType } from '../../../media/media.js'
import type { AppService } from '../../apps/app-service.js'
import type { FileTicket } from '../credentials/file-tickets.js'
import { fileFailure } from '../file-failures.js'
import { incomingKey, isAvatar, newUploadId, originalKey, type StoredFile } from '../file-model.js'
import type { FileStore } from '../file-store.js'
import type { FileWriter } from './file-writer.js'
import type { TicketService } from './ticket-service.js'
import { headOf } from './upload-head.js'

export interface UploadServiceOptions {
  readonly database: Database
  readonly files: FileStore
  readonly writer: FileWriter
  readonly tickets: TicketService
  readonly apps: AppService
  readonly blobs: Pick<BlobStore, 'put' | 'open' | 'stat' | 'remove'>
  /** What the bytes are, by their beginning. */
  readonly detectType: (head: Buffer) => Promise<DetectedType>
  readonly clock: Clock
}

/** A form that comes in, read up to its file. */
export interface IncomingForm {
  readonly fileName: string | null
  /** Fails with the AppError that the call is to be answered with. */
  readonly body: Readable
}

/** Counts bytes for the one whose limits they count for. */
export type ChargeBytes = (bytes: number) => void

export interface IncomingUpload {
  /** Of the whole form, in bytes; null: not known. */
  readonly length: number | null
  /** @param arrived is told of bytes as they come */
  form(arrived: ChargeBytes): Promise<IncomingForm>
}

/** What the form has beside its file, at most. */
const maxFormBytes = 1_048_576

/** What is known of a file that is in the store. */
type UploadedContent = StoredBlob & Pick<StoredFile, 'contentType' | 'name'>

/** Takes the files of tickets; of what fails nothing stays (rule J2). */
export class UploadService {
  constructor(private readonly options: UploadServiceOptions) {}

  /**
   * Resolves when the file is durable and can be downloaded.
   * @throws AppError upload_ticket_invalid, upload_ticket_used, file_missing, file_type_invalid, file_too_large, file_quota_reached,
   * file_storage_full, object_storage_failed, and what is wrong with the form
   */
  async receive(ticketText: string, upload: IncomingUpload, charge: ChargeBytes): Promise<void> {
    const ticket = await this.#require(ticketText)
    const room = await this.#room(ticket)
    requireRoomFor((upload.length ?? 0) - maxFormBytes, room)
    if (await this.#find(ticket)) throw new AppError('upload_ticket_used')
    const { fileName, body } = await upload.form(charge)
    await this.#store(ticket, body, { name: fileName ?? '', room })
  }

  /**
   * Takes over a file that the client has sent straight to the store. It gets a key of its own, because the client may send others to the
   * same place until its form expires. Doing it again does no harm.
   * @throws AppError as {@link receive}; file_missing when the store has no file of the ticket
   */
  async finish(ticketText: string, charge: ChargeBytes): Promise<void> {
    const { blobs } = this.options
    const ticket = await this.#require(ticketText)
    if (await this.#find(ticket)) return
    const room = await this.#room(ticket)
    const from = incomingKey(ticket.fileId)
    try {
      const stat = await blobs.stat(from)
      if (!stat) throw new AppError('file_missing')
      requireRoomFor(stat.size, room)
      charge(stat.size)
      await this.#store(ticket, await blobs.open(from), { name: '', room })
      await blobs.remove([from])
    } catch (error) {
      throw fileFailure(error)
    }
  }

  /** @param body is destroyed when it is not read to its end */
  async #store(
    ticket: FileTicket,
    body: Readable,
    { name, room }: { readonly name: string; readonly room: Room },
  ): Promise<void> {
    const contentType = await this.#typeOf(ticket, body)
    const uploadId = newUploadId()
    const key = originalKey({ ...ticket, uploadId })
    try {
      const stored = await this.#put(key, body, { contentType, room })
      await this.#note(ticket, uploadId, { ...stored, contentType, name })
    } catch (error) {
      throw fileFailure(error)
    }
  }

  /** @throws AppError file_quota_reached as soon as there is more than the quota had left at the beginning; BlobError */
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

  async #require(ticketText: string): Promise<FileTicket> {
    const ticket = await this.options.tickets.find(ticketText)
    if (!ticket) throw new AppError('upload_ticket_invalid')
    return ticket
  }

  /** What the app allows now, if that is less than when the ticket was made. @throws AppError file_quota_reached */
  async #room({ appId, maxBytes }: FileTicket): Promise<Room> {
    const { apps, tickets } = this.options
    const app = await apps.get(appId)
    return {
      maxBytes: Math.min(maxBytes, Number(app.settings.file_max_bytes)),
      quotaBytes: await tickets.requireRoom(app),
    }
  }

  #find(ticket: FileTicket): MaybePromise<StoredFile | null> {
    const { database, files } = this.options
    return database.read((db) => files.find(db, ticket))
  }

  /** @throws AppError file_missing, file_type_invalid, what the body fails with; then the body is destroyed */
  async #typeOf(ticket: FileTicket, body: Readable): Promise<string> {
    try {
      const head = await headOf(body)
      if (head.length === 0) throw new AppError('file_missing', 'it is empty')
      const type = await this.options.detectType(head)
      requireKind(ticket, type)
      return type.contentType
    } catch (error) {
      body.destroy()
      throw error
    }
  }

  async #note(ticket: FileTicket, uploadId: string, content: UploadedContent): Promise<void> {
    const { writer, apps, clock } = this.options
    const { appId, fileId, ownerId, purpose, fileType, recipient, credentialEpoch } = ticket
    const file: StoredFile = {
      ...{ appId, fileId, uploadId, ownerId, purpose, fileType, recipient },
      ...content,
      createdAt: clock.now(),
    }
    const { settings } = await apps.get(appId)
    const quotaBytes = Number(settings.file_quota_bytes)
    try {
      await writer.write({ file, credentialEpoch, quotaBytes })
    } catch (error) {
      await this.#discard(file, error)
      throw error
    }
  }

  /**
   * Removes the bytes of a file that was refused. Where nobody knows whether it was noted they stay: either it was, or maintenance finds
   * them.
   */
  async #discard(file: StoredFile, error: unknown): Promise<void> {
    const isRefused = error instanceof AppError && error.entry.http < 500
    if (isRefused) await this.options.blobs.remove([originalKey(file)]).catch(() => {})
  }
}

/** How large a file may be, in bytes. */
interface Room {
  /** By the size of a file. */
  readonly maxBytes: number
  /** By what was left of the quota at the beginning; what is left at the end is checked when the file is noted. */
  readonly quotaBytes: number
}

/** @throws AppError file_too_large, file_quota_reached */
function requireRoomFor(size: number, { maxBytes, quotaBytes }: Room): void {
  if (size > maxBytes) throw new AppError('file_too_large')
  if (size > quotaBytes) throw new AppError('file_quota_reached')
}

interface Wanted {
  readonly kind: DetectedType['kind']
  /** What else it may be: voice that browsers record comes in containers that are for video too. */
  readonly containers: readonly string[]
  readonly name: string
}

const voice: Wanted = { kind: 'audio', containers: ['video/webm', 'video/mp4'], name: 'voice' }
const picture: Wanted = { kind: 'image', containers: [], name: 'picture' }
const video: Wanted = { kind: 'video', containers: [], name: 'video' }

const wantedOf: Readonly<Record<number, Wanted>> = {
  [fileType.voiceAmr]: voice,
  [fileType.picture]: picture,
  [fileType.video]: video,
  [fileType.voiceMp3]: voice,
  [fileType.sharedVoice]: voice,
  [fileType.sharedPicture]: picture,
  [fileType.sharedVideo]: video,
}

/** @throws AppError file_type_invalid for content of another kind than the ticket is for */
function requireKind(ticket: FileTicket, { contentType, kind }: DetectedType): void {
  const wanted = isAvatar(ticket) ? picture : wantedOf[ticket.fileType]
  if (wanted && wanted.kind !== kind && !wanted.containers.includes(contentType))
    throw new AppError('file_type_invalid', `it is ${contentType} and no ${wanted.name}`)
}
