import type { Readable } from 'node:stream'
import { create } from 'content-disposition'
import type { ByteRange } from './byte-range.js'

/** Metadata of a file that is sent. */
export interface FileDescription {
  readonly contentType: string
  /** The size in bytes. */
  readonly size: number
  /** The name for saving the file; null for none. */
  readonly fileName: string | null
  /**
   * True when a browser may display the file. A file that could do harm there is always an
   * attachment.
   */
  readonly disposition: 'inline' | 'attachment'
}

/** A file with its bytes. Nothing is read before the transport knows which part of it the caller wants. */
export interface FileContent extends FileDescription {
  readonly kind: 'content'
  /** Identifies these very bytes: letters, digits, `-` and `_`, without quotes. */
  readonly etag: string
  /** Milliseconds since 1970. */
  readonly lastModified: number
  /**
   * The time for which the caller may cache the file. The bytes behind an address of a file never
   * change.
   */
  readonly maxAgeSeconds: number
  /**
   * @param range within the file; the whole file by default
   * @returns the bytes as a stream, which the caller reads or destroys
   * @throws AppError file_not_found, object_storage_failed
   */
  open(range?: ByteRange): Promise<Readable>
  /**
   * All bytes at once; only for a `size` of at most {@link smallFileBytes}.
   * @throws as `open`
   */
  read(): Promise<Buffer>
}

/** Up to this size a file is read and sent in one buffer. */
export const smallFileBytes = 65_536

/** A file that the caller gets from another address. */
export interface FileRedirect extends FileDescription {
  readonly kind: 'redirect'
  /** An absolute address for GET, which expires soon. */
  readonly location: string
}

/** The answer of a download. */
export type FileAnswer = FileContent | FileRedirect

/** Returns the header Content-Disposition of a file. */
export function contentDisposition({ fileName, disposition }: FileDescription): string {
  return create(fileName ?? undefined, { type: disposition })
}
