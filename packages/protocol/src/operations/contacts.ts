import { operation } from '../operation.js'
import { RosterApplication, RosterBatchResult, RosterEntry, RosterName } from '../resources.js'
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
  lookUpList,
  mobile,
  page,
  post,
  putOrPost,
  reason,
  username,
} from './fields.js'

const tag = 'Contacts'
const origin = 'extension'
const otherUser = { user_id: id('the other user') }
const lookUpErrors = ['user_not_found', 'user_deleted'] as const

export const applyToContact = operation({
  id: 'contact.apply',
  methods: post,
  path: '/roster/apply',
  tag,
  summary: 'Asks a user to become a contact.',
  description:
    "What happens depends on the other user's auth_mode: contacts at once, an application, a check of auth_answer, or a refusal.",
  callers: 'user',
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

export const applyToContacts = operation({
  id: 'contact.apply.batch',
  methods: post,
  path: '/roster/apply/batch',
  tag,
  summary: 'Asks several users to become contacts; the body is the bare list.',
  callers: 'user',
  body: {
    whole: 'list' as const,
    schema: itemList(object({ ...otherUser, alias: optional(contactAlias), reason }), {
      description: 'at most 500 applications',
    }),
  },
  data: RosterBatchResult,
  origin,
})

export const listContactRequests = operation({
  id: 'contact.apply.list',
  methods: get,
  path: '/roster/apply/list',
  tag,
  summary: 'Lists the contact applications that the user received, handled ones included.',
  callers: 'user',
  query: page,
  data: array(RosterApplication),
  extras: cursorAndVersion,
  origin,
})

export const acceptContact = operation({
  id: 'contact.accept',
  methods: putOrPost,
  path: '/roster/accept',
  tag,
  summary: 'Accepts a contact application.',
  callers: 'user',
  query: { user_id: id('applicant') },
  data: done,
  errors: ['contact_request_not_found', 'in_block_list', 'contact_limit_reached'],
  origin,
})

export const declineContact = operation({
  id: 'contact.decline',
  methods: putOrPost,
  path: '/roster/decline',
  tag,
  summary: 'Declines a contact application.',
  callers: 'user',
  body: { user_id: id('applicant'), reason },
  data: done,
  errors: ['contact_request_not_found'],
  origin,
})

export const deleteContact = operation({
  id: 'contact.delete',
  methods: deleteOrPost,
  path: '/roster/delete',
  tag,
  summary: 'Ends a contact.',
  callers: 'user',
  query: otherUser,
  data: done,
  errors: ['not_contact'],
  origin,
})

export const updateContact = operation({
  id: 'contact.update',
  methods: putOrPost,
  path: '/roster/ext',
  tag,
  summary: 'Changes what the user keeps about a contact; what is absent stays as it is.',
  callers: 'user',
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

export const listContacts = operation({
  id: 'contact.list',
  methods: get,
  path: '/roster/list',
  tag,
  summary: 'Lists the IDs of the contacts of the user.',
  callers: 'user',
  query: page,
  data: array(int64(), { description: 'user IDs' }),
  extras: cursorAndVersion,
  origin,
})

export const findContacts = operation({
  id: 'contact.find',
  methods: post,
  path: '/roster/list',
  tag,
  summary: 'Looks up any users of the application, contacts or not; unknown ones are left out.',
  callers: 'user',
  body: { list: lookUpList('user IDs') },
  data: array(RosterEntry),
  origin,
})

export const blockUser = operation({
  id: 'contact.block',
  methods: putOrPost,
  path: '/roster/block',
  tag,
  summary: 'Puts a user on the block list.',
  callers: 'user',
  query: otherUser,
  data: done,
  errors: lookUpErrors,
  origin,
})

export const unblockUser = operation({
  id: 'contact.unblock',
  methods: deleteOrPost,
  path: '/roster/unblock',
  tag,
  summary: 'Takes a user off the block list.',
  callers: 'user',
  query: otherUser,
  data: done,
  origin,
})

export const listBlockedUsers = operation({
  id: 'contact.blocked_list',
  methods: get,
  path: '/roster/blocked_list',
  tag,
  summary: 'Lists the users on the block list.',
  callers: 'user',
  data: array(int64(), { description: 'user IDs' }),
  origin,
})

export const findUserById = operation({
  id: 'contact.find.id',
  methods: get,
  path: '/roster/id',
  tag,
  summary: 'Looks up a user by ID.',
  callers: 'user',
  query: otherUser,
  data: RosterEntry,
  errors: lookUpErrors,
  origin,
})

export const findUserByUsername = operation({
  id: 'contact.find.name',
  methods: get,
  path: '/roster/name',
  tag,
  summary: 'Looks up a user by username.',
  callers: 'user',
  query: { username },
  data: RosterEntry,
  errors: ['user_not_found'],
  origin,
})

export const findUserByMobile = operation({
  id: 'contact.find.mobile',
  methods: get,
  path: '/roster/mobile',
  tag,
  summary: 'Looks up a user by mobile number.',
  callers: 'user',
  query: { mobile },
  data: RosterEntry,
  errors: ['user_not_found'],
  origin,
})

export const mayMessage = operation({
  id: 'contact.may_message',
  methods: get,
  path: '/roster/may_message',
  tag,
  summary: 'Tells whether user_id may send to roster_id.',
  callers: 'userOrAdmin',
  query: { roster_id: id('receiver'), user_id: id('sender') },
  data: boolean({ description: 'true: user_id may send to roster_id' }),
  errors: lookUpErrors,
  origin,
})

export const addContacts = operation({
  id: 'contact.add',
  methods: post,
  path: '/user/add_roster',
  tag,
  summary: 'Makes users contacts of the user in the user_id header, without asking.',
  callers: 'adminForUser',
  body: { list: idList('user IDs') },
  data: done,
  errors: [...lookUpErrors, 'contact_limit_reached'],
  origin,
})

export const listContactNames = operation({
  id: 'contact.names',
  methods: get,
  path: '/user/rosters',
  tag,
  summary: 'Lists the contacts of the user by name.',
  callers: 'user',
  data: array(RosterName),
  origin,
})
