import { applyApproval, meaningsOf, muteMode, pushMode } from '../../enums.js'
import type { ErrorName } from '../../errors.js'
import type { GroupRightName } from '../../group-rights.js'
import { operation } from '../../operation.js'
import { GroupBan, GroupRecord, MuteMode, PushMode } from '../../resources/groups.js'
import { int32, int64, intEnum, type TProperties, type TSchema } from '../../schema.js'
import { banDuration, done, flag, get, post, putOrPost } from '../fields.js'
import { adminErrors, group, memberErrors } from './fields.js'

const tag = 'Group settings'

const ownSettingErrors = ['group_not_found', 'not_group_member'] as const

/** Changes one setting of a group, by PUT or POST. */
function groupSetting<const Name extends string, B extends TProperties>(
  name: Name,
  summary: string,
  body: B,
  {
    right = 'settings',
    errors = adminErrors,
  }: { readonly right?: GroupRightName; readonly errors?: readonly ErrorName[] } = {},
) {
  return operation({
    id: `group.settings.${name}` as const,
    methods: putOrPost,
    path: `/group/settings/${name}`,
    tag,
    summary,
    callers: 'groupMember',
    scopes: ['groups'],
    right,
    body: { ...group, ...body },
    data: done,
    errors,
  })
}

/** The boolean value of a setting. */
function switchValue(meaning: string) {
  return { value: flag(meaning) }
}

function extension<O extends { readonly origin: unknown }>(definition: O): O {
  return { ...definition, origin: 'extension' }
}

/** The same answer as {@link getGroup}; clients use both. Rule K10. */
export const getGroupSettings = operation({
  id: 'group.settings.get',
  methods: get,
  path: '/group/settings',
  tag,
  summary: 'Reads a group with its settings.',
  callers: 'member',
  scopes: ['groups'],
  right: 'info',
  query: group,
  data: GroupRecord,
  errors: ['group_not_found', 'member_required'],
  origin: 'extension',
})

/** Applies to messages sent from then on (rule E6). */
export const setReadAck = groupSetting(
  'enable_read_ack',
  'Switches read receipts of group messages on or off.',
  switchValue('true turns them on'),
)

/** Effective only while the application's setting of the same name is on (rule F9). */
export const setMemberInfoHidden = groupSetting(
  'hide_member_info',
  'Hides or shows member details.',
  switchValue('true hides the display names of other members from ordinary members'),
)

/** Takes effect on the next page that is read, in both directions (rule F4a). */
export const setHistoryVisible = groupSetting(
  'history_visible',
  'Sets whether new members see the history.',
  switchValue('true: new members see chat history'),
)

/** Applies to requests from then on; open ones stay open (rule F4). */
export const setApplyApproval = groupSetting(
  'require_admin_approval',
  'Sets how join requests are answered.',
  {
    apply_approval: intEnum(meaningsOf(applyApproval)),
  },
)

/** While it is off, QR codes of ordinary members are invalid too. */
export const setMemberInvitation = extension(
  groupSetting(
    'allow_member_invitation',
    'Sets whether members may invite.',
    switchValue('true: members may invite others'),
  ),
)

/** Lets ordinary members set name, avatar, description and ext. */
export const setMemberModification = extension(
  groupSetting(
    'allow_member_modify',
    'Sets whether members may change group information.',
    switchValue('true: members may'),
  ),
)

/** Never below the present number of members (20026). Rule F10. */
export const setGroupCapacity = extension(
  groupSetting(
    'capacity',
    'Sets how many members a group may have.',
    { value: int64({ description: "new capacity, up to the application's maximum", minimum: 1 }) },
    { right: 'capacity', errors: [...memberErrors, 'group_owner_required', 'capacity_invalid'] },
  ),
)

/**
 * Replaces an earlier ban of the whole group; bans of single members continue separately. The group
 * is notified. Rule F5.
 */
export const banGroup = operation({
  id: 'group.settings.ban_all',
  methods: post,
  path: '/group/settings/ban_all',
  tag,
  summary: 'Stops all members but the owner and admins from sending for a while.',
  callers: 'groupMember',
  scopes: ['groups'],
  right: 'settings',
  body: { duration: banDuration, ...group },
  data: GroupBan,
  errors: adminErrors,
})

/** Bans of single members stay. Succeeds when there is none. Rule F5. */
export const unbanGroup = operation({
  id: 'group.settings.unban_all',
  methods: post,
  path: '/group/settings/unban_all',
  tag,
  summary: 'Ends the ban of a whole group.',
  callers: 'groupMember',
  scopes: ['groups'],
  right: 'settings',
  body: group,
  data: done,
  errors: adminErrors,
})

/** Changes a setting of the caller in a group. */
function ownSetting<
  const Name extends string,
  B extends TProperties,
  D extends TSchema,
>(definition: {
  readonly name: Name
  readonly methods: typeof post | typeof putOrPost
  readonly summary: string
  readonly description?: string
  readonly body: B
  readonly data: D
  readonly errors?: readonly ErrorName[]
}) {
  const { name, methods, summary, description, body, data, errors = [] } = definition
  return operation({
    id: `group.msg.${name}` as const,
    methods,
    path: `/group/msg/${name}`,
    tag,
    summary,
    ...(description === undefined ? {} : { description }),
    callers: 'groupUser',
    scopes: ['groups'],
    right: 'own',
    body: { ...group, ...body },
    data,
    errors: [...ownSettingErrors, ...errors],
    origin: 'extension',
  })
}

/**
 * Sends and changes of the mode have one order, so the unread count is exact (rule F8a). Only the
 * caller's other devices are notified.
 */
export const setMuteMode = ownSetting({
  name: 'mute_mode',
  methods: putOrPost,
  summary: "Sets the caller's message blocking in a group.",
  description:
    'Messages that arrive while msg_mute_mode is 2 are never unread, also later. Earlier unread messages stay unread.',
  body: { msg_mute_mode: intEnum(meaningsOf(muteMode)) },
  data: MuteMode,
})

/** A value out of range has its own error (20003), so the schema sets no bound. */
const anyPushMode = int32({
  description: Object.entries(meaningsOf(pushMode))
    .map(([value, meaning]) => `${value} ${meaning}`)
    .join(', '),
})

/**
 * Pushes of the group's messages follow it (rule G5). Only the caller's other devices are notified.
 */
export const setPushMode = ownSetting({
  name: 'push_mode',
  methods: putOrPost,
  summary: "Sets the caller's pushes of a group.",
  body: { msg_push_mode: anyPushMode },
  data: PushMode,
  errors: ['push_mode_out_of_range'],
})

/** Kept for a client library that uses it; true is {@link setMuteMode} 1, false 0. */
export const setNotDisturb = ownSetting({
  name: 'not_disturb',
  methods: post,
  summary: 'Switches local notifications of a group off or on; short for msg_mute_mode 1 and 0.',
  body: switchValue('true: no local message notifications'),
  data: done,
})
