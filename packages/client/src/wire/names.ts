import type { UserSettings } from '../api/users.js'

/** Members of settings with the name on the wire. */
export const settingNames = {
  contactApproval: 'auth_mode',
  contactQuestion: 'auth_question',
  contactAnswer: 'auth_answer',
  strangerChat: 'stranger_chat',
  asksBeforeGroups: 'group_confirm',
  isPushOff: 'no_push',
  isPushTextHidden: 'no_push_detail',
  noPushFromHour: 'no_push_start_hour',
  noPushToHour: 'no_push_end_hour',
  pushName: 'push_nick_name',
  isSoundOff: 'no_sounds',
  isVibrationOn: 'vibratory',
  silenceFromHour: 'silence_start_time',
  silenceToHour: 'silence_end_time',
  isDownloadAutomatic: 'auto_download',
} as const satisfies Readonly<Record<keyof UserSettings, string>>

/** Public names of members of events whose name is not that of the wire in camelCase. */
const otherNames: Readonly<Record<string, string>> = {
  msg_id: 'messageId',
  hidden_msg_id: 'hiddenMessageId',
  nick_name: 'nickname',
  join_time: 'joinedAt',
  expired_time: 'bannedUntil',
  msg_mute_mode: 'muteMode',
  msg_push_mode: 'pushMode',
  // Properties of a group, as its settings name them.
  apply_approval: 'joinApproval',
  ban_expire_time: 'bannedUntil',
  hide_member_info: 'isMemberInfoHidden',
  history_visible: 'isHistoryVisible',
  member_invite: 'mayMembersInvite',
  member_modify: 'mayMembersEdit',
  read_ack: 'hasReadReceipts',
  ...Object.fromEntries(Object.entries(settingNames).map(([name, wire]) => [wire, name])),
}

/** Returns the public name of a member: `user_ids` is `userIds`. */
export function publicName(member: string): string {
  return (
    otherNames[member] ??
    member.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
  )
}
