/** Drafts of conversations are kept among the cached reads, under keys that name no read. */

/** Returns the key of the draft of a conversation. */
export function draftKey(conversationId: number): string {
  return `draft.${conversationId}`
}

/** Tests for the key of a draft. */
export function isDraft(key: string): boolean {
  return key.startsWith('draft.')
}
