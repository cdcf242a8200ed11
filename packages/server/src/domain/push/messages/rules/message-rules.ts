/** The rules by which users get the push of a message (rules G5, K16). */
import {
  contentType,
  groupStatus,
  groupType,
  type Int64,
  muteMode,
  pushMode,
} from '@hermod/protocol'
import type { Group } from '../../../groups/core/group-model.js'
import type { Recipient, Suppression } from '../../audience/recipient.js'
import type { PushedMessage } from '../../content/pushed-message.js'
import { isAddressed } from '../../content/pushed-message.js'
import type { MemberReader } from '../receiver-store.js'
import type { PushConfig } from './push-config.js'

/** The inputs of the decision about one user and one message. */
export interface ReceiverInputs {
  readonly userId: Int64
  /** Read, hidden from the user, or from before the user's time. */
  readonly isSeen: boolean
  /** The user has muted or blocked the sender; of messages in groups that says nothing. */
  readonly isSenderMuted: boolean
  /** The user's own settings of the group; null outside of groups. */
  readonly membership: { readonly muteMode: number; readonly pushMode: number } | null
}

/** Commands are for the app, and are pushed only where the sender gave words for it. */
export function isWorthPush(
  { content_type }: { readonly content_type: number },
  { pushMessage, locKey }: Pick<PushConfig, 'pushMessage' | 'locKey'>,
): boolean {
  return content_type !== contentType.command || pushMessage !== '' || locKey !== ''
}

/** Messages of chatrooms are never pushed (rule F1). */
export function isPushedGroup({ type, status }: Pick<Group, 'type' | 'status'>): boolean {
  return type !== groupType.chatroom && status === groupStatus.normal
}

/** A member as the receiver of a message in the group. */
export function memberInputs(
  { seq }: Pick<PushedMessage, 'seq'>,
  { userId, seenSeq, muteMode, pushMode }: MemberReader,
): ReceiverInputs {
  return {
    userId,
    isSeen: seenSeq >= seq,
    isSenderMuted: false,
    membership: { muteMode, pushMode },
  }
}

/** @param receiver any user but the sender */
export function recipientOf(message: PushedMessage, receiver: ReceiverInputs): Recipient {
  return {
    userId: receiver.userId,
    deviceSns: null,
    suppressedBy: suppressionOf(message, receiver),
    isSilent: message.isSilent,
  }
}

function suppressionOf(message: PushedMessage, receiver: ReceiverInputs): Suppression | null {
  const { isSeen, isSenderMuted, membership, userId } = receiver
  if (isSeen) return 'message_read'
  if (isSenderMuted) return 'contact_muted'
  if (membership === null) return null
  if (membership.muteMode !== muteMode.none) return 'group_muted'
  const isPushed = passesMode(membership.pushMode, {
    isFromAdmin: message.isFromAdmin,
    isMention: isAddressed(message, userId),
  })
  return isPushed ? null : 'group_push_mode'
}

function passesMode(
  mode: number,
  { isFromAdmin, isMention }: { readonly isFromAdmin: boolean; readonly isMention: boolean },
): boolean {
  switch (mode) {
    case pushMode.none:
      return false
    case pushMode.adminsAndMentions:
      return isFromAdmin || isMention
    case pushMode.admins:
      return isFromAdmin
    case pushMode.mentions:
      return isMention
    default:
      return true
  }
}
