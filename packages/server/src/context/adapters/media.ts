import {
  detectStoredType,
  detectType,
  isInlineType,
  isRenderableType,
} from '../../media/detect-type.js'
import { FfmpegConverter } from '../../media/ffmpeg-converter.js'
import type { DetectedType, ImageRenderer, VoiceConverter } from '../../media/media.js'
import { typeOfName } from '../../media/name-types.js'
import { PictureRenderer } from '../../media/pictures/picture-renderer.js'
import type { StoredBytes } from '../../media/sliced-file.js'

/** Operations on the content of files. */
export interface Media {
  detectType(head: Buffer): Promise<DetectedType>
  detectStoredType(
    file: StoredBytes,
    charge: (tokens: number) => void,
  ): Promise<DetectedType | null>
  typeOfName(fileName: string): string | null
  isInlineType(contentType: string): boolean
  isRenderableType(contentType: string): boolean
  readonly images: ImageRenderer
  readonly voices: VoiceConverter
}

/** @param ffmpeg path of the program; null when the machine has none */
export function createMedia(ffmpeg: string | null): Media {
  return {
    detectType,
    detectStoredType,
    typeOfName,
    isInlineType,
    isRenderableType,
    images: new PictureRenderer(),
    voices: new FfmpegConverter(ffmpeg),
  }
}
