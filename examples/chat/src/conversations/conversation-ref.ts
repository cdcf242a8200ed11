/** Names a conversation. */
export interface ConversationRef {
  readonly id: number
  readonly kind: 'direct' | 'group'
}
