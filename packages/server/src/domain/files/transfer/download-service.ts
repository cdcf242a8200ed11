import { AppError, imageType } from '@hermod/protocol'
import type { BlobStore } from '../../../blobs/blob-store.js'
import type { Database } from '../../../db/database.js'
import { contentDisposition, type FileAnswer } from '../../../lib/system/file-answer.js'
import type { MediaTurn } from '../../../media/media.js'
import { systemUserId } from '../../users/system-user.js'
import { fileFailure } from '../file-failures.js'
import { isAvatar, originalKey, type StoredFile } from '../file-model.js'
import type { FileStore } from '../file-store.js'
import type { FileCaller } from '../links/file-access.js'
import type { LinkReader } from '../links/link-reader.js'
import type { WantedPicture } from '../renditions/rendition-model.js'
import type { RenditionService } from '../renditions/rendition-service.js'

interface DownloadServiceOptions {
  readonly database: Database
  readonly files: FileStore
  readonly links: LinkReader
  readonly renditions: RenditionService
  readonly blobs: Pick<BlobStore, 'open' | 'read' | 'downloadUrl'>
  /** Reports whether browsers may show content of this type in its place. */
  readonly isInlineType: (contentType: string) => boolean
  /** Returns the type that the extension of a file name stands for; null: none. */
  readonly typeOfName: (fileName: string) => string | null
}

/** The form of a file that the caller asks for. */
export interface WantedForm extends WantedPicture {
  readonly format?: string | undefined
}

/** The caller of a download. */
export interface DownloadCall {
  readonly caller: FileCaller
  /** Charges the caller for the form that the call makes. */
  charge(tokens: number): void
}

/** The bytes of one blob. */
interface BlobContent {
  readonly key: string
  readonly contentType: string
  readonly size: number
  readonly crc32: number | null
  readonly etag: string
}

/** The content of an address never changes. */
const maxAgeSeconds = 7 * 24 * 3_600
/** The life of an address in the store. */
const redirectLifeSeconds = 900

/** Answers files to callers who may read them (rules J3, J4). */
export class DownloadService {
  constructor(private readonly options: DownloadServiceOptions) {}

  /**
   * @throws AppError file_signature_invalid, file_not_found, no_permission, and those of
   * {@link RenditionService}
   */
  async chatFile(
    { caller, charge }: DownloadCall,
    fileSign: string,
    wanted: WantedForm,
  ): Promise<FileAnswer> {
    const file = await this.options.links.find(caller, fileSign)
    return this.#download(file, wanted, turnOf({ caller, charge }))
  }

  /**
   * Answers an avatar, which all users of the app may read.
   * @throws AppError file_not_found, and those of {@link RenditionService}
   */
  async avatar(call: DownloadCall, objectName: string, wanted: WantedForm): Promise<FileAnswer> {
    const { database, files } = this.options
    const { appId } = call.caller
    const file = await database.read((db) => files.find(db, { appId, fileId: objectName }))
    if (!file || !isAvatar(file)) throw new AppError('file_not_found')
    return this.#download(file, wanted, turnOf(call))
  }

  async #download(file: StoredFile, wanted: WantedForm, turn: MediaTurn): Promise<FileAnswer> {
    const { blobs, isInlineType, typeOfName } = this.options
    const content = await this.#contentOf(file, wanted, turn)
    const { size, etag } = content
    const isInline = isInlineType(content.contentType)
    const disposition = isInline ? 'inline' : 'attachment'
    const contentType = (isInline ? null : typeOfName(file.name)) ?? content.contentType
    const fileName = file.name === '' ? null : file.name
    const description = { contentType, size, fileName, disposition } as const
    const location = await mapFailure(() =>
      blobs.downloadUrl(content.key, {
        contentType,
        contentDisposition: contentDisposition(description),
        expiresInSeconds: redirectLifeSeconds,
      }),
    )
    if (location !== null) return { kind: 'redirect', ...description, location }
    const expected = expectedBlob(content)
    return {
      kind: 'content',
      ...description,
      etag,
      lastModified: file.createdAt,
      maxAgeSeconds,
      open: (range) =>
        mapFailure(() => blobs.open(content.key, { ...(range && { range }), expected })),
      read: () => mapFailure(() => blobs.read(content.key, expected)),
    }
  }

  async #contentOf(file: StoredFile, wanted: WantedForm, turn: MediaTurn): Promise<BlobContent> {
    const { renditions } = this.options
    const rendition =
      wanted.imageType !== imageType.original
        ? await renditions.picture(file, wanted, turn)
        : wanted.format === 'mp3'
          ? await renditions.mp3(file, turn)
          : null
    return rendition
      ? { ...rendition, crc32: null, etag: `${file.fileId}-${rendition.name}` }
      : { ...file, key: originalKey(file), etag: file.fileId }
  }
}

function turnOf({ caller: { appId, userId }, charge }: DownloadCall): MediaTurn {
  return { appId, userId: userId ?? systemUserId, charge }
}

function expectedBlob({ size, crc32 }: BlobContent) {
  return crc32 === null ? { size } : { size, crc32 }
}

/** @throws AppError of a store that failed */
async function mapFailure<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw fileFailure(error)
  }
}
