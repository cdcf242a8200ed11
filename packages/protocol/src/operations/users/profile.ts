import { operation } from '../../operation.js'
import { ItemResult } from '../../resources/results.js'
import { UserProfile } from '../../resources/users.js'
import { array, itemList, object, optional } from '../../schema.js'
import {
  avatar,
  description,
  done,
  email,
  get,
  id,
  mobile,
  nickName,
  privateInfo,
  publicInfo,
  putOrPost,
  username,
} from '../fields.js'

const tag = 'Users'
const profileChanges = {
  description: optional(description),
  nick_name: optional(nickName),
  private_info: optional(privateInfo),
  public_info: optional(publicInfo),
}

/**
 * Includes private_info, e-mail and mobile number, which no other user ever sees. An Admin token
 * names the user by the parameter or the header. Rule C5.
 */
export const getProfile = operation({
  id: 'user.profile.get',
  methods: get,
  path: '/user/profile',
  tag,
  summary: 'Reads the profile of the user.',
  description:
    'An Admin token names the user by user_id, or by the user_id header. With a user token user_id is absent or that of its user.',
  callers: 'member',
  scopes: ['users:read'],
  claims: ['user_id'],
  query: { user_id: optional(id('user ID; absent: the acting user')) },
  data: UserProfile,
  errors: ['user_not_found', 'user_deleted'],
})

/** Atomic. The user's devices learn which fields changed, not their values. Rule D1b. */
export const updateProfile = operation({
  id: 'user.profile.update',
  methods: putOrPost,
  path: '/user/profile',
  tag,
  summary: 'Changes the profile; absent fields stay unchanged.',
  callers: 'user',
  scopes: ['users:write'],
  body: profileChanges,
  data: done,
})

/** One commit; a refused entry undoes no other. Rules C6a and D9. */
export const updateProfiles = operation({
  id: 'user.profile.batch',
  methods: putOrPost,
  path: '/user/profile/batch',
  tag,
  summary: 'Changes the profiles of several users.',
  description:
    'Every entry succeeds or fails separately. With a user token only entries about its own user succeed.',
  callers: 'userOrAdmin',
  scopes: ['users:write'],
  body: {
    list: optional(
      itemList(
        object({ ...profileChanges, user_id: optional(id('user ID; absent: the caller')) }),
        {
          description: 'at most 500 profiles',
        },
      ),
    ),
  },
  data: array(ItemResult, { description: 'one result per entry, in order' }),
})

/** A full URL, a path, or the name of an uploaded object; "" removes it. Rule K8. */
export const setAvatar = operation({
  id: 'user.avatar.update',
  methods: putOrPost,
  path: '/user/avatar',
  tag,
  summary: 'Sets the avatar.',
  callers: 'user',
  scopes: ['users:write'],
  body: { avatar },
  data: done,
})

/** One commit; a refused entry undoes no other. Rules C6a and D9. */
export const updateAvatars = operation({
  id: 'user.avatar.batch',
  methods: putOrPost,
  path: '/user/avatar/batch',
  tag,
  summary: 'Sets the avatars of several users.',
  description:
    'Every entry succeeds or fails separately. With a user token only entries about its own user succeed.',
  callers: 'userOrAdmin',
  scopes: ['users:write'],
  body: {
    list: optional(
      itemList(object({ avatar, user_id: id('user ID') }), { description: 'at most 500 avatars' }),
    ),
  },
  data: array(ItemResult, { description: 'one result per entry, in order' }),
})

/** Nicknames need not be unique and may be empty. Control characters are refused (10002). */
export const setNickname = operation({
  id: 'user.nickname.update',
  methods: putOrPost,
  path: '/user/nickname',
  tag,
  summary: 'Sets the nickname.',
  callers: 'user',
  scopes: ['users:write'],
  query: { nick_name: nickName },
  data: done,
})

/**
 * Unique in the application. If two users set the same number at the same time, exactly one
 * succeeds. Rule D1.
 */
export const setMobile = operation({
  id: 'user.mobile.update',
  methods: putOrPost,
  path: '/user/mobile',
  tag,
  summary: 'Sets the mobile number, which then works for logging in.',
  description: 'Counts as a look-up by number, as /roster/mobile does.',
  callers: 'user',
  scopes: ['users:write'],
  query: { mobile },
  data: done,
  errors: ['mobile_taken'],
})

/**
 * Unique in the application without regard to case. An extension in the style of the contract. Rule
 * D1.
 */
export const setEmail = operation({
  id: 'user.email.update',
  methods: putOrPost,
  path: '/user/email',
  tag,
  summary: 'Sets the e-mail address, which then works for logging in.',
  description: 'Counts as a look-up by number, as /roster/mobile does.',
  callers: 'user',
  scopes: ['users:write'],
  query: { email },
  data: done,
  errors: ['email_taken'],
  origin: 'extension',
})

/** The old name is free at once. Tokens stay valid. Rule D1. */
export const setUsername = operation({
  id: 'user.username.update',
  methods: putOrPost,
  path: '/user/username',
  tag,
  summary: 'Changes the username.',
  callers: 'user',
  scopes: ['users:write'],
  body: { username },
  data: done,
  errors: ['username_taken'],
})

/** The body has no field name; rule B4 defines how bodies are decoded. */
export const setPrivateInfo = operation({
  id: 'user.private.update',
  methods: putOrPost,
  path: '/user/private',
  tag,
  summary: 'Sets the private information; the whole body is the text.',
  callers: 'user',
  scopes: ['users:write'],
  body: { whole: 'value', schema: privateInfo },
  data: done,
})

/** The body has no field name; rule B4 defines how bodies are decoded. */
export const setPublicInfo = operation({
  id: 'user.public.update',
  methods: putOrPost,
  path: '/user/public',
  tag,
  summary: 'Sets the public information; the whole body is the text.',
  callers: 'user',
  scopes: ['users:write'],
  body: { whole: 'value', schema: publicInfo },
  data: done,
})
