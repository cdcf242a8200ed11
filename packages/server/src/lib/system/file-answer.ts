import type { Readable } from 'node:stream'
import type { ByteRange } from './byte-range.js'

/** What is known of a file that goes out, wherever its bytes come from. */
export interface FileDescription {
  readonly contentType: string
  /** In bytes. */
  readonly size: number
  /** What the file is called when somebody keeps it; null: nothing in particular. */
  readonly fileName: string | null
  /** Whether a browser may show it in its place; a file that could do harm there is an attachment, whatever the caller asks for. */
  readonly disposition: 'inline' | 'attachment'
}

/** A file that goes out. Nothing is read before the transport knows what of it the caller wants. */
export interface FileContent extends FileDescription {
  readonly kind: 'content'
  /** Stands for these very bytes: letters, digits, `-` and `_`, without quotes. */
  readonly etag: string
  /** In milliseconds since 1970. */
  readonly lastModified: number
  /** How long the caller may use what it has without asking again; the bytes behind an address of a file never change. */
  readonly maxAgeSeconds: number
  /**
   * @param range within the file; none: all of it
   * @returns the bytes as a stream, which is read or destroyed by the one that asked for it
   * @throws AppError file_not_found, object_storage_failed
   */
  open(range?: ByteRange): Promise<Readable>
  /**
   * All bytes in one piece: asked for only when `size` is at most {@link smallFileBytes}.
   * @throws as `open`
   */
  read(): Promise<Buffer>
}

/** Up to this size a file is read and sent in one piece. */
export const smallFileBytes = 65_536

/** The caller gets the file from somewhere else. */
export interface FileRedirect extends FileDescription {
  readonly kind: 'redirect'
  /** An absolute address that ends soon, for GET alone. */
  readonly location: string
}

/** What a download answers. */
export type FileAnswer = FileContent | FileRedirect
