import type { Message } from '@hermod/client'

const kinds: Readonly<Record<number, string>> = {
  1: 'Picture',
  2: 'Voice message',
  3: 'Video',
  4: 'File',
  5: 'Location',
}

/** Returns a message in one line of text. */
export function previewText({ text, contentType, attachment }: Message): string {
  return text || attachment?.name || kinds[contentType] || ''
}
