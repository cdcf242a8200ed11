/**
 * The items of files in the format of Stream (GetStream), by its public JSON Schemas:
 * https://github.com/GetStream/protocol/tree/main/jsonschemas/chat. Where its API and its exports
 * have an object in place of an ID, both are accepted.
 */
import {
  anyObject,
  externalId,
  type Fields,
  flag,
  listOf,
  objectSchema,
  optional,
  reference,
  required,
  text,
  time,
  type ValuesOf,
} from '../item-fields.js'

const createdAt = optional(time, 'the time of its creation')
const maxListed = 10_000

const userFields = {
  id: required(externalId, 'becomes the subject of the issuer that --issuer names'),
  name: optional(text, 'becomes the nickname'),
  image: optional(text, 'becomes the avatar'),
  created_at: createdAt,
  deactivated_at: optional(time, 'such a user is imported as disabled'),
  deleted_at: optional(time, 'such a user is imported as disabled, without name and avatar'),
  banned: optional(flag, 'true: the user is imported as disabled'),
}

const channelFields = {
  type: required(externalId, 'the type of the channel, a part of its name'),
  id: optional(externalId, 'its ID within the type; absent with member_ids'),
  member_ids: optional(
    listOf(externalId, maxListed),
    'the members of a channel without an ID; two make a direct conversation',
  ),
  created_by: optional(reference, 'the user who made it'),
  name: optional(text, 'becomes the name of the group'),
  image: optional(text, 'becomes the avatar of the group'),
  truncated_at: optional(time, 'messages up to this time are left out'),
  created_at: createdAt,
}

/** The fields that name a channel in other items. */
const inChannel = {
  channel_type: optional(externalId, 'the type of the channel'),
  channel_id: optional(externalId, 'the ID of the channel; absent with channel_member_ids'),
  channel_member_ids: optional(
    listOf(externalId, maxListed),
    'the members of a channel without an ID',
  ),
  cid: optional(externalId, 'the type and the ID with a colon between, in their place'),
}

const memberFields = {
  ...inChannel,
  user_id: optional(externalId, 'the member'),
  user: optional(reference, 'the member, where user_id is absent'),
  channel_role: optional(text, 'channel_moderator and the like become admins of the group'),
  role: optional(text, 'owner and moderator, as channel_role'),
  is_moderator: optional(flag, 'as channel_role'),
  invited: optional(flag, 'true: an invitation, which is left out unless it was accepted'),
  invite_accepted_at: optional(time, 'when the invitation was accepted'),
  last_read: optional(time, 'the messages up to this time are read; without it nothing is unread'),
  created_at: createdAt,
}

const messageFields = {
  ...inChannel,
  id: required(externalId, 'names the message in replies, reactions and repeated imports'),
  user: required(reference, 'the sender'),
  type: optional(
    text,
    'regular, reply, deleted, system and others; regular and reply are imported',
  ),
  text: optional(text, 'becomes the content'),
  attachments: optional(listOf(anyObject, 100), 'kept as addresses in ext; nothing is downloaded'),
  created_at: required(time, 'when it was sent'),
  deleted_at: optional(time, 'such a message is left out'),
  parent_id: optional(externalId, 'the first message of a thread, which becomes a reply to it'),
  quoted_message_id: optional(externalId, 'the message that it replies to'),
  mentioned_users_ids: optional(listOf(externalId, maxListed), 'the mentioned users'),
  mentioned_users: optional(listOf(reference, maxListed), 'the same as objects'),
  mentioned_channel: optional(flag, 'true: all members are mentioned'),
  pinned_at: optional(time, 'when it was pinned'),
  pinned_by_id: optional(externalId, 'who pinned it'),
  pinned_by: optional(reference, 'the same as an object'),
  pin_expires: optional(time, 'a pin that has ended is left out'),
  restricted_visibility: optional(
    listOf(externalId, maxListed),
    'only these users see it in Stream: it is left out, since all readers would see it here',
  ),
  shadowed: optional(flag, 'true: only its sender sees it in Stream: it is left out'),
}

