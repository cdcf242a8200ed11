/** Parameters, answers and method sets that several operations share. */
import { location } from '../location.js'
import { boolean, int32, int64, list, optional, string, text } from '../schema.js'

/** Methods of what the contract lists as PUT|POST (rule B4). */
export const putOrPost = ['PUT', 'POST'] as const
/** Methods of what the contract lists as DELETE|POST (rule B4). */
export const deleteOrPost = ['DELETE', 'POST'] as const
/** Methods of what is read. */
export const get = ['GET'] as const
/** Methods of what has POST only. */
export const post = ['POST'] as const

/** The answer of an operation without a result: true. */
export const done = boolean({ description: 'true' })

/** Most entries of a look-up that clients send in full (rule D9). */
const maxLookUpItems = 10_000

/** A required int64 that names something. */
export function id(description: string) {
  return int64({ description })
}

/** IDs that something is done to: at least one, at most 500. */
export function idList(description: string) {
  return list(int64(), { description, minItems: 1 })
}

/** IDs that are looked up: any number up to 10,000. */
export function lookUpList(description: string) {
  return list(int64(), { description, maxItems: maxLookUpItems, 'x-look-up': true })
}

/**
 * A username as it is sent; its letters are checked by the service, which has the reserved prefixes
 * (rule D1).
 */
export const username = string({
  description:
    'username: letters, digits, underscores and CJK ideographs, not digits alone; compared without regard to case and to compatibility forms',
  minLength: 1,
  maxLength: 64,
  examples: ['alice'],
})
/** The least length of a new password is configuration, so it is checked by the service. */
export const password = string({
  description: 'password; a new one has at least 6 characters (a setting of the server)',
  minLength: 1,
  maxLength: 128,
  examples: ['correct horse battery'],
})
/** What makes a device of a login (rule D6). */
export const deviceGuid = string({
  description: 'stable text that names the installation',
  maxLength: 128,
})
/** A push token as the service gave it. */
export const pushToken = string({ description: 'push token', maxLength: 1024 })
/** An alias that a user is pushed by; "" clears it (rules D1a, G7). */
export const pushAlias = string({
  description: 'alias of the user for pushes; "": none',
  maxLength: 128,
})
const mobileForm = '+ and at least 8 digits, or 11 digits that start with 13 to 19'
const mobilePattern = '\\+[0-9]{8,}|1[3-9][0-9]{9}'
/** A mobile number that users are looked up by (rule K13). */
export const knownMobile = string({
  description: `mobile number: ${mobileForm}`,
  maxLength: 32,
  pattern: `^(${mobilePattern})$`,
  form: mobileForm,
  examples: ['+15551234567'],
})
/** A mobile number that is set; "" clears it (rules D1a, K13). */
export const mobile = string({
  description: `mobile number: ${mobileForm}; "": none`,
  maxLength: 32,
  pattern: `^(${mobilePattern})?$`,
  form: `${mobileForm}, or empty`,
  examples: ['+15551234567'],
})
/** An e-mail address; its domain is checked by the service; "" clears it (rule D1a). */
export const email = string({
  description: 'e-mail address, compared without regard to case; "": none',
  maxLength: 254,
  pattern: '^([^\\s@]+@[^\\s@]+)?$',
  form: 'an e-mail address with one @ and no spaces, or empty',
  examples: ['alice@example.org'],
})

/** The avatar of a user or a group. */
export const avatar = location('avatar; "": none')
/** A text about a user or group, which others see. */
export const description = string({ description: 'description', maxLength: 1024 })
/** What a name may be that others see; the service checks it (rule D1b). */
export const nameForm =
  'one line of which something is seen, and which ends every change of the direction of its text; "": none'
/** The name that others see. */
export const nickName = string({ description: `nickname: ${nameForm}`, maxLength: 256 })
/** Text of the application, for the user alone. */
export const privateInfo = string({
  description: 'private information, visible only to the user',
  maxLength: 8192,
})
/** Text of the application, for everybody. */
export const publicInfo = string({
  description: 'public information, visible to contacts and strangers',
  maxLength: 8192,
})
/** Text of the application that the service does not look into. */
export const ext = string({ description: 'extension data', maxLength: 8192 })
/** What a user calls a contact. */
export const contactAlias = string({
  description: `remark name for this user: ${nameForm}`,
  maxLength: 128,
})
/** What the other side is told beside a request or a refusal. */
export const reason = optional(string({ description: 'text for the other side', maxLength: 1024 }))

/** The group that the call is about. */
export const groupId = id('group ID')
/** The name of a group; it may be empty (rule F8b). */
export const groupName = string({
  description: `group name: ${nameForm}`,
  maxLength: 128,
  examples: ['Team'],
})
/** A group and the users of it that something is done to. */
export const groupAndUsers = { group_id: groupId, user_list: idList('user IDs') }

/** The longest ban in minutes: far beyond any life, and yet its end is an exact number of milliseconds. */
const maxBanMinutes = 100_000_000_000
/** How long a ban runs (rule F5). */
export const banDuration = int64({
  description: `minutes from 1 to ${maxBanMinutes}; -1: permanent`,
  minimum: -1,
  maximum: maxBanMinutes,
})

/** Where a page starts and how long it is; a longer page than the maximum is cut to it (rule B6b). */
export const pageParameters = {
  cursor: optional(
    string({ description: 'where to start; absent or "": from the start', maxLength: 512 }),
  ),
  limit: optional(
    int32({ description: 'how many entries; cut to the maximum of the list', minimum: 1 }),
  ),
}
/**
 * As {@link pageParameters}, with the version that the contract lists; it is read and changes nothing (rule
 * B7).
 */
export const versionedPage = {
  ...pageParameters,
  version: optional(id('version of an earlier answer; may be left out')),
}

/** The cursor beside a page: absent on the last one (rule A6). */
export const nextCursor = {
  cursor: optional(text('where the next page starts; absent on the last page')),
}
/** The version beside a list (rule B7). */
export const version = { version: int64({ description: 'the newest change in the list, ms' }) }
/** What stands beside a page of a list that has a version. */
export const cursorAndVersion = { ...nextCursor, ...version }
/** What stands beside a page of a list of a group. */
export const totals = {
  ...nextCursor,
  total: int64({ description: 'number of entries in the whole list' }),
  ...version,
}

/** What all operations of operators have in common. */
export const operatorOperation = {
  tag: 'Operator',
  callers: 'operator',
  origin: 'operator',
} as const
/** Which page of a list that begins with the newest. @param entries what is in it, for the description */
export const newestFirst = (entries: string) => ({
  cursor: optional(
    string({
      description: 'next_cursor of the page before; absent or "": from the newest',
      maxLength: 64,
    }),
  ),
  limit: optional(
    int32({ description: `how many ${entries}, default 50 and at most 200`, minimum: 1 }),
  ),
})
/** The ID of an application as an operator chooses it (rule C6). */
export const appId = string({
  description: '2 to 32 of a-z, 0-9, _ and -',
  maxLength: 32,
  pattern: '^[a-z0-9_-]{2,32}$',
  form: '2 to 32 of a-z, 0-9, _ and -',
  examples: ['demo'],
})

/** A parameter that is on or off. */
export function flag(description: string) {
  return boolean({ description })
}

/** Which push is explained, and for whom. */
export const pushTraceParameters = {
  task_id: optional(id('the task; or msg_id')),
  msg_id: optional(id('the message that was pushed; or task_id')),
  user_id: id('the user'),
}
