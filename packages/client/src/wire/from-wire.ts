/**
 * Turns objects of the contract into those of the public interface: the only place that knows both.
 * A record that is read is never modified, so it becomes the same public object each time.
 */
import type * as protocol from '@hermod/protocol'
import type {
  Announcement,
  Attachment,
  ContactRequest,
  CustomMessageData,
  GroupInfo,
  GroupInvitation,
  GroupMember,
  JoinRequest,
  MessageContent,
  MessageStream,
  NotDone,
  Profile,
  Quote,
  ReactionPage,
  ServiceFeatures,
  SharedFile,
  User,
  UserSettings,
} from '../api.js'
import type { Answer } from '../core/inputs.js'
import { badAnswer, ClientError, failureOf } from '../errors.js'
import type * as records from '../model/records.js'
import { conversationOf, kindOf, logKeyOf } from '../model/log-key.js'
import {
  contactApprovals,
  contentTypes,
  groupTypes,
  joinApprovals,
  memberRoles,
  muteModes,
  pushModes,
  relations,
  strangerChats,
  streamStates,
} from '../model/words.js'
import { jsonObject } from '../core/link/wire-text.js'
import type { ClientEvents, Plain } from '../protocol-types.js'
import { publicName, settingNames } from './names.js'

/** A user, as answers of the service have it. */
export type WireUser = Plain<protocol.RosterEntry>
/** The own profile, as answers have it. */
export type WireProfile = Plain<protocol.UserProfile>
/** A contact request, as answers have it. */
export type WireContactRequest = Plain<protocol.RosterApplication>
/** A group, as answers have it. */
export type WireGroup = Plain<protocol.GroupRecord>
/** A member of a group, as answers have it. */
export type WireMember = Plain<protocol.GroupMemberInfo>
/** An invitation to a group, as answers have it. */
export type WireInvitation = Plain<protocol.GroupInvitation>
/** A request to join a group, as answers have it. */
export type WireJoinRequest = Plain<protocol.GroupApplication>
/** An announcement, as answers have it. */
export type WireAnnouncement = Plain<protocol.Announcement>
/** A shared file, as answers have it. */
export type WireSharedFile = Plain<protocol.SharedFile>
/** The settings of the own user, as answers have them. */
export type WireSettings = Plain<protocol.UserSettings>

