import type { DetectedType, ImageRenderer, VoiceConverter } from '../media/media.js'
import { MediaError } from '../media/media.js'

/** What is done with the content of files. */
export interface Media {
  detectType(head: Buffer): DetectedType
  /** Whether browsers may show content of this type in its place. */
  isInlineType(contentType: string): boolean
  readonly images: ImageRenderer
  readonly voices: VoiceConverter
}

/** TEMPORARY until the media folder is there. */
export function createMedia(): Media {
  const types: [RegExp, DetectedType][] = [
    [/^\x89PNG/, { contentType: 'image/png', kind: 'image', isInline: true }],
    [/^\xff\xd8\xff/, { contentType: 'image/jpeg', kind: 'image', isInline: true }],
    [/^#!AMR/, { contentType: 'audio/amr', kind: 'audio', isInline: true }],
    [/^<(html|!doctype)/i, { contentType: 'text/html', kind: 'other', isInline: false }],
  ]
  const refuse = () => {
    throw new MediaError('unsupported', 'not built')
  }
  return {
    detectType: (head) =>
      types.find(([pattern]) => pattern.test(head.toString('latin1')))?.[1] ?? {
        contentType: 'application/octet-stream',
        kind: 'other',
        isInline: false,
      },
    isInlineType: (contentType) => /^(image|audio|video)\//.test(contentType),
    images: { measure: async () => refuse(), render: async () => refuse() },
    voices: { program: null, toMp3: async () => refuse() },
  }
}
