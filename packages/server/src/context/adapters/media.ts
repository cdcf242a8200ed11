import { detectType, isInlineType } from '../../media/detect-type.js'
import { FfmpegConverter } from '../../media/ffmpeg-converter.js'
import type { DetectedType, ImageRenderer, VoiceConverter } from '../../media/media.js'
import { PictureRenderer } from '../../media/picture-renderer.js'

/** Operations on the content of files. */
export interface Media {
  detectType(head: Buffer): Promise<DetectedType>
  isInlineType(contentType: string): boolean
  readonly images: ImageRenderer
  readonly voices: VoiceConverter
}

/** @param ffmpeg path of the program; null when the machine has none */
export function createMedia(ffmpeg: string | null): Media {
  return {
    detectType,
    isInlineType,
    images: new PictureRenderer(),
    voices: new FfmpegConverter(ffmpeg),
  }
}
