/** The keys by which events are kept in order. */
import type { Int64 } from '../schema.js'
import type { EventKind, EventPayloads } from './event-kinds.js'

interface Conversation {
  readonly low_id: Int64
  readonly high_id: Int64
  readonly is_group: boolean
}

interface Action {
  readonly actor_id: Int64
  readonly user_ids: readonly Int64[]
}

/** The low_id of what a sender has broadcast to all users. */
const broadcastLowId = -1

const appKey = 'app'
const ofGroup = ({ group_id }: { readonly group_id: Int64 }) => `g:${group_id}`
const ofUser = (userId: Int64) => `u:${userId}`
const ofLog = ({ conversation }: { readonly conversation: Conversation }) => {
  const { low_id, high_id, is_group } = conversation
  if (is_group) return `g:${low_id}`
  return low_id === broadcastLowId ? appKey : `d:${low_id}:${high_id}`
}
/** An action between the actor and one other user. */
const ofPair = ({ actor_id, user_ids: [other] }: Action) =>
  other === undefined ? ofUser(actor_id) : pair(actor_id, other)
const ofActor = ({ actor_id }: Action) => ofUser(actor_id)
/** An action on one account; an administrator is the actor 0. */
const ofAccount = ({ actor_id, user_ids: [user] }: Action) => ofUser(user ?? actor_id)

function pair(a: Int64, b: Int64): string {
  return a < b ? `d:${a}:${b}` : `d:${b}:${a}`
}

const keys: { readonly [K in EventKind]: (payload: EventPayloads[K]) => string } = {
  'message.stored': ofLog,
  'change.skipped': ofLog,
  'message.read': ofLog,
  'message.read_all': ofActor,
  'message.recalled': ofLog,
  'message.appended': ofLog,
  'message.replaced': ofLog,
  'message.delivered': ofLog,
  'message.expired': ofLog,
  'contact.added': ofPair,
  'contact.removed': ofPair,
  'contact.accepted': ofPair,
  'contact.declined': ofPair,
  'contact.blocked': ofPair,
  'contact.unblocked': ofPair,
  'contact.applied': ofPair,
  'contact.info_updated': ofPair,
  'contact.user_removed': ofActor,
  'contact.muted': ofPair,
  'contact.unmuted': ofPair,
  'conversation.pinned': ofAccount,
  'conversation.unpinned': ofAccount,
  'conversation.deleted': ofLog,
  'group.presence': ofGroup,
  'group.absence': ofGroup,
  'group.created': ofGroup,
  'group.destroyed': ofGroup,
  'group.joined': ofGroup,
  'group.left': ofGroup,
  'group.applied': ofGroup,
  'group.request_accepted': ofGroup,
  'group.request_declined': ofGroup,
  'group.invited': ofGroup,
  'group.invitation_accepted': ofGroup,
  'group.invitation_declined': ofGroup,
  'group.kicked': ofGroup,
  'group.blocked': ofGroup,
  'group.unblocked': ofGroup,
  'group.owner_assigned': ofGroup,
  'group.admin_granted': ofGroup,
  'group.admin_revoked': ofGroup,
  'group.muted': ofGroup,
  'group.unmuted': ofGroup,
  'group.banned': ofGroup,
  'group.unbanned': ofGroup,
  'group.info_updated': ofGroup,
  'group.announcement_updated': ofGroup,
  'group.message_setting': ofGroup,
  'group.file_uploaded': ofGroup,
  'group.file_deleted': ofGroup,
  'group.file_updated': ofGroup,
  'user.password_changed': ofAccount,
  'user.frozen': ofAccount,
  'user.removed': ofAccount,
  'user.kicked': ofAccount,
  'user.info_updated': ofAccount,
  'user.settings_updated': ofAccount,
  'user.device_logged_in': ofAccount,
  'user.device_added': ofAccount,
  'user.device_removed': ofAccount,
  'user.device_updated': ofAccount,
  'webhook.disabled': () => appKey,
}

/**
 * Returns the key of an event: `g:<group>`, `d:<low>:<high>` of two users, `u:<user>`, or `app`.
 * Events with the same key are delivered in their order.
 */
export function eventKey<K extends EventKind>({
  kind,
  payload,
}: {
  readonly kind: K
  readonly payload: EventPayloads[K]
}): string {
  return keys[kind](payload)
}
