/** The messages between the service and the process that decodes pictures. */
import type { CleanImage, MediaErrorReason, RenderedImage, RenderOptions } from '../media.js'

/** The work on a picture; its bytes follow on the standard input. */
export interface PictureJob {
  readonly bytes: number
  /** Null: the picture keeps its size and loses its metadata. */
  readonly render: RenderOptions | null
}

/** The answer to a {@link PictureJob}. */
export type PictureAnswer = {
  /** The pixels that were decoded. */
  readonly pixels: number
} & (
  | { readonly rendered: RenderedImage }
  /** Null: it has no metadata. */
  | { readonly clean: CleanImage | null }
  | { readonly reason: MediaErrorReason; readonly message: string }
)
