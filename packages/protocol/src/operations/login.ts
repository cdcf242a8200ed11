import { operation } from '../operation.js'
import { TokenRecord } from '../resources/login.js'
import { optional, string, type TProperties } from '../schema.js'
import { deviceGuid, done, id, password, post, username } from './fields.js'

function tokenOperation<const Id extends string, B extends TProperties>(
  idOfOperation: Id,
  path: string,
  summary: string,
  who: B,
) {
  return operation({
    id: idOfOperation,
    methods: post,
    path,
    tag: 'Tokens',
    summary,
    description: 'push_token is answered when device_guid is sent.',
    callers: 'anyone',
    scopes: ['tokens:issue'],
    body: { ...who, password, device_guid: optional(deviceGuid) },
    data: TokenRecord,
    errors: ['user_not_found', 'user_deleted', 'password_incorrect', 'user_disabled'],
  })
}

/**
 * A new token each time; earlier ones stay valid until they expire or are revoked (rule C6). Failed
 * attempts slow down later ones (rule D2).
 */
export const issueTokenById = tokenOperation('token.id', '/token/id', 'Logs in with a user ID.', {
  user_id: id('user ID'),
})

/**
 * A name with @ is an e-mail address, one of digits alone (with or without +) a mobile number,
 * anything else a username. Otherwise as {@link issueTokenById}.
 */
export const issueTokenByLogin = tokenOperation(
  'token.login',
  '/token/login',
  'Logs in with a mobile number, an e-mail address or a username.',
  {
    login_name: string({
      description: 'a mobile number, e-mail or username',
      minLength: 1,
      maxLength: 254,
      examples: ['alice'],
    }),
  },
)

/** Usernames are compared without regard to case (rule D1). Otherwise as {@link issueTokenById}. */
export const issueTokenByUsername = tokenOperation(
  'token.user',
  '/token/user',
  'Logs in with a username.',
  { name: username },
)

/**
 * Sets the password and ends the other tokens in one commit; the token of the call stays. File
 * credentials end too (rule D3).
 */
export const changePassword = operation({
  id: 'user.password.change',
  methods: post,
  path: '/user/change_password',
  tag: 'Users',
  summary: 'Changes the password; all other tokens of the user end.',
  callers: 'user',
  scopes: ['tokens:issue'],
  body: { new_password: password, old_password: password },
  data: done,
  errors: ['password_incorrect'],
})

/**
 * Sets the password and ends all tokens in one commit (rule D3). For the operator's own support
 * tools.
 */
export const changePasswordAsAdmin = operation({
  id: 'user.password.change_admin',
  methods: post,
  path: '/user/change_password_admin',
  tag: 'Users',
  summary: 'Changes the password of the user in the user_id header; all tokens of that user end.',
  callers: 'adminForUser',
  scopes: ['tokens:issue'],
  body: { password },
  data: done,
})
