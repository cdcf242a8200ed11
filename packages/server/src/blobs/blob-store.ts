/** The port of the stores of files: a folder, or a store that speaks S3. What is stored under a key never changes. */
import type { Readable } from 'node:stream'
import type { ByteRange } from '../lib/system/byte-range.js'

/** What a store knows of a blob without reading it. */
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

/** What was stored, for the row that names it. */
export interface StoredBlob {
  /** Bytes. */
  readonly size: number
  /** CRC-32 of all bytes (zlib), from 0 to 2^32 - 1; with it {@link BlobStore.open} notices bytes that have changed. */
  readonly crc32: number
}

/** What {@link BlobStore.put} is told of a body. */
export interface PutOptions {
  readonly contentType: string
  /** The most bytes that are taken; one more and nothing is stored. */
  readonly maxBytes: number
}

/** What {@link BlobStore.put} gave back: a store on the network compares with it what it is sent. */
export interface ExpectedBlob {
  readonly size: number
  readonly crc32?: number
}

/** How much of a blob is read, and what it should be. */
export interface OpenOptions {
  /** Default: all of it. It must be within the size. */
  readonly range?: ByteRange
  /** The size at least makes it cheaper and safer. */
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
 * Keys are names separated by slashes, of at most 200 characters together; a name is lower-case letters, digits, dots, dashes and
 * underscores and does not begin with a dot. Another key is a mistake of the caller and throws a RangeError.
 */
export interface BlobStore {
  readonly kind: 'folder' | 's3'
  /** For people, without secrets: the path of the folder, or address and bucket. */
  readonly location: string
  /**
   * When it resolves the blob is durable and whole. When it fails nothing of it stays, and nobody can have seen a part of it. A second
   * blob of the same key replaces the first.
   *
   * @param body is destroyed when storing fails
   * @throws BlobError too_large, cut (the body failed or was closed before its end), full, unavailable
   */
  put(key: string, body: Readable, options: PutOptions): Promise<StoredBlob>
  /**
   * The stream fails when the store breaks off or sends other bytes than `expected`; then its end was not sent.
   *
   * @throws BlobError not_found, unavailable, damaged (another size than expected)
   */
  open(key: string, options?: OpenOptions): Promise<Readable>
  /**
   * All of a small blob in one piece.
   *
   * @throws BlobError not_found, unavailable, damaged
   */
  read(key: string, expected: ExpectedBlob): Promise<Buffer>
  /** @returns null: there is none. @throws BlobError unavailable */
  stat(key: string): Promise<BlobStat | null>
  /** Those that are missing are no failure. @throws BlobError unavailable; some may be removed then */
  remove(keys: readonly string[]): Promise<void>
  /**
   * @param prefix what keys begin with; "" for all
   * @param after exclusive; null: from the first
   * @param limit 1 to 1000
   * @throws BlobError unavailable
   */
  list(prefix: string, after: string | null, limit: number): Promise<BlobPage>
  /** A form with which a client sends a file straight to the store; null: it goes through the service. */
  uploadForm(key: string, options: UploadFormOptions): Promise<StoreForm | null>
  /** An address that ends soon, at which a client gets the bytes; null: it gets them from the service. */
  downloadUrl(key: string, options: DownloadUrlOptions): Promise<string | null>
  /** Removes what bodies left that broke off before an instant (milliseconds since 1970) and that is no blob. @throws BlobError unavailable */
  tidy(before: number): Promise<void>
  /**
   * Writes, reads and removes a blob of its own; at the start and for `hermod check`.
   *
   * @throws BlobError with a sentence for the operator
   */
  check(): Promise<void>
}

/** What a client may send with a form of the store. */
export interface UploadFormOptions {
  readonly maxBytes: number
  /** Null: the client says which. */
  readonly contentType: string | null
  /** Milliseconds since 1970. */
  readonly expiresAt: number
  /** Where the store sends the client when it has the file: 303, with bucket, key and etag added to the query. */
  readonly redirectTo: string
}

/** How the store answers a client that comes with an address. */
export interface DownloadUrlOptions {
  readonly contentType: string
  /** The header as it is to be answered. */
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
  /** The store cannot be reached, is slow, or refuses our credentials. */
  | 'unavailable'
  /** Other bytes than those that were stored. */
  | 'damaged'

/** What became of a blob; the message is for operators and logs, without secrets. */
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