/** The public form of each kind of object. */
export const fromWire = {
  features: (names: readonly string[]): ServiceFeatures => {
    const has = (name: string) => names.includes(name)
    return {
      replies: has('replies'),
      reactions: has('reactions'),
      pinnedMessages: has('pinned_messages'),
      streams: has('streams'),
    }
  },

  user: (user: WireUser, isOnline: boolean): User => ({
    id: user.user_id,
    name: user.alias || user.nick_name || user.username,
    username: user.username,
    nickname: user.nick_name,
    alias: user.alias,
    avatar: user.avatar,
    description: user.description,
    publicInfo: user.public_info,
    relation: wordOf(relations, user.relation),
    isContact: wordOf(relations, user.relation) === 'contact',
    isBlocked: wordOf(relations, user.relation) === 'blocked',
    isMuted: user.mute_notification,
    isOnline,
    contactApproval: wordOf(contactApprovals, user.auth_mode),
    contactQuestion: user.auth_question,
    // Stores of earlier clients lack it.
    isBot: user.is_bot === true,
  }),

  profile: once(
    (profile: WireProfile): Profile => ({
      id: profile.user_id,
      username: profile.username,
      nickname: profile.nick_name,
      avatar: profile.avatar,
      description: profile.description,
      email: profile.email,
      mobile: profile.mobile,
      publicInfo: profile.public_info,
      privateInfo: profile.private_info,
    }),
  ),

  contactRequest: once(
    (request: WireContactRequest): ContactRequest => ({
      userId: request.user_id,
      reason: request.reason,
      expiresAt: request.expired_time,
    }),
  ),

  group: once(
    (group: WireGroup): GroupInfo => ({
      id: group.group_id,
      name: group.name,
      avatar: group.avatar,
      description: group.description,
      ext: group.ext,
      type: wordOf(groupTypes, group.type),
      ownerId: group.owner_id,
      memberCount: group.count,
      capacity: group.capacity,
      isDissolved: group.status === 1,
      bannedUntil: endOfSeconds(group.ban_expire_time),
      joinApproval: wordOf(joinApprovals, group.apply_approval),
      mayMembersInvite: group.member_invite,
      mayMembersEdit: group.member_modify,
      isHistoryVisible: group.history_visible,
      isMemberInfoHidden: group.hide_member_info,
      hasReadReceipts: group.read_ack,
      muteMode: wordOf(muteModes, group.msg_mute_mode),
      pushMode: wordOf(pushModes, group.msg_push_mode),
      createdAt: group.created_at,
      updatedAt: group.updated_at,
    }),
  ),

  member: once(
    (member: WireMember): GroupMember => ({
      userId: member.user_id,
      displayName: member.display_name,
      role: wordOf(memberRoles, member.role),
      joinedAt: member.join_time,
      bannedUntil: endOf(member.expired_time),
      isBot: member.is_bot === true,
    }),
  ),

  invitation: once(
    (invitation: WireInvitation): GroupInvitation => ({
      groupId: invitation.group_id,
      inviterId: invitation.inviter_id,
      reason: invitation.reason,
      expiresAt: invitation.expired_time,
    }),
  ),

  joinRequest: once(
    (request: WireJoinRequest): JoinRequest => ({
      groupId: request.group_id,
      userId: request.applicant_id,
      reason: request.reason,
      expiresAt: request.expired_time,
    }),
  ),

  announcement: (announcement: WireAnnouncement): Announcement => ({
    id: announcement.id,
    groupId: announcement.group_id,
    authorId: announcement.author,
    title: announcement.title,
    text: announcement.content,
    createdAt: announcement.created_at,
  }),

  sharedFile: (file: WireSharedFile): SharedFile => ({
    id: file.file_id,
    groupId: file.group_id,
    uploaderId: file.uploader,
    name: file.name,
    size: file.size,
    type: file.type,
    url: file.url,
    createdAt: file.created_at,
  }),

  settings: once((settings: WireSettings): UserSettings => {
    const members = Object.entries(settingNames).map(([name, wire]) => [name, settings[wire]])
    return {
      ...(Object.fromEntries(members) as UserSettings),
      contactApproval: wordOf(contactApprovals, settings.auth_mode),
      strangerChat: wordOf(strangerChats, settings.stranger_chat),
    }
  }),

  /** @throws ClientError bad_answer */
  ticket(data: unknown) {
    const ticket = data as Plain<protocol.UploadTicket> | null
    if (typeof ticket?.upload_url !== 'string') throw new ClientError(badAnswer('an upload ticket'))
    return {
      uploadUrl: ticket.upload_url,
      method: ticket.upload_method,
      fields: ticket.oss_body_param as Readonly<Record<string, string>>,
      downloadUrl: ticket.download_url,
    }
  },

  /** @returns the entries of a list that have failed */
  notDone(data: unknown): readonly NotDone[] {
    const results = data as readonly (Partial<Record<'user_id' | 'file_id', number>> &
      Pick<Plain<protocol.UserResult>, 'result' | 'reason'>)[]
    return results
      .filter(({ result }) => result === 'fail')
      .map(({ user_id = 0, file_id = user_id, reason = '' }) => ({ id: file_id, reason }))
  },

  reactionPage: ({ data, cursor }: Answer): ReactionPage => ({
    reactions: (data as readonly Plain<protocol.UserReaction>[]).map(
      ({ user_id: userId, key, time: timestamp }) => ({ userId, key, timestamp }),
    ),
    ...(typeof cursor === 'string' && { cursor }),
  }),

  quote: once(
    ({ msgId, state, senderId, contentType, excerpt }: records.QuoteRecord): Quote => ({
      id: msgId,
      state,
      ...(senderId !== undefined && { senderId }),
      ...(contentType !== undefined && { contentType: contentTypes[contentType] ?? 'unknown' }),
      ...(excerpt !== undefined && { text: excerpt }),
    }),
  ),

  /** Other users write these texts: a member without the form of the interface is left out. */
  content({
    contentType,
    content,
    attachment,
    config,
    ext,
  }: records.MessageContent): MessageContent {
    const [file, custom, { mentionAll, mentionList, groupMemberList } = {}] = [
      attachment,
      ext,
      config,
    ].map(jsonObject)
    const mentions = mentionAll === true ? 'all' : idsIn(mentionList)
    const receiptsOf = idsIn(groupMemberList)
    return {
      contentType: contentTypes[contentType] ?? 'unknown',
      text: content,
      ...(file && { attachment: attachmentOf(file) }),
      ...(custom && { custom: custom as Partial<CustomMessageData> }),
      ...(mentions && { mentions }),
      ...(receiptsOf && { receiptsOf }),
    }
  },

  /**
   * Returns the content that is shown of a message, and its stream.
   * @param text the text so far by events; the one of an answer may be longer
   */
  stream(
    record: records.MessageRecord,
    text: string,
  ): { readonly content: records.MessageContent; readonly stream?: MessageStream } {
    const stream = record.fields?.stream as Partial<Record<string, unknown>> | undefined
    if (!stream || typeof stream !== 'object') return { content: record }
    const { kind, state, reason, text: answered } = stream
    const isOpen = state === 'open'
    const longest = typeof answered === 'string' && answered.length > text.length ? answered : text
    return {
      content: isOpen && longest !== '' ? { ...record, content: longest } : record,
      stream: {
        kind: kind === 'markdown' ? kind : 'text',
        state: streamStates.find((each) => each === state) ?? 'done',
        ...(typeof reason === 'string' && { reason }),
      },
    }
  },

  /** @param me the own user, who sees direct conversations by their other party */
  event: <Kind extends keyof ClientEvents>(_kind: Kind, data: unknown, me: number) =>
    publicEvent(data, me) as ClientEvents[Kind],
}

