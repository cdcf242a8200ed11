import { imageType } from '@hermod/protocol'
import type { RenderOptions } from '../../../media/media.js'

/** The form of a picture that the caller asks for. */
export interface WantedPicture {
  /** A value of imageType of the protocol: thumbnail or cover. */
  readonly imageType: number
  /** Pixels; undefined or 0: the default. */
  readonly width?: number | undefined
  readonly height?: number | undefined
}

/** A form of a picture: its size, and its name in the store. */
export interface PictureForm extends RenderOptions {
  readonly name: string
}

/** Few sizes, so that callers cannot fill the store with forms of one picture. */
const steps = [100, 200, 400, 800, 1_600] as const
const largest = 1_600
const defaultSize = 200

/**
 * Returns the form of a picture. A thumbnail fits into width and height, a cover fills them. Sizes are rounded up to 100, 200, 400, 800 or
 * 1,600 pixels. A missing side is as long as the other one, or 200.
 */
export function pictureForm({
  imageType: type,
  width = 0,
  height = 0,
}: WantedPicture): PictureForm {
  const isCover = type === imageType.cover
  const size = {
    width: stepOf(width || height || defaultSize),
    height: stepOf(height || width || defaultSize),
  }
  const name = `${isCover ? 'cover' : 'thumbnail'}-${size.width}x${size.height}`
  return { ...size, fit: isCover ? 'cover' : 'inside', name }
}

function stepOf(pixels: number): number {
  return steps.find((step) => step >= pixels) ?? largest
}
