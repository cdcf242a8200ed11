import { operation } from '../operation.js'
import {
  RosterApplication,
  RosterBatchResult,
  RosterEntry,
  RosterName,
} from '../resources/contacts.js'
import { array, boolean, int64, itemList, object, optional, string } from '../schema.js'
import {
  contactAlias,
  cursorAndVersion,
  deleteOrPost,
  done,
  ext,
  get,
  id,
  idList,
  knownMobile,
  lookUpList,
  pageParameters,
  post,
  putOrPost,
  reason,
  username,
} from './fields.js'

const tag = 'Contacts'

const origin = 'extension'

const otherUser = { user_id: id('the other user') }

const lookUpErrors = ['user_not_found', 'user_deleted'] as const

/**
 * Atomic for both users. When the other user has an open request to the caller, both become
 * contacts at once. The other user is notified. Rule K11.
 */
export const applyToContact = operation({
  id: 'contact.apply',
  methods: post,
  path: '/roster/apply',
  tag,
  summary: 'Asks a user to become a contact.',
  description:
    "The other user's auth_mode decides: contacts at once, a request, a check of auth_answer, or a refusal. After several wrong answers the caller has to wait (code 42900).",
  callers: 'user',
  scopes: ['users:write'],
  body: {
    ...otherUser,
    alias: optional(contactAlias),
    reason,
    auth_answer: optional(
      string({ description: 'answer to the verification question', maxLength: 256 }),
    ),
  },
  data: done,
  errors: [
    ...lookUpErrors,
    'already_contact',
    'in_block_list',
    'contact_requests_refused',
    'wrong_auth_answer',
    'contact_limit_reached',
  ],
  origin,
})

/**
 * Each request is decided separately, in order. auth_answer cannot be sent, so users with a
 * question refuse. Rule K11.
 */
export const applyToContacts = operation({
  id: 'contact.apply.batch',
  methods: post,
  path: '/roster/apply/batch',
  tag,
  summary: 'Asks several users to become contacts; the body is the bare list.',
  callers: 'user',
  scopes: ['users:write'],
  body: {
    whole: 'list' as const,
    schema: itemList(object({ ...otherUser, alias: optional(contactAlias), reason }), {
      description: 'at most 500 requests',
    }),
  },
  data: RosterBatchResult,
  origin,
})

/** Newest first; by default 100, at most 500 a page. Rule K11. */
export const listContactRequests = operation({
  id: 'contact.apply.list',
  methods: get,
  path: '/roster/apply/list',
  tag,
  summary: 'Lists the contact requests that the user received, handled ones included.',
  description: 'Newest first, 100 a page unless asked otherwise, at most 500.',
  callers: 'user',
  scopes: ['users:read'],
  query: pageParameters,
  data: array(RosterApplication),
  extras: cursorAndVersion,
  origin,
})

/**
 * Atomic: both become contacts, and an open request in the other direction counts as accepted. The
 * applicant is notified. A request is answered once: 10007 afterwards. Rule K11.
 */
export const acceptContact = operation({
  id: 'contact.accept',
  methods: putOrPost,
  path: '/roster/accept',
  tag,
  summary: 'Accepts a contact request.',
  callers: 'user',
  scopes: ['users:write'],
  query: { user_id: id('applicant') },
  data: done,
  errors: ['contact_request_not_found', 'in_block_list', 'contact_limit_reached'],
  origin,
})

/**
 * The applicant is notified, with the reason. A request is answered once: 10007 afterwards. Rule
 * K11.
 */
export const declineContact = operation({
  id: 'contact.decline',
  methods: putOrPost,
  path: '/roster/decline',
  tag,
  summary: 'Declines a contact request.',
  callers: 'user',
  scopes: ['users:write'],
  body: { user_id: id('applicant'), reason },
  data: done,
  errors: ['contact_request_not_found'],
  origin,
})

/**
 * Deletes the caller's data about the user; on the other side only the relation changes, to 1. The
 * other user is notified. Rule K11.
 */
export const deleteContact = operation({
  id: 'contact.delete',
  methods: deleteOrPost,
  path: '/roster/delete',
  tag,
  summary: 'Ends a contact.',
  callers: 'user',
  scopes: ['users:write'],
  query: otherUser,
  data: done,
  errors: ['not_contact'],
  origin,
})

/**
 * Clients send one field at a time; the others stay. The same value again changes nothing. Rule
 * K11.
 */
export const updateContact = operation({
  id: 'contact.update',
  methods: putOrPost,
  path: '/roster/ext',
  tag,
  summary: 'Changes what the user stores about a contact; absent fields stay unchanged.',
  callers: 'user',
  scopes: ['users:write'],
  body: {
    ...otherUser,
    alias: optional(contactAlias),
    ext: optional(ext),
    mute_notification: optional(
      boolean({ description: 'true silences message notifications of this contact' }),
    ),
  },
  data: done,
  errors: ['not_contact'],
  origin,
})

/**
 * By user ID; default and maximum of a page 10,000, since some clients never ask for a second one.
 * Rule K11.
 */
