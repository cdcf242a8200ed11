import { detectType, isInlineType } from '../../media/detect-type.js'
import { FfmpegConverter } from '../../media/ffmpeg-converter.js'
import type { DetectedType, ImageRenderer, VoiceConverter } from '../../media/media.js'
import { SharpRenderer } from '../../media/sharp-renderer.js'

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
    images: new SharpRenderer(),
    voices: new FfmpegConverter(ffmpeg),
  }
}
