import type { Message } from '@hermod/client'

const kinds: Readonly<Partial<Record<Message['contentType'], string>>> = {
  image: 'Picture',
  audio: 'Voice message',
  video: 'Video',
  file: 'File',
  location: 'Location',
}

/** Returns a message in one line of text. */
export function previewText({ text, contentType, attachment }: Message): string {
  return text || attachment?.name || kinds[contentType] || ''
}
