import { lateLoader } from '../lib/system/late-loader.js'
import type { DetectedType } from './media.js'
import { SlicedFile, type StoredBytes, TooManyReadsError } from './sliced-file.js'

const unknownType = 'application/octet-stream'

/** Raster images, audio and video that browsers show without running code in them. */
const inlineTypes: ReadonlySet<string> = new Set([
  'image/apng',
  'image/avif',
  'image/bmp',
  'image/gif',
  'image/jpeg',
  'image/png',
  'image/webp',
  'audio/aac',
  'audio/amr',
  'audio/flac',
  'audio/mp4',
  'audio/mpeg',
  'audio/ogg',
  'audio/wav',
  'audio/x-caf',
  'audio/x-m4a',
  'video/3gpp',
  'video/3gpp2',
  'video/mp4',
  'video/ogg',
  'video/quicktime',
  'video/webm',
  'video/x-m4v',
])

/** The types of pictures that are rendered in other sizes. */
const renderableTypes: ReadonlySet<string> = new Set([
  'image/apng',
  'image/avif',
  'image/gif',
  'image/jpeg',
  'image/png',
  'image/tiff',
  'image/webp',
])

const load = lateLoader(import.meta.url)

/** Detects the type of a file by its first `headBytes` bytes. The library is loaded with the first file. */
export async function detectType(head: Buffer): Promise<DetectedType> {
  // The library does not know Apple's Core Audio Format.
  if (head.toString('latin1', 0, 4) === 'caff') return detected('audio/x-caf')
  const { fileTypeFromBuffer } = library()
  return detected((await fileTypeFromBuffer(head))?.mime)
}

/**
 * Detects the type of a file that has it in other places: a directory at its end, or entries of an archive.
 * @param charge gets the cost of the reads
 * @returns null when that takes too many reads
 * @throws the error of a read
 */
export async function detectStoredType(
  file: StoredBytes,
  charge: (tokens: number) => void,
): Promise<DetectedType | null> {
  const { fileTypeFromBlob } = library()
  const sliced = new SlicedFile(file)
  try {
    return detected((await fileTypeFromBlob(sliced as unknown as Blob))?.mime)
  } catch (error) {
    if (error instanceof TooManyReadsError) return null
    throw error
  } finally {
    charge(sliced.cost)
  }
}

function library(): typeof import('file-type') {
  return load('file-type') as typeof import('file-type')
}

function detected(mime: string = unknownType): DetectedType {
  const contentType = mime.replace(/;.*/s, '')
  return { contentType, kind: mediaKindOf(contentType), isInline: isInlineType(contentType) }
}

/** Reports whether browsers show content of this type without running code in it. */
export function isInlineType(contentType: string): boolean {
  return inlineTypes.has(contentType)
}

/** Reports whether pictures of this type are rendered in other sizes. */
export function isRenderableType(contentType: string): boolean {
  return renderableTypes.has(contentType)
}

function mediaKindOf(contentType: string): DetectedType['kind'] {
  const family = contentType.slice(0, contentType.indexOf('/'))
  return family === 'image' || family === 'audio' || family === 'video' ? family : 'other'
}
