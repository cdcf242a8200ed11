/** The messages between the service and the process that decodes pictures. */
import type { MediaErrorReason, RenderedImage, RenderOptions } from './media.js'

/** A picture to render; its bytes follow on the standard input. */
export interface PictureJob extends RenderOptions {
  readonly bytes: number
}

/** The answer to a {@link PictureJob}. */
export type PictureAnswer = {
  /** The pixels that were decoded. */
  readonly pixels: number
} & (
  | { readonly image: RenderedImage }
  | { readonly reason: MediaErrorReason; readonly message: string }
)
