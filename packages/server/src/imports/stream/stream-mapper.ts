/** Items of Stream as rows of the staging, without their relations to one another. */
import { createHash } from 'node:crypto'
import { isJsonObject, type JsonObject } from '../../lib/json.js'
import { readFields } from '../item-fields.js'
import { contentOf } from './stream-content.js'
import {
  leftOutTypes,
  ignoredMembers,
  type StreamType,
  type StreamValues,
  streamItems,
  typeAliases,
  unmappedMembers,
} from './stream-items.js'
import { avatarOf, reactionKeyOf, usernameOf, visibleName } from './stream-texts.js'

/** A row for one table of the staging; times in microseconds, 0 = none. */
export interface UserRow {
  readonly subject: string
  readonly username: string
  readonly nick_name: string
  readonly avatar: string
  /** 0 normal, 1 disabled */
  readonly status: number
  readonly at: number
}
export interface ChannelRow {
  readonly cid: string
  readonly name: string
  readonly avatar: string
  readonly creator: string
  readonly truncated: number
  /** 1: named by its members; two of them have a direct conversation. */
  readonly is_distinct: number
  /** The members of a channel without an ID. */
  readonly subjects: readonly string[]
  readonly at: number
}
export interface MemberRow {
  readonly cid: string
  readonly subject: string
  /** 0 member, 1 admin, 2 owner */
  readonly role: number
  readonly last_read: number
  readonly at: number
}
export interface MessageRow {
  readonly id: string
  readonly cid: string
  readonly sender: string
  readonly at: number
  readonly content: string
  readonly ext: string
  /** '' = none */
  readonly original: string
  /** IDs of users as JSON; '*' stands for all. */
  readonly mentions: string
  /** '' = not pinned */
  readonly pinned_by: string
  readonly pinned_at: number
}
export interface ReactionRow {
  readonly message: string
  readonly subject: string
  readonly key: string
  readonly at: number
}

export interface RowOf {
  readonly user: UserRow
  readonly channel: ChannelRow
  readonly member: MemberRow
  readonly message: MessageRow
  readonly reaction: ReactionRow
}

/** An item of a file: a row, what it is left out for, or what is wrong with it. */
export type MappedItem =
  | { [T in StreamType]: Mapped<T> & { readonly type: T } }[StreamType]
  | { readonly type: string; readonly leftOut: string; readonly id?: string }
  | { readonly type: string; readonly fault: string }

export interface Mapped<T extends StreamType> {
  readonly row: RowOf[T]
  /** The members of the item that the row lacks. */
  readonly notes: readonly string[]
}

export interface MapperOptions {
  /** The instant of the import, in microseconds. */
  readonly now: number
  /** The greatest size of a message in the service. */
  readonly maxMessageBytes: number
}

const earliestMessage = Date.UTC(2000) * 1000
const maxNickNameLength = 256
const maxGroupNameLength = 128

/** Maps one object of a file. */
export function mapItem(item: JsonObject, options: MapperOptions): MappedItem {
  const { type: named } = item
  if (typeof named !== 'string') return { type: 'item', fault: 'has no type' }
  const left = Object.hasOwn(leftOutTypes, named) ? leftOutTypes[named] : undefined
  if (left !== undefined) return { type: named, leftOut: left }
  const type = Object.hasOwn(typeAliases, named) ? (typeAliases[named] as StreamType) : named
  if (!isStreamType(type)) return { type: 'item', fault: 'has an unknown type' }
  const data = Object.hasOwn(item, 'data') ? item.data : item.item
  if (!isJsonObject(data)) return { type, fault: 'has no object as data' }
  return mapData(type, data, options)
}

function isStreamType(type: string): type is StreamType {
  return Object.hasOwn(streamItems, type)
}

function mapData(type: StreamType, data: JsonObject, options: MapperOptions): MappedItem {
  const read = readFields(streamItems[type], data)
  if ('violations' in read) return { type, fault: read.violations.join('; ') }
  const custom = Object.entries(read.others).filter(
    ([name, value]) => !ignoredMembers.has(name) && saysSomething(value),
  )
  const unmapped = custom.filter(([name]) => unmappedMembers[type].has(name))
  const mapped = mappers[type](read.values as never, {
    ...options,
    custom: Object.fromEntries(custom.filter(([name]) => !unmappedMembers[type].has(name))),
  })
  if (!('row' in mapped)) return { type, ...mapped }
  const notes = unmapped.map(([name]) => `${name} of a ${type} is left out`)
  return { type, row: mapped.row, notes: [...mapped.notes, ...notes] } as MappedItem
}

