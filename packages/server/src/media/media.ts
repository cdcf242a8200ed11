/** The port of media: types by content, pictures in other sizes, voice in another format. */
import type { Readable } from 'node:stream'
import type { Int64 } from '@hermod/protocol'

/** The number of bytes at the start of a file that identify its type; fewer for a shorter file. */
export const headBytes = 4_100

/** The type of bytes, whatever name and type the sender gave. */
export interface DetectedType {
  /** Without parameters; application/octet-stream: unknown. */
  readonly contentType: string
  readonly kind: 'image' | 'audio' | 'video' | 'other'
  /** True when browsers show it without running code in it: raster images, audio, video. */
  readonly isInline: boolean
}

/** The size of a picture to render. */
export interface RenderOptions {
  /** Pixels. */
  readonly width: number
  readonly height: number
  /** `inside`: as large as fits, never enlarged; `cover`: the middle, cropped to exactly this size. */
  readonly fit: 'inside' | 'cover'
}

/** A picture in another size. */
export interface RenderedImage {
  /** WebP for pictures with transparency. */
  readonly contentType: 'image/jpeg' | 'image/webp'
  readonly body: Buffer
  /** Pixels. */
  readonly width: number
  readonly height: number
}

/** A file that is converted. */
export interface MediaSource {
  /** Bytes. */
  readonly size: number
  /** Called when it is the file's turn. The bytes are read or destroyed. */
  open(): Promise<Readable>
}

/** The user that a conversion is made for. Conversions run in turns of apps, and of the users of each app. */
export interface MediaTurn {
  readonly appId: string
  /** 0: an Admin token alone. */
  readonly userId: Int64
  /**
   * Charges the user, also for a conversion that fails: by pixels or seconds of voice, and by the
   * time that it took.
   */
  charge(tokens: number): void
}

/** A picture without metadata, in its own size. */
export interface CleanImage {
  readonly contentType: string
  readonly body: Buffer
}

/** Why a picture was not read or made, or a voice not converted. */
export type MediaErrorReason =
  /** The picture or voice cannot be read, or its type is not supported. */
  | 'unreadable'
  /**
   * It has more pixels, frames, scans, seconds or bytes than the service decodes, or decoding it
   * takes too much time or memory.
   */
  | 'too_complex'
  /** Too many conversions wait; a later call may succeed. */
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

/** Renders pictures within bounds of waiting work, time and memory. */
export interface ImageRenderer {
  /**
   * Renders the first frame of an animation, rotated by the EXIF data; all other metadata is removed.
   *
   * @throws MediaError unreadable, too_complex, busy; and the error of the source
   */
  render(source: MediaSource, options: RenderOptions, turn: MediaTurn): Promise<RenderedImage>
  /**
   * Removes the metadata of a picture, such as the place where it was taken. Animations stay.
   *
   * @returns null when the picture has none
   * @throws as {@link render}
   */
  withoutMetadata(source: MediaSource, turn: MediaTurn): Promise<CleanImage | null>
  /** Ends the process that renders. */
  stop(): Promise<void>
}

/** Converts voice with a program of the machine. */
export interface VoiceConverter {
  /** Path of ffmpeg; null: the machine has none, and {@link toMp3} is unsupported. */
  readonly program: string | null
  /**
   * @param source AMR (narrow or wide band)
   * @returns the whole mp3
   * @throws MediaError unsupported, unreadable, too_complex (too long), busy; and the error of the source
   */
  toMp3(source: MediaSource, turn: MediaTurn): Promise<Buffer>
}
