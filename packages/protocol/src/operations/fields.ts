/** Parameters, answers and method sets that several operations share. */
import { location } from '../location.js'
import {
  boolean,
  controlCharacters,
  int32,
  int64,
  list,
  optional,
  string,
  Type,
  text,
} from '../schema.js'

/** Methods of operations that the contract lists as PUT|POST (rule B4). */
export const putOrPost = ['PUT', 'POST'] as const
/** Methods of operations that the contract lists as DELETE|POST (rule B4). */
export const deleteOrPost = ['DELETE', 'POST'] as const
/** Methods of operations that read. */
export const get = ['GET'] as const
/** Methods of operations with POST only. */
export const post = ['POST'] as const

/** The answer of an operation without a result: true. */
export const done = boolean({ description: 'true' })

/** Maximum entries of a lookup that clients send in full (rule D9). */
const maxLookUpItems = 10_000

/** A required int64 ID. */
export function id(description: string) {
  return int64({ description })
}

/** IDs to act on: at least one, at most 500. */
export function idList(description: string) {
  return list(int64(), { description, minItems: 1 })
}

/** IDs to look up: up to 10,000. */
export function lookUpList(description: string) {
  return list(int64(), { description, maxItems: maxLookUpItems, 'x-look-up': true })
}

/**
 * A username as sent. The service checks its characters, since it knows the reserved prefixes (rule
 * D1).
 */
export const username = string({
  description:
    'username: letters, digits, underscores and CJK ideographs, not digits alone; compared without regard to case and to compatibility forms',
  minLength: 1,
  maxLength: 64,
  examples: ['alice'],
})
/** The service checks the minimum length of a new password, since it is configurable. */
export const password = string({
  description: 'password; a new one has at least 6 characters (a setting of the server)',
  minLength: 1,
  maxLength: 128,
  examples: ['correct horse battery'],
})
/** Identifies the device of a login (rule D6). */
export const deviceGuid = string({
  description: 'stable text that names the installation',
  maxLength: 128,
})
/** A push token issued by the service. */
export const pushToken = string({ description: 'push token', maxLength: 1024 })
/** Alias of a user for pushes; "" clears it (rules D1a, G7). */
export const pushAlias = string({
  description: 'alias of the user for pushes; "": none',
  maxLength: 128,
})
const mobileForm = '+ and 8 to 15 digits, or 11 digits that start with 13 to 19'
const mobilePattern = '\\+[0-9]{8,15}|1[3-9][0-9]{9}'
/** A mobile number to look up (rule K13). */
export const knownMobile = string({
  description: `mobile number: ${mobileForm}`,
  maxLength: 32,
  pattern: `^(${mobilePattern})$`,
  form: mobileForm,
  examples: ['+15551234567'],
})
/** A mobile number to set; "" clears it (rules D1a, K13). */
export const mobile = string({
  description: `mobile number: ${mobileForm}; "": none`,
  maxLength: 32,
  pattern: `^(${mobilePattern})?$`,
  form: `${mobileForm}, or empty`,
  examples: ['+15551234567'],
})
/** An e-mail address; the service checks its domain; "" clears it (rule D1a). */
export const email = string({
  description: 'e-mail address, compared without regard to case; "": none',
  maxLength: 254,
  pattern: '^([^\\s@]+@[^\\s@]+)?$',
  form: 'an e-mail address with one @ and no spaces, or empty',
  examples: ['alice@example.org'],
})

/** The avatar of a user or a group. */
export const avatar = location('avatar; "": none')
/** A text about a user or group, visible to others. */
export const description = string({ description: 'description', maxLength: 1024 })
/** Form of names that others see; the service checks it (rule D1b). */
export const nameForm =
  'one line of which something is seen, and which ends every change of the direction of its text; "": none'
/** Nickname, visible to others. */
export const nickName = string({ description: `nickname: ${nameForm}`, maxLength: 256 })
/** Text of the application, visible to the user only. */
export const privateInfo = string({
  description: 'private information, visible only to the user',
  maxLength: 8192,
})
/** Text of the application, visible to all users. */
export const publicInfo = string({
  description: 'public information, visible to contacts and strangers',
  maxLength: 8192,
})
/** Text of the application that the service does not interpret. */
export const ext = string({ description: 'extension data', maxLength: 8192 })
/** The caller's name for a contact. */
export const contactAlias = string({
  description: `remark name for this user: ${nameForm}`,
  maxLength: 128,
})
/** Text to the other party with a request or a refusal. */
export const reason = optional(string({ description: 'text for the other side', maxLength: 1024 }))

