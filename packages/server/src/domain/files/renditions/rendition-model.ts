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

/** Few sizes, since forms do not count in the quota. */
const steps = [200, 800, 1_600] as const
const largest = 1_600
const defaultSize = 200

/**
 * Returns the form of a picture: a square of 200, 800 or 1,600 pixels that a thumbnail fits into
 * and a cover fills. The longer side of the wanted size is rounded up; without a size it is 200.
 */
export function pictureForm({
  imageType: type,
  width = 0,
  height = 0,
}: WantedPicture): PictureForm {
  const isCover = type === imageType.cover
  const side = sizeStep(Math.max(width, height) || defaultSize)
  const name = `${isCover ? 'cover' : 'thumbnail'}-${side}x${side}`
  return { width: side, height: side, fit: isCover ? 'cover' : 'inside', name }
}

function sizeStep(pixels: number): number {
  return steps.find((step) => step >= pixels) ?? largest
}
