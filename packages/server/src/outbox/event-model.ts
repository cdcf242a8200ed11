import type { Int64 } from '@hermod/protocol'

/**
 * A committed fact that connected devices and other systems are told of. The kinds of contact, group and user notices are those of the
 * clients' tables (rule K14), by name.
 */
export interface Event {
  readonly appId: string
  /** For example `contact.added`: what it is about, and what happened, in the past tense. */
  readonly kind: EventKind
  /** Who did it: the accepter, the remover, the administrator (0). */
  readonly actorId: Int64
  /** Whom it happened to; of a group notice none where it is the group as a whole. */
  readonly userIds: readonly Int64[]
  /** Of a group notice, and of what happened in a group's conversation. */
  readonly groupId?: Int64
  /** The changed fields, or a text; '' when there is nothing more to say. */
  readonly content: string
}

export const eventKinds = [
  'contact.added',
  'contact.removed',
  'contact.accepted',
  'contact.declined',
  'contact.blocked',
  'contact.unblocked',
  'contact.applied',
  'contact.info_updated',
  'contact.muted',
  'contact.unmuted',
  'group.presence',
  'group.absence',
  'group.created',
  'group.destroyed',
  'group.joined',
  'group.left',
  'group.applied',
  'group.application_accepted',
  'group.application_declined',
  'group.invited',
  'group.invitation_accepted',
  'group.invitation_declined',
  'group.kicked',
  'group.blocked',
  'group.unblocked',
  'group.owner_assigned',
  'group.admin_granted',
  'group.admin_revoked',
  'group.muted',
  'group.unmuted',
  'group.banned',
  'group.unbanned',
  'group.info_updated',
  'group.announcement_updated',
  'group.message_setting',
  'group.file_uploaded',
  'group.file_deleted',
  'group.file_updated',
  'user.password_changed',
  'user.frozen',
  'user.removed',
  'user.kicked',
  'user.info_updated',
  'user.device_logged_in',
  'user.device_added',
  'user.device_removed',
  'message.read',
  'message.read_all',
  'message.recalled',
  'message.appended',
  'message.replaced',
  'message.delivered',
] as const

export type EventKind = (typeof eventKinds)[number]
