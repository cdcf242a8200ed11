import { type Int64, userChangeKind } from '@hermod/protocol'
import type { CommittedKind } from '@hermod/protocol/events'
import type { RecordedEvent } from './rows/recorded-event.js'

/** Users that an event concerns although its payload does not name them. */
export interface AlsoConcerned {
  /** The owner and the admins of the group, who answer its join requests and block users. */
  readonly managers?: readonly Int64[]
  /** Users with an invitation that the event has answered or closed. */
  readonly invitees?: readonly Int64[]
}

/** An event with the users that {@link userChangesOf} cannot read from its payload. */
export type AppendedEvent = RecordedEvent & { readonly also?: AlsoConcerned }

/** A thing of a user that clients must read again. */
export interface UserChange {
  readonly userId: Int64
  /** A value of `userChangeKind` of the protocol. */
  readonly kind: number
  /** The peer or the group; 0 = the user's only one of its kind. */
  readonly ref: Int64
}

type ChangeName = 'contact' | 'contactRequest' | 'group' | 'joinRequests' | 'invitation' | OwnName
/** Kinds without a ref. */
type OwnName = 'profile' | 'settings' | 'devices' | 'pins'

/** Users of an event; `both`: the actor and the users; `owners`: the new and the former owner. */
type Concerned = 'actor' | 'users' | 'both' | 'owners' | keyof AlsoConcerned

type Changes = Readonly<Partial<Record<ChangeName, Concerned>>>

const none: Changes = {}

/** The changes of users that each kind of event makes, and the users of each. */
const changesByKind = {
  'contact.added': { contact: 'both', contactRequest: 'both' },
  'contact.removed': { contact: 'both' },
  'contact.accepted': { contact: 'both', contactRequest: 'both' },
  'contact.declined': { contactRequest: 'both' },
  'contact.blocked': { contact: 'actor' },
  'contact.unblocked': { contact: 'actor' },
  'contact.applied': { contactRequest: 'both' },
  'contact.info_updated': { contact: 'actor' },
  'contact.user_removed': { contact: 'users', contactRequest: 'users' },
  'contact.muted': { contact: 'actor' },
  'contact.unmuted': { contact: 'actor' },
  'conversation.pinned': { pins: 'users' },
  'conversation.unpinned': { pins: 'users' },
  'conversation.deleted': none,
  'group.presence': none,
  'group.absence': none,
  'group.created': { group: 'users' },
  // Members learn of it from the head of the conversation: a row for each would be one per member.
  'group.destroyed': none,
  'group.joined': { group: 'users', invitation: 'invitees', joinRequests: 'managers' },
  'group.left': { group: 'users' },
  'group.applied': { joinRequests: 'managers' },
  'group.request_accepted': { joinRequests: 'managers' },
  'group.request_declined': { joinRequests: 'managers' },
  'group.invited': { invitation: 'users' },
  'group.invitation_accepted': { invitation: 'invitees' },
  'group.invitation_declined': { invitation: 'invitees' },
  'group.kicked': { group: 'users' },
  'group.blocked': { group: 'users', invitation: 'invitees', joinRequests: 'managers' },
  'group.unblocked': { joinRequests: 'managers' },
  'group.owner_assigned': { group: 'owners', joinRequests: 'owners' },
  'group.admin_granted': { group: 'users', joinRequests: 'users' },
  'group.admin_revoked': { group: 'users', joinRequests: 'users' },
  'group.muted': { group: 'users' },
  'group.unmuted': { group: 'users' },
  'group.banned': { group: 'users' },
  'group.unbanned': { group: 'users' },
  'group.info_updated': { group: 'users' },
  'group.announcement_updated': none,
  'group.message_setting': { group: 'users' },
  'group.file_uploaded': none,
  'group.file_deleted': none,
  'group.file_updated': none,
  'user.password_changed': none,
  'user.frozen': none,
  'user.removed': none,
  'user.kicked': none,
  'user.info_updated': { profile: 'users' },
  'user.settings_updated': { settings: 'users' },
  'user.device_logged_in': none,
  'user.device_added': { devices: 'users' },
  'user.device_removed': { devices: 'users' },
  'user.device_updated': { devices: 'users' },
  'message.stored': none,
  'message.read': none,
  'message.read_all': none,
  'message.recalled': none,
  'message.appended': none,
  'message.replaced': none,
  'message.delivered': none,
  'message.expired': none,
  'webhook.disabled': none,
} as const satisfies Record<CommittedKind, Changes>

/** Returns the kinds of events that make changes of a kind, for the reference. */
export function eventsOfUserChange(kind: number): readonly CommittedKind[] {
  return (Object.keys(changesByKind) as CommittedKind[]).filter((event) =>
    Object.keys(changesByKind[event]).some((name) => userChangeKind[name as ChangeName] === kind),
  )
}

/** Returns the changes of users that an event makes. */
export function userChangesOf(event: AppendedEvent): UserChange[] {
  if (event.kind === 'message.stored') return []
  const { also = {}, payload } = event
  const changes: Changes = changesByKind[event.kind]
  return Object.entries(changes).flatMap(([name, concerned]) =>
    changesOf(name as ChangeName, payload, usersOf(concerned, payload, also)),
  )
}

type Payload = Exclude<AppendedEvent, { readonly kind: 'message.stored' }>['payload']

function usersOf(concerned: Concerned, payload: Payload, also: AlsoConcerned): readonly Int64[] {
  const { actor_id: actorId, user_ids: userIds } = payload
  switch (concerned) {
    case 'actor':
      return [actorId]
    case 'users':
      return userIds
    case 'both':
      return [actorId, ...userIds]
    case 'owners':
      return 'former_owner_id' in payload ? [payload.former_owner_id, ...userIds] : userIds
    default:
      return also[concerned] ?? []
  }
}

function changesOf(name: ChangeName, payload: Payload, userIds: readonly Int64[]): UserChange[] {
  const kind = userChangeKind[name]
  if (name !== 'contact' && name !== 'contactRequest') {
    const ref = 'group_id' in payload ? payload.group_id : 0
    return userIds.map((userId) => ({ userId, kind, ref }))
  }
  const { actor_id: actorId, user_ids: peerIds } = payload
  return userIds.flatMap((userId) =>
    (userId === actorId ? peerIds : [actorId]).map((ref) => ({ userId, kind, ref })),
  )
}