const reactionFields = {
  message_id: required(externalId, 'the message'),
  type: required(text, 'like, love and their like become emoji, any other text stays'),
  user_id: optional(externalId, 'who reacted'),
  user: optional(reference, 'the same, where user_id is absent'),
  created_at: createdAt,
}

/** The types of items that are imported. */
export const streamItems = {
  user: userFields,
  channel: channelFields,
  member: memberFields,
  message: messageFields,
  reaction: reactionFields,
} as const satisfies Readonly<Record<string, Fields>>

export type StreamType = keyof typeof streamItems
/** The fields of an item of a type. */
export type StreamValues<T extends StreamType> = ValuesOf<(typeof streamItems)[T]>

/** Other names of types of items. */
export const typeAliases: Readonly<Record<string, StreamType>> = { channel_member: 'member' }

/** Types of items that are left out, with the reasons. */
export const leftOutTypes: Readonly<Record<string, string>> = {
  device: 'push tokens belong to another application; devices register again at the next login',
  future_channel_ban: 'bans of channels that do not exist yet have no counterpart',
}

/**
 * Members that say nothing that is kept: they follow from other items, or hold for Stream alone.
 * All other members that no field names are custom.
 */
export const ignoredMembers: ReadonlySet<string> = new Set([
  ...[
    'cid',
    'updated_at',
    'last_active',
    'last_engaged_at',
    'online',
    'config',
    'own_capabilities',
  ],
  ...['last_message_at', 'member_count', 'members', 'html', 'command', 'shadow_banned', 'i18n'],
  ...['latest_reactions', 'own_reactions', 'reaction_counts', 'reaction_scores', 'reaction_groups'],
  ...['reply_count', 'deleted_reply_count', 'thread_participants', 'quoted_message', 'pinned'],
  ...['show_in_channel', 'silent', 'migrate_resources', 'status', 'message', 'channel', 'score'],
  ...[
    'deleted_for_me',
    'before_message_send_failed',
    'message_text_updated_at',
    'channel_last_read_at',
  ],
])

/** Members of the format without a counterpart here; where they say something they are counted. */
export const unmappedMembers: Readonly<Record<StreamType, ReadonlySet<string>>> = {
  user: new Set(
    [
      'role',
      'teams',
      'teams_role',
      'language',
      'invisible',
      'blocked_user_ids',
      'channel_mutes',
    ].concat([
      'user_mutes',
      'push_preferences',
      'push_notifications',
      'privacy_settings',
      'devices',
    ]),
  ),
  channel: new Set(['team', 'disabled', 'frozen', 'banned_users', 'hidden', 'cooldown']),
  member: new Set(
    ['hide_channel', 'hide_messages_before', 'archived_at', 'banned', 'notifications_muted'].concat(
      ['invite_rejected_at', 'pinned_at', 'ban_expires'],
    ),
  ),
  message: new Set(['mentioned_roles', 'mentioned_here', 'poll', 'poll_id', 'moderation']),
  reaction: new Set(['emoji_code']),
}

/** Returns one JSON Schema (2020-12) for the lines that are accepted. */
export function streamSchema() {
  const types = Object.entries(streamItems).flatMap(([type, fields]) =>
    namesOf(type).map((name) => ({ name, fields })),
  )
  const left = Object.keys(leftOutTypes).map((name) => ({ name, fields: {} }))
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'A line of a file that hermod import stream reads',
    type: 'object',
    required: ['type'],
    oneOf: [...types, ...left].map(({ name, fields }) => ({
      properties: { type: { const: name }, data: objectSchema(fields), item: objectSchema(fields) },
      anyOf: [{ required: ['data'] }, { required: ['item'] }],
    })),
  }
}

/** Returns the names of a type in files. */
export function namesOf(type: string): string[] {
  const aliases = Object.keys(typeAliases).filter((alias) => typeAliases[alias] === type)
  return [type, ...aliases]
}