/** Tests for a value other than null, false, "" and empty lists and objects. */
function saysSomething(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0
  return value !== null && value !== false && value !== ''
}

interface Surroundings extends MapperOptions {
  readonly custom: JsonObject
}

type Mapper<T extends StreamType> = (
  values: StreamValues<T>,
  surroundings: Surroundings,
) => Mapped<T> | { readonly leftOut: string; readonly id?: string } | { readonly fault: string }

const mappers: { readonly [T in StreamType]: Mapper<T> } = {
  user: mapUser,
  channel: mapChannel,
  member: mapMember,
  message: mapMessage,
  reaction: mapReaction,
}

function mapUser(values: StreamValues<'user'>, { custom, now }: Surroundings): Mapped<'user'> {
  const { id, name = '', image = '', created_at = 0 } = values
  const isDeleted = Boolean(values.deleted_at)
  const isDisabled = isDeleted || Boolean(values.deactivated_at) || values.banned === true
  const nickName = isDeleted ? '' : visibleName(name, maxNickNameLength)
  const avatar = isDeleted ? '' : avatarOf(image)
  return {
    row: {
      subject: id,
      username: usernameOf(id),
      nick_name: nickName,
      avatar,
      status: isDisabled ? 1 : 0,
      at: created_at > now ? 0 : created_at,
    },
    notes: [
      ...(!isDeleted && nickName !== name ? ['name of a user is changed or cut'] : []),
      ...(!isDeleted && avatar !== image ? ['image of a user is no http address: left out'] : []),
      ...(isDisabled ? ['a deactivated, banned or deleted user is imported as disabled'] : []),
      ...customNotes(custom, 'user'),
    ],
  }
}

function customNotes(custom: JsonObject, type: string): string[] {
  return Object.keys(custom).length === 0 ? [] : [`custom fields of a ${type} are left out`]
}

function mapChannel(
  values: StreamValues<'channel'>,
  { custom, now }: Surroundings,
): Mapped<'channel'> | { readonly fault: string } {
  const { type, id, member_ids, name = '', image = '', created_by = '', created_at = 0 } = values
  const cid = cidOf({ channel_type: type, channel_id: id, channel_member_ids: member_ids })
  if (cid === null) return { fault: 'must have either id or member_ids' }
  const visible = visibleName(name, maxGroupNameLength)
  const avatar = avatarOf(image)
  return {
    row: {
      cid,
      name: visible,
      avatar,
      creator: created_by,
      truncated: values.truncated_at ?? 0,
      is_distinct: id === undefined || id.startsWith('!members-') ? 1 : 0,
      subjects: [...new Set(member_ids ?? [])],
      at: created_at > now ? 0 : created_at,
    },
    notes: [
      ...(visible === name ? [] : ['name of a channel is changed or cut']),
      ...(avatar === image ? [] : ['image of a channel is no http address: left out']),
      ...customNotes(custom, 'channel'),
    ],
  }
}

interface ChannelName {
  readonly channel_type?: string | undefined
  readonly channel_id?: string | undefined
  readonly channel_member_ids?: readonly string[] | undefined
  readonly cid?: string | undefined
}

/**
 * @returns the type and ID of a channel; for one without an ID the hash of its members; null without
 * both or with both
 */
function cidOf({ channel_type, channel_id, channel_member_ids, cid }: ChannelName): string | null {
  if (channel_type === undefined) return cid?.includes(':') ? cid : null
  if ((channel_id === undefined) === (channel_member_ids === undefined)) return null
  if (channel_id !== undefined) return `${channel_type}:${channel_id}`
  const members = [...new Set(channel_member_ids)].sort().join('\n')
  const hash = createHash('sha256').update(members).digest('base64url')
  return `${channel_type}:!distinct-${hash}`
}

