/** The port of what is done with the content of files: which type it has, pictures in other sizes, voice in another format. */
import type { Readable } from 'node:stream'

/** What the bytes are, whatever name and type the sender gave. */
export interface DetectedType {
  /** Without parameters; application/octet-stream: unknown. */
  readonly contentType: string
  readonly kind: 'image' | 'audio' | 'video' | 'other'
  /** Whether browsers show it without running anything in it: raster images, audio, video. */
  readonly isInline: boolean
}

/** How large a picture is to be. */
export interface RenderOptions {
  /** Pixels. */
  readonly width: number
  readonly height: number
  /** `inside`: as large as fits, never enlarged; `cover`: the middle, cut to exactly this size. */
  readonly fit: 'inside' | 'cover'
}

/** A picture in another size. */
export interface RenderedImage {
  /** WebP for what may be transparent. */
  readonly contentType: 'image/jpeg' | 'image/webp'
  readonly body: Buffer
  /** Pixels. */
  readonly width: number
  readonly height: number
}

/** How large a picture is. */
export interface ImageSize {
  /** Pixels, as people see the picture: turned as its EXIF data says. */
  readonly width: number
  readonly height: number
}

/** Why a picture was not read or made, or a voice not converted. */
export type MediaErrorReason =
  /** No picture or voice that can be read, or of a type that is not supported. */
  | 'unreadable'
  /** More pixels, frames or bytes than we decode. */
  | 'too_complex'
  /** Too many wait already; try again in a moment. */
  | 'busy'
  /** The machine lacks the program: ffmpeg. */
  | 'unsupported'

/** The message is plain English without facts of the machine. */
export class MediaError extends Error {
  override readonly name = 'MediaError'

  constructor(
    readonly reason: MediaErrorReason,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** Pictures in other sizes. Work is bounded: so much at once, so much that waits, so much memory. */
export interface ImageRenderer {
  /**
   * Decodes the headers only.
   *
   * @param source is destroyed in the end
   * @throws MediaError unreadable, too_complex, busy; and what the source fails with
   */
  measure(source: Readable): Promise<ImageSize>
  /**
   * Of an animation the first frame. Turned as its EXIF data says; nothing else of its metadata stays.
   *
   * @param source is destroyed in the end
   * @throws MediaError unreadable, too_complex, busy; and what the source fails with
   */
  render(source: Readable, options: RenderOptions): Promise<RenderedImage>
}

/** Voice in another format, by a program of the machine. */
export interface VoiceConverter {
  /** Path of ffmpeg; null: the machine has none, and {@link toMp3} is unsupported. */
  readonly program: string | null
  /**
   * @param source AMR (narrow or wide band); is destroyed in the end
   * @returns all of the mp3
   * @throws MediaError unsupported, unreadable, too_complex (too long), busy; and what the source fails with
   */
  toMp3(source: Readable): Promise<Buffer>
}
