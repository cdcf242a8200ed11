/**
 * The port of the stores of files: a folder, or a store that speaks S3. The content of a key never
 * changes.
 */
import type { Readable } from 'node:stream'
import type { ByteRange } from '../lib/system/byte-range.js'

/** The facts about a blob that need no read. */
export interface BlobStat {
  /** Bytes. */
  readonly size: number
  /** Milliseconds since 1970; S3 knows seconds. */
  readonly modifiedAt: number
}

/** A blob as a list shows it. */
export interface ListedBlob extends BlobStat {
  readonly key: string
}

/** The size and checksum of a stored blob, for the row that refers to it. */
export interface StoredBlob {
  /** Bytes. */
  readonly size: number
  /**
   * CRC-32 of all bytes (zlib), from 0 to 2^32 - 1; with it {@link BlobStore.open} notices bytes
   * that have changed.
   */
  readonly crc32: number
}

/** Options of {@link BlobStore.put}. */
export interface PutOptions {
  readonly contentType: string
  /** Most bytes of the body; a longer body is not stored. */
  readonly maxBytes: number
}

/**
 * The result of {@link BlobStore.put}, against which a store on the network checks the bytes that
 * it reads.
 */
export interface ExpectedBlob {
  readonly size: number
  readonly crc32?: number
}

/** The part of a blob to read, and the expected blob. */
export interface OpenOptions {
  /** Default: the whole blob. It must be within the size. */
  readonly range?: ByteRange
  /** The size makes reading cheaper and safer. */
  readonly expected?: ExpectedBlob
}

/** A page of keys in the order of their bytes. */
export interface BlobPage {
  readonly blobs: readonly ListedBlob[]
  /** For `after` of the next page; null: this was the last one. */
  readonly next: string | null
}

/** A form of multipart/form-data: the fields first, in their order, then `file`. */
export interface StoreForm {
  readonly url: string
  readonly fields: Readonly<Record<string, string>>
}

/**
 * Keys are names separated by slashes, of at most 200 characters together; a name is lower-case
 * letters, digits, dots, dashes and underscores and does not begin with a dot. Any other key is a
 * mistake of the caller and throws a RangeError.
 */
export interface BlobStore {
  readonly kind: 'folder' | 's3' | 'none'
  /** A text for operators, without secrets: the path of the folder, or address and bucket. */
  readonly location: string
  /**
   * Resolves when the whole blob is durable. When it fails, nothing of the blob stays, and no
   * reader can have seen a part of it. A second blob of the same key replaces the first.
   *
   * @param body destroyed when storing fails
   * @throws BlobError too_large, cut (the body failed or was closed before its end), full, unavailable
   */
  put(key: string, body: Readable, options: PutOptions): Promise<StoredBlob>
  /**
   * Returns a stream that fails, before its end, when the store breaks off or sends other bytes
   * than `expected`.
   *
   * @throws BlobError not_found, unavailable, damaged (another size than expected)
   */
  open(key: string, options?: OpenOptions): Promise<Readable>
  /**
   * Returns a small blob in one buffer.
   *
   * @throws BlobError not_found, unavailable, damaged
   */
  read(key: string, expected: ExpectedBlob): Promise<Buffer>
  /** @returns null when there is no such blob. @throws BlobError unavailable */
  stat(key: string): Promise<BlobStat | null>
  /** A missing blob is no failure. @throws BlobError unavailable; some may be removed then */
  remove(keys: readonly string[]): Promise<void>
  /**
   * @param prefix prefix of the keys; "" for all
   * @param after exclusive; null: from the first
   * @param limit 1 to 1000
   * @throws BlobError unavailable
   */
  list(prefix: string, after: string | null, limit: number): Promise<BlobPage>
  /**
   * Returns a form with which a client sends a file straight to the store; null: the file goes
   * through the service.
   */
  uploadForm(key: string, options: UploadFormOptions): Promise<StoreForm | null>
  /**
   * Returns an address, which expires soon, at which a client gets the bytes; null: the client gets
   * them from the service.
   */
  downloadUrl(key: string, options: DownloadUrlOptions): Promise<string | null>
  /**
   * Removes the remains of uploads that broke off before an instant (milliseconds since 1970).
   * @throws BlobError unavailable
   */
  tidy(before: number): Promise<void>
  /**
   * Writes, reads and removes a test blob; at the start and for `hermod check`.
   *
   * @throws BlobError with a sentence for the operator
   */
  check(): Promise<void>
}

/** Options of {@link BlobStore.uploadForm}. */
export interface UploadFormOptions {
  readonly maxBytes: number
  /** Null: the client chooses. */
  readonly contentType: string | null
  /** Milliseconds since 1970. */
  readonly expiresAt: number
  /**
   * The address to which the store redirects the client after the upload: 303, with bucket, key and
   * etag added to the query.
   */
  readonly redirectTo: string
}

/** Options of {@link BlobStore.downloadUrl}. */
export interface DownloadUrlOptions {
  readonly contentType: string
  /** The header that the store answers. */
  readonly contentDisposition: string
  /** 1 to 604,800. */
  readonly expiresInSeconds: number
}

/** Why a blob was not stored or not read. */
export type BlobErrorReason =
  /** More bytes than `maxBytes`. */
  | 'too_large'
  /** The body failed or was closed before its end. */
  | 'cut'
  | 'not_found'
  /** No room, or a quota of the store. */
  | 'full'
  /** The store cannot be reached, is slow, or refuses the credentials. */
  | 'unavailable'
  /** Other bytes than those that were stored. */
  | 'damaged'
  /** The files are in a folder that this node does not have. */
  | 'elsewhere'

/** The failure of an operation on a blob; the message is for operators and logs, without secrets. */
export class BlobError extends Error {
  override readonly name = 'BlobError'

  constructor(
    readonly reason: BlobErrorReason,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}