const noChannel = {
  fault: 'must name its channel by channel_type with channel_id or channel_member_ids',
}
const adminRole = /moderator|admin/
const pending = 'an invitation that was not accepted'

function mapMember(
  values: StreamValues<'member'>,
  { custom, now }: Surroundings,
): ReturnType<Mapper<'member'>> {
  const { user_id, user, last_read = 0, created_at = 0, channel_role = '', role = '' } = values
  const cid = cidOf(values)
  const subject = user_id ?? user
  if (cid === null) return noChannel
  if (subject === undefined) return { fault: 'user_id is missing' }
  if (values.invited && !values.invite_accepted_at) return { leftOut: pending }
  const isAdmin = values.is_moderator || adminRole.test(channel_role) || adminRole.test(role)
  return {
    row: {
      cid,
      subject,
      role: role === 'owner' ? 2 : isAdmin ? 1 : 0,
      last_read,
      at: created_at > now ? 0 : created_at,
    },
    notes: customNotes(custom, 'member'),
  }
}

function mapMessage(
  values: StreamValues<'message'>,
  { custom, now, maxMessageBytes }: Surroundings,
): ReturnType<Mapper<'message'>> {
  const { id, user, created_at, parent_id, quoted_message_id, pinned_at = 0 } = values
  const cid = cidOf(values)
  if (cid === null) return noChannel
  const left = leftOutFor(values)
  if (left !== null) return { leftOut: left, id }
  if (created_at < earliestMessage || created_at > now)
    return { fault: 'created_at lies before the year 2000 or in the future' }
  const mentions = mentionsOf(values)
  const made = contentOf(values, { custom, mentions: mentions.length, maxMessageBytes })
  if ('leftOut' in made) return { leftOut: made.leftOut, id }
  if ('fault' in made) return made
  const isThread = parent_id !== undefined && quoted_message_id === undefined
  const isPinned = pinned_at > 0 && (values.pin_expires || now) >= now
  return {
    row: {
      id,
      cid,
      sender: user,
      at: created_at,
      content: made.content,
      ext: made.ext,
      original: quoted_message_id ?? parent_id ?? '',
      mentions: JSON.stringify(mentions),
      pinned_by: isPinned ? (values.pinned_by_id ?? values.pinned_by ?? '') : '',
      pinned_at: isPinned ? pinned_at : 0,
    },
    notes: [
      ...made.notes,
      ...(isThread ? ['a message of a thread becomes a reply to the first one'] : []),
      ...(pinned_at > 0 && !isPinned ? ['a pin that has ended is left out'] : []),
    ],
  }
}

/** Types of messages that are imported; '' is the default. */
const importedTypes: ReadonlySet<string> = new Set(['', 'regular', 'reply'])

/** @returns the rule by which a message is left out, or null */
function leftOutFor(values: StreamValues<'message'>): string | null {
  const { type = '', deleted_at, restricted_visibility = [], shadowed } = values
  if (type === 'deleted' || deleted_at) return 'a deleted message'
  if (!importedTypes.has(type))
    return type === 'system' ? 'a system message' : 'a message of a type that only Stream has'
  if (restricted_visibility.length > 0 || shadowed)
    return 'a message that only some readers of the channel see'
  return null
}

const maxMentions = 500

function mentionsOf(values: StreamValues<'message'>): string[] {
  const named = [...(values.mentioned_users_ids ?? []), ...(values.mentioned_users ?? [])]
  const users = [...new Set(named)].filter((id) => id !== '*').slice(0, maxMentions)
  return values.mentioned_channel ? ['*', ...users] : users
}

function mapReaction(
  values: StreamValues<'reaction'>,
  { now }: Surroundings,
): ReturnType<Mapper<'reaction'>> {
  const { message_id, type, user_id, user, created_at = 0 } = values
  const subject = user_id ?? user
  if (subject === undefined) return { fault: 'user_id is missing' }
  const key = reactionKeyOf(type)
  if (key === null)
    return { fault: 'type must be a text of at most 64 bytes without control characters' }
  return {
    row: { message: message_id, subject, key, at: created_at > now ? 0 : created_at },
    notes: [],
  }
}