const messageLimit =
  'content, attachment, config and ext together at most 65,536 bytes of UTF-8 (a setting of the server)'

/**
 * Has no length limit: the four texts of a message are checked together, against a configured limit
 * and with a separate error (rules A4, E12).
 */
export function messageText(description: string, examples?: readonly [string]) {
  return optional(
    Type.String({ description: `${description}; ${messageLimit}`, ...(examples && { examples }) }),
  )
}

/** The texts of a message beside its content. */
export const messageTexts = {
  attachment: messageText(
    'for image, voice, video and file messages: a JSON object that holds the file URL',
  ),
  config: messageText(
    'a JSON object with options: mentionList (user IDs) or mentionAll (true) mentions members of the group, groupMemberList (user IDs) requests their read receipts, and pushMessage and others set the text of the push (rule K16); readers get it unchanged',
  ),
  ext: messageText('extension data'),
}

/** A reaction; the service compares its form. */
export const reactionKey = string({
  description:
    'the reaction, such as an emoji; compared in Unicode form NFC and without U+FE0F, and shown as it was first written',
  minLength: 1,
  maxBytes: 64,
  pattern: `^[^${controlCharacters}]*$`,
  form: 'a text without control characters',
  examples: ['👍'],
})

/** The group that the call is about. */
export const groupId = id('group ID')
/** The name of a group; it may be empty (rule F8b). */
export const groupName = string({
  description: `group name: ${nameForm}`,
  maxLength: 128,
  examples: ['Team'],
})
/** A group, and the users of it to act on. */
export const groupAndUsers = { group_id: groupId, user_list: idList('user IDs') }

/**
 * The longest ban in minutes. It exceeds any lifetime, and its end is still an exact number of
 * milliseconds.
 */
const maxBanMinutes = 100_000_000_000
/** Duration of a ban (rule F5). */
export const banDuration = int64({
  description: `minutes from 1 to ${maxBanMinutes}; -1: permanent`,
  minimum: -1,
  maximum: maxBanMinutes,
})

/** Start and length of a page; a length above the maximum is reduced to it (rule B6b). */
export const pageParameters = {
  cursor: optional(
    string({ description: 'where to start; absent or "": from the start', maxLength: 512 }),
  ),
  limit: optional(
    int32({ description: 'how many entries; cut to the maximum of the list', minimum: 1 }),
  ),
}
/**
 * Same as {@link pageParameters}, with the version that the contract lists. It is decoded and has
 * no effect (rule B7).
 */
export const versionedPage = {
  ...pageParameters,
  version: optional(id('version of an earlier answer; may be left out')),
}

/** The cursor of the next page: absent on the last page (rule A6). */
export const nextCursor = {
  cursor: optional(text('where the next page starts; absent on the last page')),
}
/** The version of a list (rule B7). */
export const version = { version: int64({ description: 'the newest change in the list, ms' }) }
/** Fields next to a page of a list with a version. */
export const cursorAndVersion = { ...nextCursor, ...version }
/** Fields next to a page of a list of a group. */
export const totals = {
  ...nextCursor,
  total: int64({ description: 'number of entries in the whole list' }),
  ...version,
}

/** Common parts of all operations of operators. */
export const operatorOperation = {
  tag: 'Operator',
  callers: 'operator',
  origin: 'operator',
  socket: false,
} as const
/**
 * Page parameters of a list that begins with the newest entry. @param entries kind of entries, for
 * the description
 */
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
/** The ID of an application, chosen by an operator (rule C6). */
export const appId = string({
  description: '2 to 32 of a-z, 0-9, _ and -',
  maxLength: 32,
  pattern: '^[a-z0-9_-]{2,32}$',
  form: '2 to 32 of a-z, 0-9, _ and -',
  examples: ['demo'],
})

/** A boolean parameter. */
export function flag(description: string) {
  return boolean({ description })
}

/** Push and user to explain. */
export const pushTraceParameters = {
  task_id: optional(id('the task; or msg_id')),
  msg_id: optional(id('the message that was pushed; or task_id')),
  user_id: id('the user'),
}