/**
 * Returns changes of settings as the service takes them.
 * @throws ClientError invalid_argument
 */
export function settingsToWire(changes: Partial<UserSettings>): Partial<WireSettings> {
  const words = { contactApproval: contactApprovals, strangerChat: strangerChats } as const
  return Object.fromEntries(
    Object.entries(changes)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => {
        const wire = Object.hasOwn(settingNames, name) && settingNames[name as keyof UserSettings]
        const list: readonly unknown[] | undefined = words[name as keyof typeof words]
        if (!wire || (list && !list.includes(value))) {
          const rule = list ? `one of ${list.join(', ')}` : 'absent: there is no such setting'
          throw new ClientError(failureOf('invalid_argument', `changes.${name} must be ${rule}`))
        }
        return [wire, list ? list.indexOf(value) : value]
      }),
  )
}

/** Words of members of events, by the name on the wire. */
const eventWords: Readonly<Record<string, readonly string[]>> = {
  role: memberRoles,
  msg_mute_mode: muteModes,
  msg_push_mode: pushModes,
  apply_approval: joinApprovals,
}

function publicEvent(value: unknown, me: number): unknown {
  if (Array.isArray(value)) return value.map((each) => publicEvent(each, me))
  if (typeof value !== 'object' || value === null) return value
  const { property } = value as { readonly property?: string }
  const members = Object.entries(value).map(([name, member]): [string, unknown] => [
    publicName(name),
    // A change of one property has a value in the form of that property.
    publicMember(name === 'value' && property ? property : name, member, me),
  ])
  return 'content_type' in value ? withContent(value, members) : Object.fromEntries(members)
}

/** Puts the content of a message into an event in the form that messages have. */
function withContent(data: object, members: readonly (readonly [string, unknown])[]): object {
  const { content_type, ...texts } = data as Omit<records.MessageContent, 'contentType'> & {
    readonly content_type: number
  }
  const { content, attachment, config, ext, ...rest } = Object.fromEntries(members)
  return { ...rest, ...fromWire.content({ ...texts, contentType: content_type }) }
}

function publicMember(name: string, value: unknown, me: number): unknown {
  const words = eventWords[name]
  if (words && typeof value === 'number') return words[value] ?? 'unknown'
  // Data of the app.
  if (name === 'ext') return value
  if (name === 'expired_time') return endOf(value as number)
  if (name === 'ban_expire_time') return endOfSeconds(value as number)
  if (name === 'property') return publicName(value as string)
  if (name === 'properties') return (value as readonly string[]).map(publicName)
  const log = name === 'conversation' ? logKeyOf(value) : undefined
  if (log === undefined) return publicEvent(value, me)
  return { id: conversationOf(log, me), kind: kindOf(log) === 'group' ? 'group' : 'direct' }
}

/** Returns the word of a value; the first one for a value that this client does not know. */
function wordOf<const Words extends readonly string[]>(words: Words, value: number): Words[number] {
  return words[value] ?? (words[0] as string)
}

/** Returns the end of a ban: infinite for the permanent one, which the contract has as -1. */
function endOf(time: number): number {
  return time < 0 ? Number.POSITIVE_INFINITY : time
}

/** The ban of a whole group is in seconds, all other times of the contract are in milliseconds. */
function endOfSeconds(time: number): number {
  return endOf(time) * 1_000
}

/** Makes the public form of a record once. */
function once<Wire extends object, Public>(make: (wire: Wire) => Public): (wire: Wire) => Public {
  const made = new WeakMap<Wire, Public>()
  return (wire) => {
    // Of a faulty server an entry of a list may be anything.
    const record = Object(wire) as Wire
    const known = made.get(record) ?? make(record)
    made.set(record, known)
    return known
  }
}

function idsIn(value: unknown): readonly number[] | undefined {
  const ids = Array.isArray(value) ? value.filter((each) => Number.isSafeInteger(each)) : []
  return ids.length > 0 ? ids : undefined
}

const isText = (value: unknown) => typeof value === 'string'
const isAmount = (value: unknown) => Number.isFinite(value) && (value as number) >= 0
const attachmentMembers = {
  url: isText,
  name: isText,
  size: isAmount,
  width: isAmount,
  height: isAmount,
  duration: isAmount,
}

function attachmentOf(members: Readonly<Record<string, unknown>>): Attachment {
  const { dName, fLen } = members
  const read: Record<string, unknown> = { name: dName, size: fLen, ...members }
  for (const [member, isRight] of Object.entries(attachmentMembers))
    if (!isRight(read[member])) delete read[member]
  return read
}
