/** Parameters, answers and method sets that several operations share. */
import { boolean, int32, int64, list, optional, string, text } from '../schema.js'

export const putOrPost = ['PUT', 'POST'] as const
export const deleteOrPost = ['DELETE', 'POST'] as const
export const get = ['GET'] as const
export const post = ['POST'] as const

/** The answer of an operation that has nothing to tell: true. */
export const done = boolean({ description: 'true' })

/** Most entries of a look-up that clients send in full (decision D9). */
const maxLookUpItems = 10_000

export function id(description: string) {
  return int64({ description })
}

/** IDs that something is done to: at least one, at most 500. */
export function idList(description: string) {
  return list(int64(), { description, minItems: 1 })
}

/** IDs that are looked up: any number up to 10,000. */
export function lookUpList(description: string) {
  return list(int64(), { description, maxItems: maxLookUpItems })
}

export const username = string({
  description: 'username',
  minLength: 1,
  maxLength: 64,
  examples: ['alice'],
})
/** The least length of a new password is configuration, so it is judged by the service. */
export const password = string({
  description: 'password',
  minLength: 1,
  maxLength: 128,
  examples: ['correct horse battery'],
})
export const deviceGuid = string({
  description: 'stable text that names the installation',
  maxLength: 128,
})
export const pushToken = string({ description: 'push token', maxLength: 1024 })
export const pushAlias = string({
  description: 'alias of the user for pushes',
  minLength: 1,
  maxLength: 128,
})
export const mobile = string({
  description: 'mobile number: + and at least 8 digits, or 11 digits that start with 13 to 19',
  maxLength: 32,
  pattern: '^(\\+[0-9]{8,}|1[3-9][0-9]{9})$',
  examples: ['+15551234567'],
})
export const email = string({
  description: 'e-mail address',
  maxLength: 254,
  pattern: '^[^\\s@]+@[^\\s@]+$',
  examples: ['alice@example.org'],
})
/** Anything else, such as a script in a link, must not reach those who show it. */
export const avatar = string({
  description: 'http or https URL, path from /, or name of an uploaded object; "": none',
  maxLength: 2048,
  pattern: '^(https?://[^\\s\\p{Cc}]+|/[^\\s\\p{Cc}]*|[A-Za-z0-9._/-]*)$',
  examples: ['https://example.org/alice.png'],
})
export const description = string({ description: 'description', maxLength: 1024 })
export const nickName = string({ description: 'nickname', maxLength: 256 })
export const privateInfo = string({
  description: 'private information, visible only to the user',
  maxLength: 8192,
})
export const publicInfo = string({
  description: 'public information, visible to contacts and strangers',
  maxLength: 8192,
})
export const ext = string({ description: 'extension data', maxLength: 8192 })
export const contactAlias = string({ description: 'remark name for this user', maxLength: 128 })
export const reason = optional(string({ description: 'text for the other side', maxLength: 1024 }))

export const groupId = id('group ID')
export const groupName = string({
  description: 'group name',
  minLength: 1,
  maxLength: 128,
  examples: ['Team'],
})
export const groupAndUsers = { group_id: groupId, user_list: idList('user IDs') }

export const banDuration = int64({
  description: 'minutes; -1: permanent; 0 and less than -1 are refused',
  minimum: -1,
})

/** Where a page starts and how long it is; a longer page than the maximum is cut to it (decision B6b). */
export const page = {
  cursor: optional(
    string({ description: 'where to start; absent or "": from the start', maxLength: 512 }),
  ),
  limit: optional(
    int32({ description: 'how many entries; cut to the maximum of the list', minimum: 1 }),
  ),
}
export const versionedPage = {
  ...page,
  version: optional(id('version of an earlier answer; may be left out')),
}

export const nextCursor = {
  cursor: optional(text('where the next page starts; absent on the last page')),
}
export const version = { version: int64({ description: 'the newest change in the list, ms' }) }
export const cursorAndVersion = { ...nextCursor, ...version }
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
export const appId = string({
  description: '2 to 32 of a-z, 0-9, _ and -',
  maxLength: 32,
  pattern: '^[a-z0-9_-]{2,32}$',
  examples: ['demo'],
})

/** A parameter that is on or off. */
export function flag(description: string) {
  return boolean({ description })
}
