import { operation } from '../../operation.js'
import { FoundUser, UserListEntry } from '../../resources/users.js'
import { array, int32, int64, list, optional, string } from '../../schema.js'
import { deleteOrPost, done, get, idList, nextCursor, post } from '../fields.js'
import { identity, lookUpFaults } from '../identity/fields.js'

const tag = 'Users'

/**
 * By user ID, so that pages do not shift when users register. Deleted users are left out; a page
 * behind the last one is an empty list. A deletion moves the users of later page numbers, and no
 * user of a walk by cursor. Rule C6a.
 */
export const listUsers = operation({
  id: 'user.list',
  methods: get,
  path: '/user/list',
  tag,
  summary: 'Lists the users of the application, oldest first.',
  description:
    'By user ID, so that pages do not shift when users register: 50 a page unless asked otherwise, at most 200. Deleted users are left out; a page behind the last one is an empty list. A user who is deleted between two pages makes page numbers skip another one; a walk by cursor skips none.',
  callers: 'admin',
  scopes: ['users:read'],
  query: {
    cursor: optional(
      string({
        description: 'cursor of the page before, instead of page_num; absent or "": page_num',
        maxLength: 64,
      }),
    ),
    page_num: optional(int32({ description: 'page, from 1', minimum: 1, default: 1 })),
    page_size: optional(
      int32({ description: 'users per page; cut to 200', minimum: 1, default: 50 }),
    ),
  },
  data: array(UserListEntry),
  extras: nextCursor,
})

/**
 * In the order of the list, each entry once; unknown and deleted users are left out. Two subjects
 * may have one user, who is then answered twice. Rule C6a.
 */
export const findUsers = operation({
  id: 'user.find',
  methods: post,
  path: '/user/list',
  tag,
  summary: 'Looks up users of the application by ID, by username, or by subject.',
  description:
    'Exactly one of user_ids, names, and subjects with their issuer, at most 500. In the order of the request, each entry once; users who do not exist or are deleted are left out. ' +
    'Names are compared without regard to case, as for logins; subjects byte for byte, and each is answered beside its user.',
  callers: 'admin',
  scopes: ['users:read'],
  body: {
    user_ids: optional(list(int64(), { description: 'user IDs', 'x-look-up': true })),
    names: optional(
      list(string({ minLength: 1, maxLength: 64 }), {
        description: 'usernames',
        'x-look-up': true,
      }),
    ),
    issuer: optional(identity.issuer),
    subjects: optional(
      list(identity.subject, {
        description: 'IDs of the users in the system of the issuer',
        'x-look-up': true,
      }),
    ),
  },
  data: array(FoundUser),
  violationsOf: lookUpFaults,
  origin: 'extension',
})

/**
 * All of them or none: one unknown ID fails the call. Tokens end in the same commit, on other nodes
 * within 1 s. Disabling a disabled user succeeds. Rule D4.
 */
export const disableUsers = operation({
  id: 'user.disable',
  methods: ['PUT'],
  path: '/user/disable',
  tag,
  summary: 'Bans users: they can neither log in nor send, and their tokens end at once.',
  callers: 'admin',
  scopes: ['users:write'],
  body: { list: idList('user IDs') },
  data: done,
  errors: ['user_not_found', 'user_deleted'],
})

/** All of them or none. Old tokens stay ended, so the users log in again. Rule D4. */
export const enableUsers = operation({
  id: 'user.enable',
  methods: ['PUT'],
  path: '/user/enable',
  tag,
  summary: 'Ends the ban of users.',
  callers: 'admin',
  scopes: ['users:write'],
  body: { list: idList('user IDs') },
  data: done,
  errors: ['user_not_found', 'user_deleted'],
})

/**
 * Cannot be undone. Answers after the deletion; texts in the events of others are erased soon
 * after, even if the service is killed in between. Rule D5.
 */
export const deleteUser = operation({
  id: 'user.delete',
  methods: deleteOrPost,
  path: '/user/delete',
  tag,
  summary: 'Deletes a user.',
  description:
    'Messages stay for the others under the same user_id; the username is free again; groups pass to another member.',
  callers: 'user',
  scopes: ['users:write'],
  body: {
    password: optional(
      string({ description: 'password; needed with a user token, or assertion', maxLength: 128 }),
    ),
    assertion: optional(
      string({
        description: 'fresh assertion of an identity, for a user without a password',
        minLength: 1,
        maxLength: 8_192,
      }),
    ),
  },
  data: done,
  bodyBytesPerToken: 1_024,
  errors: ['password_incorrect', 'assertion_refused'],
})
