import { meaningsOf, memberRole } from '../enums.js'
import {
  boolean,
  int32,
  int64,
  intEnum,
  optional,
  type TProperties,
  Type,
  text,
} from '../schema.js'
import { payload } from './event-schema.js'

const version = int64({
  description:
    'The version of the group after the event. It grows by one with every event that all members get, except that members join or leave a chatroom.',
})

function inGroup<T extends TProperties>(properties: T) {
  return payload({ group_id: int64(), version, ...properties })
}

const members = inGroup({})
/** The new values of fields of the group and its members, so that a client need not read them. */
const memberCount = {
  member_count: int64({ description: 'The number of members after the event.' }),
}
const updatedAt = {
  updated_at: int64({ description: 'updated_at of the group, milliseconds since 1970.' }),
}
const role = {
  role: intEnum(meaningsOf(memberRole), { description: 'The role of the users now.' }),
}
const banEnd = {
  expired_time: int64({
    description: 'The end of the ban, milliseconds since 1970; 0 = none, -1 = permanent.',
  }),
}
/** The number of members who came or went. */
const count = {
  count: optional(
    int32({
      description:
        'In groups above 200 members, where the events of a second are sent as one: the number of users. user_ids is empty above 100.',
    }),
  ),
  since_version: optional(
    int64({
      description:
        'The version before the first of the events that are sent together; present with count. A client that has it, or a later one, has missed nothing.',
    }),
  ),
}
const crowd = inGroup(count)
const words = inGroup({ reason: text('The text of the asking or inviting user; "" = nothing.') })
const file = inGroup({ file_id: int64(), name: text('The name of the shared file.') })

/**
 * The properties that group.info_updated names, and the members who get the value. `shown`: all.
 * `hideable`: owner, admins and the named member, while hide_member_info hides names from others.
 */
export const groupProperties = {
  name: 'shown',
  avatar: 'shown',
  description: 'shown',
  ext: 'shown',
  hide_member_info: 'shown',
  history_visible: 'shown',
  member_invite: 'shown',
  member_modify: 'shown',
  read_ack: 'shown',
  apply_approval: 'shown',
  ban_expire_time: 'shown',
  capacity: 'shown',
  display_name: 'hideable',
} as const satisfies Record<string, 'shown' | 'hideable'>

/** Payloads of events in a group. */
export const groupEvents = {
  /** Members joined a chatroom. */
  'group.presence': crowd,
  /** Members left a chatroom. */
  'group.absence': crowd,
  'group.created': members,
  'group.destroyed': inGroup(updatedAt),
  'group.joined': inGroup({
    ...count,
    ...memberCount,
    join_time: optional(
      int64({
        description:
          'When they joined, milliseconds since 1970. Absent where the members have to be read: one of them is still banned, or events of several times are sent as one.',
      }),
    ),
    log: Type.Object(
      {
        change: int64({ description: 'The number of the last change.' }),
        seq: int64({ description: 'The position of the last message.' }),
        msg_id: int64({ description: 'The ID of the last message; 0 = none.' }),
      },
      { description: "The end of the group's log at the join." },
    ),
  }),
  'group.left': inGroup({ ...count, ...memberCount }),
  /** `user_ids` is the user who requests to become a member. */
  'group.applied': words,
  'group.request_accepted': members,
  'group.request_declined': members,
  'group.invited': words,
  /** The actor was invited; `user_ids` is the inviter. */
  'group.invitation_accepted': members,
  /** The same as group.invitation_accepted. */
  'group.invitation_declined': members,
  'group.kicked': inGroup(memberCount),
  'group.blocked': inGroup(memberCount),
  'group.unblocked': members,
  /** `user_ids` is the new owner. */
  'group.owner_assigned': inGroup({
    former_owner_id: int64({ description: 'Now an ordinary member, or deleted.' }),
    ...role,
    ...banEnd,
    ...updatedAt,
  }),
  'group.admin_granted': inGroup(role),
  'group.admin_revoked': inGroup(role),
  /** A member muted the group's messages. */
  'group.muted': members,
  'group.unmuted': members,
  'group.banned': inGroup({
    minutes: int64({ description: 'For how long; -1 = permanently.' }),
    ...banEnd,
  }),
  'group.unbanned': inGroup(banEnd),
  'group.info_updated': inGroup({
    property: text(
      'The field that changed, for example display_name; "" with the value "" once the member that it names is deleted.',
    ),
    value: optional(
      Type.Union([Type.String(), Type.Integer(), Type.Boolean()], {
        description:
          'The new value. Absent for members who may not see it: only the version is for them, and there is nothing to read again.',
      }),
    ),
    is_hidden: optional(
      boolean({
        description:
          'true: hide_member_info hides the value from ordinary members other than the named one. Absent otherwise.',
      }),
    ),
    updated_at: optional(
      int64({
        description:
          'updated_at of the group, milliseconds since 1970; absent for properties of a member.',
      }),
    ),
  }),
  'group.announcement_updated': inGroup({
    announcement_id: int64(),
    title: text('Its title.'),
    is_deleted: Type.Boolean({ description: 'false: published; true: deleted' }),
  }),
  'group.message_setting': inGroup({
    setting: Type.Object(
      {
        msg_mute_mode: Type.Optional(Type.Integer()),
        msg_push_mode: Type.Optional(Type.Integer()),
      },
      { description: 'The settings that the member changed.' },
    ),
  }),
  'group.file_uploaded': file,
  'group.file_deleted': file,
  'group.file_updated': file,
}
