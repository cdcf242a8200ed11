import { operation } from '../../operation.js'
import { Identity } from '../../resources/identity.js'
import { array, optional, string } from '../../schema.js'
import { done, get, post } from '../fields.js'
import { assertion, identity, userFaults } from './fields.js'

const ofUsers = {
  tag: 'Users',
  callers: 'user',
  scopes: ['tokens:issue'],
  origin: 'extension',
} as const
const password = optional(
  string({
    description: 'password of the user; needed with a user token, or a proof',
    maxLength: 128,
  }),
)
const proof = optional(
  string({
    description:
      'fresh assertion of an identity that is linked already, for a user without a password',
    minLength: 1,
    maxLength: 8_192,
  }),
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
  description:
    'An Admin token names issuer and subject, or gives an assertion. A user token gives an assertion: it would claim a subject that it does not prove.',
  body: {
    issuer: optional(identity.issuer),
    subject: optional(identity.subject),
    assertion: optional(assertion),
    password,
    proof,
  },
  data: done,
  violationsOf: (params) => userFaults(params, 'assertion'),
  bodyBytesPerToken: 1_024,
  errors: [
    'user_already_bound',
    'identity_limit_reached',
    'assertion_refused',
    'password_incorrect',
  ],
})

/** The last identity of a user without a password stays. Rule C9. */
export const unlinkIdentity = operation({
  ...ofUsers,
  id: 'user.identity.unlink',
  methods: post,
  path: '/user/identity/unlink',
  summary: 'Unlinks a subject of an issuer from the user.',
  body: { ...identity, password, proof },
  bodyBytesPerToken: 1_024,
  data: done,
  errors: ['identity_not_found', 'last_identity', 'password_incorrect', 'assertion_refused'],
})
