import type { EventKind } from '@hermod/protocol/events'

/**
 * The users that an event is sent to, all their devices included:
 * - `log`: the readers of the conversation
 * - `actor`: who did it
 * - `users`: those in `user_ids`
 * - `both`: the actor and those in `user_ids`
 * - `group`: the members of the group and those in `user_ids`
 * - `admins`: owner and admins of the group
 * - `applicants`: owner and admins of the group, the actor and those in `user_ids`
 * - `none`: no device
 */
export type EventAudience =
  | 'log'
  | 'actor'
  | 'users'
  | 'both'
  | 'group'
  | 'admins'
  | 'applicants'
  | 'none'

/** The audience of each kind of event. */
export const audiences = {
  'message.stored': 'log',
  'message.appended': 'log',
  'message.replaced': 'log',
  'message.recalled': 'log',
  'change.skipped': 'log',
  // What retention removes, a client learns with the head of the log.
  'message.expired': 'none',
  // One event for the devices of the reader, and one for each sender of the messages concerned.
  'message.read': 'users',
  'message.delivered': 'users',
  // Each mark that moved has its own event.
  'message.read_all': 'none',
  'contact.added': 'both',
  'contact.removed': 'both',
  'contact.accepted': 'both',
  'contact.declined': 'both',
  'contact.applied': 'both',
  'contact.blocked': 'actor',
  'contact.unblocked': 'actor',
  'contact.info_updated': 'actor',
  'contact.user_removed': 'users',
  'contact.muted': 'actor',
  'contact.unmuted': 'actor',
  'conversation.pinned': 'users',
  'conversation.unpinned': 'users',
  'conversation.deleted': 'actor',
  'group.presence': 'group',
  'group.absence': 'group',
  'group.created': 'group',
  'group.destroyed': 'group',
  'group.joined': 'group',
  'group.left': 'group',
  'group.applied': 'applicants',
  'group.request_accepted': 'applicants',
  'group.request_declined': 'applicants',
  'group.invited': 'both',
  'group.invitation_accepted': 'both',
  'group.invitation_declined': 'both',
  'group.kicked': 'group',
  'group.blocked': 'group',
  'group.unblocked': 'admins',
  'group.owner_assigned': 'group',
  'group.admin_granted': 'group',
  'group.admin_revoked': 'group',
  'group.muted': 'users',
  'group.unmuted': 'users',
  'group.banned': 'group',
  'group.unbanned': 'group',
  'group.info_updated': 'group',
  'group.announcement_updated': 'group',
  'group.message_setting': 'users',
  'group.file_uploaded': 'group',
  'group.file_deleted': 'group',
  'group.file_updated': 'group',
  'user.password_changed': 'users',
  'user.frozen': 'users',
  'user.removed': 'users',
  'user.kicked': 'users',
  'user.info_updated': 'users',
  'user.device_logged_in': 'users',
  'user.device_added': 'users',
  'user.device_removed': 'users',
  'user.device_updated': 'users',
  'user.settings_updated': 'users',
  'webhook.disabled': 'none',
} as const satisfies Record<EventKind, EventAudience>
