import { meaningsOf, memberRole } from '../enums.js'
import {
  boolean,
  int32,
  type Int64,
  int64,
  intEnum,
  optional,
  type TProperties,
  type TSchema,
  Type,
  text,
} from '../schema.js'
import { type EventAudience, type EventDefinition, payload } from './event-definition.js'
import { ofGroup } from './event-keys.js'

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
const historyVisible = {
  history_visible: boolean({
    description: 'true: new members see messages from before they joined',
  }),
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

/** The definition of an event in a group. */
export interface GroupEventDefinition<
  P extends GroupPayload = GroupPayload,
  A extends EventAudience = EventAudience,
> extends EventDefinition<P, A> {
  /**
   * The groups whose version the event raises by one. `never`: not every member gets it, or it
   * tells of a change that another event has counted. Members of chatrooms come and go too often
   * to be counted.
   */
  readonly raisesVersion: 'always' | 'outsideChatrooms' | 'never'
}

type GroupPayload = TSchema & { readonly static: { readonly group_id: Int64 } }

function groupEventDefinition<P extends GroupPayload, A extends EventAudience>(
  definition: Omit<GroupEventDefinition<P, A>, 'key'>,
): GroupEventDefinition<P, A> {
  return { key: ofGroup, ...definition }
}

/**
 * Defines an event of members who come or go. In large groups those of a second are sent as one.
 * @param opposite the kind that undoes it
 */
function crowdEvent<O extends string, P extends GroupPayload, A extends EventAudience>(
  opposite: O,
  definition: Omit<GroupEventDefinition<P, A>, 'key'>,
): GroupEventDefinition<P, A> & { readonly opposite: O } {
  return { ...groupEventDefinition(definition), opposite }
}

const toMembers = { audience: 'group', userChanges: {}, raisesVersion: 'always' } as const
/** Sent to all members; the membership of the users in it has changed. */
const aboutUsers = { ...toMembers, userChanges: { group: 'users' } } as const
const ownSetting = {
  audience: 'users',
  userChanges: { group: 'users' },
  raisesVersion: 'never',
} as const
const answeredRequest = {
  payload: members,
  audience: 'applicants',
  userChanges: { joinRequests: 'managers' },
  raisesVersion: 'never',
} as const
const answeredInvitation = {
  payload: members,
  audience: 'both',
  userChanges: { invitation: 'invitees' },
  raisesVersion: 'never',
} as const

function fileEvent(operation: string) {
  return groupEventDefinition({
    payload: inGroup({ file_id: int64(), name: text('The name of the shared file.') }),
    ...toMembers,
    causedBy: [operation],
  })
}

/** Operations by which users become members. */
const joins = [
  'group.create',
  'group.admin.member_join',
  'app.qrcode.group_invite',
  'group.apply',
  'group.apply.handle',
  'group.invite',
  'group.invite.handle',
  'group.qrcode.invite',
] as const
/** Operations by which users leave all their groups. */
const deletions = ['user.delete', 'operator.user.delete'] as const

/** Events in a group. */
export const groupEvents = {
  /** Members joined a chatroom. */
  'group.presence': crowdEvent('group.absence', {
    payload: crowd,
    audience: 'group',
    userChanges: {},
    raisesVersion: 'never',
    causedBy: joins,
  }),
  /** Members left a chatroom. */
  'group.absence': crowdEvent('group.presence', {
    payload: crowd,
    audience: 'group',
    userChanges: {},
    raisesVersion: 'never',
    causedBy: [...joins, ...deletions, 'group.block', 'group.kick', 'group.leave'],
  }),
  'group.created': groupEventDefinition({
    payload: inGroup(historyVisible),
    ...aboutUsers,
    causedBy: ['group.create', 'operator.group.import'],
  }),
  /**
   * Members learn of it from the head of the conversation: a change of each would be a row for
   * each.
   */
  'group.destroyed': groupEventDefinition({
    payload: inGroup(updatedAt),
    ...toMembers,
    causedBy: ['group.destroy', ...deletions],
  }),
  'group.joined': crowdEvent('group.left', {
    payload: inGroup({
      ...count,
      ...memberCount,
      join_time: optional(
        int64({
          description:
            'When they joined, milliseconds since 1970. Absent where the members have to be read: one of them is still banned or a program, or events of several times are sent as one.',
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
      ...historyVisible,
    }),
    audience: 'group',
    userChanges: { group: 'users', invitation: 'invitees', joinRequests: 'managers' },
    raisesVersion: 'outsideChatrooms',
    causedBy: [...joins, 'operator.member.import'],
  }),
  'group.left': crowdEvent('group.joined', {
    payload: inGroup({ ...count, ...memberCount }),
    audience: 'group',
    userChanges: { group: 'users' },
    raisesVersion: 'outsideChatrooms',
    causedBy: ['group.leave', ...deletions],
  }),
  /** `user_ids` is the user who requests to become a member. */
  'group.applied': groupEventDefinition({
    payload: words,
    audience: 'applicants',
    userChanges: { joinRequests: 'managers' },
    raisesVersion: 'never',
    personalTexts: { reason: '' },
    causedBy: ['group.apply'],
  }),
  'group.request_accepted': groupEventDefinition({
    ...answeredRequest,
    causedBy: ['group.apply.handle'],
  }),
  'group.request_declined': groupEventDefinition({
    ...answeredRequest,
    causedBy: ['group.apply.handle'],
  }),
  'group.invited': groupEventDefinition({
    payload: words,
    audience: 'both',
    userChanges: { invitation: 'users' },
    raisesVersion: 'never',
    personalTexts: { reason: '' },
    causedBy: ['group.create', 'group.admin.member_join', 'group.invite'],
  }),
  /** The actor was invited; `user_ids` is the inviter. */
  'group.invitation_accepted': groupEventDefinition({
    ...answeredInvitation,
    causedBy: ['group.apply', 'group.invite.handle'],
  }),
  /** The same as group.invitation_accepted. */
  'group.invitation_declined': groupEventDefinition({
    ...answeredInvitation,
    causedBy: ['group.invite.handle'],
  }),
  'group.kicked': groupEventDefinition({
    payload: inGroup(memberCount),
    ...aboutUsers,
    causedBy: ['group.kick'],
  }),
  'group.blocked': groupEventDefinition({
    payload: inGroup(memberCount),
    audience: 'group',
    userChanges: { group: 'users', invitation: 'invitees', joinRequests: 'managers' },
    raisesVersion: 'always',
    causedBy: ['group.block'],
  }),
  'group.unblocked': groupEventDefinition({
    payload: members,
    audience: 'admins',
    userChanges: { joinRequests: 'managers' },
    raisesVersion: 'never',
    causedBy: ['group.unblock'],
  }),
  /** `user_ids` is the new owner. */
  'group.owner_assigned': groupEventDefinition({
    payload: inGroup({
      former_owner_id: int64({ description: 'Now an ordinary member, or deleted.' }),
      ...role,
      ...banEnd,
      ...updatedAt,
    }),
    audience: 'group',
    userChanges: { group: 'owners', joinRequests: 'owners' },
    raisesVersion: 'always',
    causedBy: ['group.transfer', ...deletions],
  }),
  'group.admin_granted': groupEventDefinition({
    payload: inGroup(role),
    audience: 'group',
    userChanges: { group: 'users', joinRequests: 'users' },
    raisesVersion: 'always',
    causedBy: ['group.admin.add', 'operator.member.import'],
  }),
  'group.admin_revoked': groupEventDefinition({
    payload: inGroup(role),
    audience: 'group',
    userChanges: { group: 'users', joinRequests: 'users' },
    raisesVersion: 'always',
    causedBy: ['group.admin.remove'],
  }),
  /** A member muted the group's messages. */
  'group.muted': groupEventDefinition({
    payload: members,
    ...ownSetting,
    causedBy: ['group.msg.mute_mode', 'group.msg.not_disturb'],
  }),
  'group.unmuted': groupEventDefinition({
    payload: members,
    ...ownSetting,
    causedBy: ['group.msg.mute_mode', 'group.msg.not_disturb'],
  }),
  'group.banned': groupEventDefinition({
    payload: inGroup({
      minutes: int64({ description: 'For how long; -1 = permanently.' }),
      ...banEnd,
    }),
    ...aboutUsers,
    causedBy: ['group.ban'],
  }),
  'group.unbanned': groupEventDefinition({
    payload: inGroup(banEnd),
    ...aboutUsers,
    causedBy: ['group.unban'],
  }),
  'group.info_updated': groupEventDefinition({
    payload: inGroup({
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
    ...aboutUsers,
    personalTexts: { property: '', value: '' },
    causedBy: [
      'group.avatar.update',
      'group.description.update',
      'group.ext.update',
      'group.name.update',
      'group.display_name.update',
      'group.settings.allow_member_invitation',
      'group.settings.allow_member_modify',
      'group.settings.ban_all',
      'group.settings.capacity',
      'group.settings.enable_read_ack',
      'group.settings.hide_member_info',
      'group.settings.history_visible',
      'group.settings.require_admin_approval',
      'group.settings.unban_all',
    ],
  }),
  'group.announcement_updated': groupEventDefinition({
    payload: inGroup({
      announcement_id: int64(),
      title: text('Its title.'),
      is_deleted: Type.Boolean({ description: 'false: published; true: deleted' }),
    }),
    ...toMembers,
    causedBy: ['group.announcement.delete', 'group.announcement.edit'],
  }),
  'group.message_setting': groupEventDefinition({
    payload: inGroup({
      setting: Type.Object(
        {
          msg_mute_mode: Type.Optional(Type.Integer()),
          msg_push_mode: Type.Optional(Type.Integer()),
        },
        { description: 'The settings that the member changed.' },
      ),
    }),
    ...ownSetting,
    causedBy: ['group.msg.mute_mode', 'group.msg.not_disturb', 'group.msg.push_mode'],
  }),
  'group.file_uploaded': fileEvent('group.file.upload'),
  'group.file_deleted': fileEvent('group.file.delete'),
  'group.file_updated': fileEvent('group.file.update_name'),
}
