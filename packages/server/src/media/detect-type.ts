import { lateLoader } from '../lib/system/late-loader.js'
import type { DetectedType } from './media.js'

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
  'audio/x-m4a',
  'video/3gpp',
  'video/mp4',
  'video/ogg',
  'video/quicktime',
  'video/webm',
  'video/x-m4v',
])

const load = lateLoader(import.meta.url)

/** Detects the type of a file by its first `headBytes` bytes. The library is loaded with the first file. */
export async function detectType(head: Buffer): Promise<DetectedType> {
  const { fileTypeFromBuffer } = load('file-type') as typeof import('file-type')
  const found = await fileTypeFromBuffer(head)
  const contentType = found?.mime.replace(/;.*/s, '') ?? 'application/octet-stream'
  return { contentType, kind: mediaKindOf(contentType), isInline: isInlineType(contentType) }
}

/** Reports whether browsers show content of this type without running code in it. */
export function isInlineType(contentType: string): boolean {
  return inlineTypes.has(contentType)
}

function mediaKindOf(contentType: string): DetectedType['kind'] {
  const family = contentType.slice(0, contentType.indexOf('/'))
  return family === 'image' || family === 'audio' || family === 'video' ? family : 'other'
}
