/** Collapse: of several messages of a conversation at once, a user gets the push of the newest. */
import type { Int64 } from '@hermod/protocol'
import { systemUserId } from '../../../users/system-user.js'
import type { Recipient } from '../../audience/recipient.js'
import type { PushedMessage } from '../../content/pushed-message.js'
import { isAddressed } from '../../content/pushed-message.js'

/** A message and its recipients. */
export interface MessageWithRecipients {
  readonly message: PushedMessage
  readonly recipients: readonly Recipient[]
}

/** One of several messages of a conversation. */
export interface ConversationMessage {
  readonly message: PushedMessage
  /** In the name of its sender, who need not have seen what is in the conversation (rule E5). */
  readonly isNotification: boolean
}

/**
 * Names for each message a later one that all of its receivers get, so that its receivers need not be found.
 * @param messages of one conversation, oldest first
 * @returns them in their order
 */
export function collapseMessages(messages: readonly ConversationMessage[]): PushedMessage[] {
  const told: ConversationMessage[] = []
  const collapsed = messages.toReversed().map((each) => {
    const later = told.find((one) => standsFor(one, each))
    if (!later) told.push(each)
    return { ...each.message, collapsedBy: later?.message.msgId ?? null }
  })
  return collapsed.reverse()
}

function standsFor(later: ConversationMessage, { message }: ConversationMessage): boolean {
  const { senderId, isFromAdmin, isSilent } = later.message
  return (
    // The sender of the later one gets no push of it, and has read the earlier one by sending.
    (!later.isNotification || senderId === systemUserId || senderId === message.senderId) &&
    (isFromAdmin || !message.isFromAdmin) &&
    (!isSilent || message.isSilent) &&
    addressesAll(later.message, message)
  )
}

function addressesAll(later: PushedMessage, { mentions, quotedId }: PushedMessage): boolean {
  if (mentions === 'all') return later.mentions === 'all'
  const addressed = quotedId === undefined ? mentions : [...mentions, quotedId]
  return addressed.every((userId) => isAddressed(later, userId))
}

/**
 * Suppresses a message for users who get a later one. A mention is replaced only by a mention, and
 * an audible push only by an audible one.
 * @param messages of one conversation, oldest first
 * @returns them in their order
 */
export function collapseRecipients(
  messages: readonly MessageWithRecipients[],
): MessageWithRecipients[] {
  const told = new Map<Int64, Told[]>()
  const collapsed = messages.toReversed().map(({ message, recipients }) => ({
    message,
    recipients: recipients.map((recipient) => {
      const { userId, suppressedBy, isSilent } = recipient
      if (suppressedBy !== null) return recipient
      const isMention = isAddressed(message, userId)
      const later = told.get(userId) ?? []
      if (later.some((one) => (one.isMention || !isMention) && (!one.isSilent || isSilent)))
        return { ...recipient, suppressedBy: 'collapsed' as const }
      told.set(userId, [...later, { isMention, isSilent }])
      return recipient
    }),
  }))
  return collapsed.reverse()
}

interface Told {
  readonly isMention: boolean
  readonly isSilent: boolean
}
