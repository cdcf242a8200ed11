import { applyApproval, meaningsOf, muteMode, pushMode } from '../../enums.js'
import type { ErrorName } from '../../errors.js'
import type { GroupRightName } from '../../group-rights.js'
import { operation } from '../../operation.js'
import { Group, GroupBan, MuteMode, PushMode } from '../../resources/groups.js'
import { int32, int64, intEnum, type TProperties, type TSchema } from '../../schema.js'
import { banDuration, done, flag, get, post, putOrPost } from '../fields.js'
import { adminErrors, group, memberErrors } from './fields.js'

const tag = 'Group settings'

const ownSettingErrors = ['group_not_found', 'not_group_member'] as const

/** Changes one setting of a group, by PUT or POST. */
function groupSetting<B extends TProperties>(
  name: string,
  summary: string,
  body: B,
  {
    right = 'settings',
    errors = adminErrors,
  }: { readonly right?: GroupRightName; readonly errors?: readonly ErrorName[] } = {},
) {
  return operation({
    id: `group.settings.${name}`,
    methods: putOrPost,
    path: `/group/settings/${name}`,
    tag,
    summary,
    callers: 'groupMember',
    right,
    body: { ...group, ...body },
    data: done,
    errors,
  })
}

/** The one value of a setting that is on or off. */
function onOff(meaning: string) {
  return { value: flag(meaning) }
}

function extension<O extends { readonly origin: unknown }>(definition: O): O {
  return { ...definition, origin: 'extension' }
}

export const getGroupSettings = operation({
  id: 'group.settings.get',
  methods: get,
  path: '/group/settings',
  tag,
  summary: 'Reads a group with its settings.',
  callers: 'member',
  right: 'info',
  query: group,
  data: Group,
  errors: ['group_not_found', 'member_required'],
  origin: 'extension',
})

export const setReadAck = groupSetting(
  'enable_read_ack',
  'Turns read receipts of group messages on or off.',
  onOff('true turns them on'),
)

export const setMemberInfoHidden = groupSetting(
  'hide_member_info',
  'Hides or shows member details.',
  onOff('true hides other members from ordinary members'),
)

export const setHistoryVisible = groupSetting(
  'history_visible',
  'Sets whether new members see the history.',
  onOff('true: new members see chat history'),
)

export const setApplyApproval = groupSetting(
  'require_admin_approval',
  'Sets how membership applications are answered.',
  {
    apply_approval: intEnum(meaningsOf(applyApproval)),
  },
)

export const setMemberInvitation = extension(
  groupSetting(
    'allow_member_invitation',
    'Sets whether members may invite.',
    onOff('true: members may invite others'),
  ),
)

export const setMemberModification = extension(
  groupSetting(
    'allow_member_modify',
    'Sets whether members may change group information.',
    onOff('true: members may'),
  ),
)

export const setGroupCapacity = extension(
  groupSetting(
    'capacity',
    'Sets how many members a group may have.',
    { value: int64({ description: "new capacity, up to the application's maximum", minimum: 1 }) },
    { right: 'capacity', errors: [...memberErrors, 'group_owner_required', 'capacity_invalid'] },
  ),
)

export const banGroup = operation({
  id: 'group.settings.ban_all',
  methods: post,
  path: '/group/settings/ban_all',
  tag,
  summary: 'Stops everybody but the owner and admins from sending for a while.',
  callers: 'groupMember',
  right: 'settings',
  body: { duration: banDuration, ...group },
  data: GroupBan,
  errors: adminErrors,
})

export const unbanGroup = operation({
  id: 'group.settings.unban_all',
  methods: post,
  path: '/group/settings/unban_all',
  tag,
  summary: 'Ends the ban of a whole group.',
  callers: 'groupMember',
  right: 'settings',
  body: group,
  data: done,
  errors: adminErrors,
})

/** Changes what the caller wants to get of a group. */
function ownSetting<B extends TProperties, D extends TSchema>(definition: {
  readonly name: string
  readonly methods: typeof post | typeof putOrPost
  readonly summary: string
  readonly body: B
  readonly data: D
  readonly errors?: readonly ErrorName[]
}) {
  const { name, methods, summary, body, data, errors = [] } = definition
  return operation({
    id: `group.msg.${name}`,
    methods,
    path: `/group/msg/${name}`,
    tag,
    summary,
    callers: 'groupUser',
    right: 'own',
    body: { ...group, ...body },
    data,
    errors: [...ownSettingErrors, ...errors],
    origin: 'extension',
  })
}

export const setMuteMode = ownSetting({
  name: 'mute_mode',
  methods: putOrPost,
  summary: "Sets the caller's message blocking in a group.",
  body: { msg_mute_mode: intEnum(meaningsOf(muteMode)) },
  data: MuteMode,
})

/** A value out of range has an error of its own, so the schema sets no bound. */
const anyPushMode = int32({
  description: Object.entries(meaningsOf(pushMode))
    .map(([value, meaning]) => `${value} ${meaning}`)
    .join(', '),
})

export const setPushMode = ownSetting({
  name: 'push_mode',
  methods: putOrPost,
  summary: "Sets the caller's pushes of a group.",
  body: { msg_push_mode: anyPushMode },
  data: PushMode,
  errors: ['push_mode_out_of_range'],
})

export const setNotDisturb = ownSetting({
  name: 'not_disturb',
  methods: post,
  summary: 'Turns local notifications of a group off or on; short for msg_mute_mode 1 and 0.',
  body: onOff('true: no local message notifications'),
  data: done,
})