export const listContacts = operation({
  id: 'contact.list',
  methods: get,
  path: '/roster/list',
  tag,
  summary: 'Lists the IDs of the contacts of the user.',
  description: 'By user ID, 10,000 a page unless asked otherwise, which is also the most.',
  callers: 'user',
  scopes: ['users:read'],
  query: pageParameters,
  data: array(int64(), { description: 'user IDs' }),
  extras: cursorAndVersion,
  origin,
})

/**
 * In the order of the list, without repetitions; unknown and deleted users are left out. At most
 * 10,000 (rule D9). Rule K11.
 */
export const findContacts = operation({
  id: 'contact.find',
  methods: post,
  path: '/roster/list',
  tag,
  summary: 'Looks up any users of the application, contacts or not; unknown ones are left out.',
  description: 'In the order of the request, each user once; at most 10,000.',
  callers: 'user',
  scopes: ['users:read'],
  body: { list: lookUpList('user IDs') },
  data: array(RosterEntry),
  origin,
})

/**
 * Messages of the blocked user are refused at once on this node and within 1 s on others (rule
 * E11). A contact stays one. Safe to repeat.
 */
export const blockUser = operation({
  id: 'contact.block',
  methods: putOrPost,
  path: '/roster/block',
  tag,
  summary: 'Puts a user on the block list.',
  callers: 'user',
  scopes: ['users:write'],
  query: otherUser,
  data: done,
  errors: lookUpErrors,
  origin,
})

/** Safe to repeat, also for users who were never blocked or no longer exist. */
export const unblockUser = operation({
  id: 'contact.unblock',
  methods: deleteOrPost,
  path: '/roster/unblock',
  tag,
  summary: 'Takes a user off the block list.',
  callers: 'user',
  scopes: ['users:write'],
  query: otherUser,
  data: done,
  origin,
})

/** By user ID, always the whole list. */
export const listBlockedUsers = operation({
  id: 'contact.blocked_list',
  methods: get,
  path: '/roster/blocked_list',
  tag,
  summary: 'Lists the users on the block list.',
  description: 'By user ID, always the whole list.',
  callers: 'user',
  scopes: ['users:read'],
  data: array(int64(), { description: 'user IDs' }),
  origin,
})

/** Distinguishes deleted users (10021) from IDs that never existed (10000). */
export const findUserById = operation({
  id: 'contact.find.id',
  methods: get,
  path: '/roster/id',
  tag,
  summary: 'Looks up a user by ID.',
  callers: 'user',
  scopes: ['users:read'],
  query: otherUser,
  data: RosterEntry,
  errors: lookUpErrors,
  origin,
})

/** Ignores case (rule D1). A deleted user's name is free, so it answers 10000. */
export const findUserByUsername = operation({
  id: 'contact.find.name',
  methods: get,
  path: '/roster/name',
  tag,
  summary: 'Looks up a user by username.',
  description:
    'With an Admin token without a user_id header the relation is that of a stranger, and alias and ext are empty.',
  callers: 'member',
  scopes: ['users:read'],
  query: { username },
  data: RosterEntry,
  errors: ['user_not_found'],
  origin,
})

/** The number must be written as stored. */
export const findUserByMobile = operation({
  id: 'contact.find.mobile',
  methods: get,
  path: '/roster/mobile',
  tag,
  summary: 'Looks up a user by mobile number.',
  description:
    'A user can look up 300 numbers at once and then 10 a minute; beyond that the answer is code 42900. An Admin token is not limited.',
  callers: 'user',
  scopes: ['users:read'],
  query: { mobile: knownMobile },
  data: RosterEntry,
  errors: ['user_not_found'],
  origin,
})

/**
 * Checks blocks, the settings for strangers and the state of both; a disabled sender may not. The
 * answer may be 1 s old. Rule E11.
 */
export const mayMessage = operation({
  id: 'contact.may_message',
  methods: get,
  path: '/roster/may_message',
  tag,
  summary: 'Tells whether user_id may send to roster_id.',
  callers: 'userOrAdmin',
  scopes: ['users:read'],
  claims: ['user_id', 'roster_id'],
  query: { roster_id: id('receiver'), user_id: id('sender') },
  data: boolean({ description: 'true: user_id may send to roster_id' }),
  errors: lookUpErrors,
  origin,
})

/**
 * All of them or none; no consent is needed, and blocks stay. Existing contacts stay contacts.
 * Every new contact is notified. Rule C6a.
 */
export const addContacts = operation({
  id: 'contact.add',
  methods: post,
  path: '/user/add_roster',
  tag,
  summary: 'Makes users contacts of the user in the user_id header, without asking.',
  callers: 'adminForUser',
  scopes: ['users:write'],
  body: { list: idList('user IDs') },
  data: done,
  errors: [...lookUpErrors, 'contact_limit_reached'],
  origin,
})

/**
 * By user ID, always the whole list. From an older guide; {@link listContacts} and {@link
 * findContacts} return more.
 */
export const listContactNames = operation({
  id: 'contact.names',
  methods: get,
  path: '/user/rosters',
  tag,
  summary: 'Lists the contacts of the user by name.',
  description: 'By user ID, always the whole list.',
  callers: 'user',
  scopes: ['users:read'],
  data: array(RosterName),
  origin,
})
