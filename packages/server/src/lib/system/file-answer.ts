import type { Readable } from 'node:stream'
import { create } from 'content-disposition'
import type { ByteRange } from './byte-range.js'

/** The description of a file that is answered, wherever its bytes come from. */
export interface FileDescription {
  readonly contentType: string
  /** In bytes. */
  readonly size: number
  /** The name under which a client saves the file; null: none. */
  readonly fileName: string | null
  /** Whether a browser may show the file in its place; a file that could do harm there is an attachment, whatever the caller asks for. */
  readonly disposition: 'inline' | 'attachment'
}

/** A file with its bytes. Nothing is read before the transport knows which part of it the caller wants. */
export interface FileContent extends FileDescription {
  readonly kind: 'content'
  /** Identifies these very bytes: letters, digits, `-` and `_`, without quotes. */
  readonly etag: string
  /** In milliseconds since 1970. */
  readonly lastModified: number
  /** The time for which the caller may cache the file; the bytes of an address never change. */
  readonly maxAgeSeconds: number
  /**
   * @param range within the file; none: all of it
   * @returns the bytes as a stream, which the caller reads or destroys
   * @throws AppError file_not_found, object_storage_failed
   */
  open(range?: ByteRange): Promise<Readable>
  /**
   * Returns all bytes in one buffer; only for a `size` of at most {@link smallFileBytes}.
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
