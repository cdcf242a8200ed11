/**
 * The words of enumerated values: the number on the wire is the index in the list. A test compares
 * them with the contract.
 */

/** Kinds of content of a message. */
export const contentTypes = [
  'text',
  'image',
  'audio',
  'video',
  'file',
  'location',
  'command',
  'forward',
] as const

/** States of the original of a reply, as the user may see it. */
export const quoteStates = ['present', 'recalled', 'removed', 'hidden'] as const

/** Types of groups. */
export const groupTypes = ['private', 'public', 'chatroom', 'temporary'] as const

/** Roles of members, in ascending order. */
export const memberRoles = ['member', 'admin', 'owner'] as const

/** Ways to answer requests to join a group. */
export const joinApprovals = ['agree', 'confirm', 'reject'] as const

/** Messages of a group that a member receives. */
export const muteModes = ['none', 'silent', 'notReceived'] as const

/** Messages of a group that are pushed to a member. */
export const pushModes = ['all', 'none', 'adminsAndMentions', 'admins', 'mentions'] as const

/** Relations of another user to the own one. */
export const relations = ['contact', 'former', 'stranger', 'blocked'] as const

/** Ways to answer contact requests. */
export const contactApprovals = ['open', 'consent', 'question', 'closed'] as const

/** Rights of users who are no contacts to write. */
export const strangerChats = ['unset', 'allow', 'reject'] as const

/** Platforms of a device. */
export const platforms = ['unknown', 'ios', 'android', 'windows', 'mac', 'linux', 'web'] as const

/** States of a message that is written piece by piece; named on the wire too. */
export const streamStates = ['open', 'done', 'failed', 'cancelled', 'interrupted'] as const
