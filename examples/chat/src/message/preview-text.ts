import type { Message } from '@hermod/client'

const kinds: Readonly<Partial<Record<Message['contentType'], string>>> = {
  image: 'Picture',
  audio: 'Voice message',
  video: 'Video',
  file: 'File',
  location: 'Location',
}

/** Returns a message, or the quote of one, in one line of text. */
export function previewText({
  text = '',
  contentType = 'text',
  attachment,
}: Partial<Pick<Message, 'text' | 'contentType' | 'attachment'>>): string {
  return text || attachment?.name || kinds[contentType] || ''
}
