import { operation } from '../../operation.js'
import { Identity } from '../../resources/identity.js'
import { array, optional, string } from '../../schema.js'
import { done, get, post } from '../fields.js'
import { identity } from './fields.js'

const ofUsers = {
  tag: 'Users',
  callers: 'user',
  scopes: ['tokens:issue'],
  origin: 'extension',
} as const
const password = optional(
  string({ description: 'password of the user; needed with a user token', maxLength: 128 }),
)

/** By the time of the link. Rule C9. */
export const listIdentities = operation({
  ...ofUsers,
  id: 'user.identity.list',
  methods: get,
  path: '/user/identity/list',
  summary: 'Lists the identities of the user in other systems.',
  description: 'Oldest first; a user has at most 10, and the answer is always the whole list.',
  data: array(Identity),
})

/**
 * Safe to repeat: an identity that the user has already is a success. A user token may not claim a
 * subject by its text: another user could be it. Rule C9.
 */
export const linkIdentity = operation({
  ...ofUsers,
  id: 'user.identity.link',
  methods: post,
  path: '/user/identity/link',
  summary: 'Links a subject of an issuer to the user.',
  description: 'With an Admin token; a user token would claim a subject that it does not prove.',
  callers: 'adminForUser',
  body: identity,
  data: done,
  errors: ['user_already_bound', 'identity_limit_reached'],
})

/** The last identity of a user without a password stays. Rule C9. */
export const unlinkIdentity = operation({
  ...ofUsers,
  id: 'user.identity.unlink',
  methods: post,
  path: '/user/identity/unlink',
  summary: 'Unlinks a subject of an issuer from the user.',
  body: { ...identity, password },
  data: done,
  errors: ['identity_not_found', 'last_identity', 'password_incorrect'],
})
