import { operation } from '../operation.js'
import {
  AnonymousUser,
  ItemResult,
  RegistrationResult,
  UserListEntry,
  UserProfile,
  UserSettings,
} from '../resources.js'
import { array, int32, itemList, object, optional, string } from '../schema.js'
import {
  avatar,
  deleteOrPost,
  description,
  deviceGuid,
  done,
  email,
  get,
  id,
  idList,
  mobile,
  nickName,
  password,
  post,
  privateInfo,
  publicInfo,
  pushToken,
  putOrPost,
  username,
} from './fields.js'

const tag = 'Users'
const registrationErrors = ['user_exists', 'registration_closed', 'user_limit_reached'] as const
const credentials = { username, password }
const profileChanges = {
  description: optional(description),
  nick_name: optional(nickName),
  private_info: optional(privateInfo),
  public_info: optional(publicInfo),
}

export const registerUser = operation({
  id: 'user.register',
  methods: post,
  path: '/user/register/v2',
  tag,
  summary: 'Registers a user.',
  description:
    'Open to anyone unless the application has closed its registration; then an Admin token is needed.',
  callers: 'anyone',
  body: credentials,
  data: UserSettings,
  errors: registrationErrors,
})

export const registerUserForPush = operation({
  id: 'user.register.push',
  methods: post,
  path: '/user/register/push',
  tag,
  summary: 'Registers a user together with a device and what pushes need.',
  callers: 'anyone',
  body: {
    ...credentials,
    alias: optional(
      string({ description: 'alias of the user for pushes; "": none', maxLength: 128 }),
    ),
    device_guid: optional(deviceGuid),
    push_token: optional(pushToken),
    sign: optional(
      string({
        description:
          'with a registration secret: lower-case hex HMAC-SHA256 of app_id, a line feed and username under that secret; else ignored',
        maxLength: 128,
      }),
    ),
  },
  data: UserSettings,
  errors: [...registrationErrors, 'registration_signature_invalid', 'push_alias_taken'],
})

export const registerUsers = operation({
  id: 'user.register.batch',
  methods: post,
  path: '/user/register/batch',
  tag,
  summary: 'Registers several users.',
  description: 'Every entry is judged by itself; the answer has one result per entry, in order.',
  callers: 'admin',
  body: { list: optional(itemList(object(credentials), { description: 'at most 500 users' })) },
  data: array(RegistrationResult, { description: 'one result per entry, in order' }),
})

export const registerAnonymousUser = operation({
  id: 'user.register.anonymous',
  methods: post,
  path: '/user/register/anonymous',
  tag,
  summary: 'Registers a user under a name that the server completes.',
  callers: 'anyone',
  body: {
    username: string({
      description: 'used as a prefix of the username',
      minLength: 1,
      maxLength: 40,
    }),
    password,
    cid: optional(
      id(
        'a user to become a contact of, who is asked as for an application unless an Admin token is used; 0: none',
      ),
    ),
  },
  data: AnonymousUser,
  errors: [
    'registration_closed',
    'user_limit_reached',
    'user_not_found',
    'user_deleted',
    'contact_limit_reached',
    'contact_requests_refused',
    'wrong_auth_answer',
  ],
  origin: 'extension',
})

export const listUsers = operation({
  id: 'user.list',
  methods: get,
  path: '/user/list',
  tag,
  summary: 'Lists the users of the application, oldest first.',
  callers: 'admin',
  query: {
    page_num: optional(int32({ description: 'page, from 1', minimum: 1, default: 1 })),
    page_size: optional(
      int32({ description: 'users per page; cut to 200', minimum: 1, default: 50 }),
    ),
  },
  data: array(UserListEntry),
})

export const disableUsers = operation({
  id: 'user.disable',
  methods: ['PUT'],
  path: '/user/disable',
  tag,
  summary: 'Bans users: they can neither log in nor send, and their tokens end at once.',
  callers: 'admin',
  body: { list: idList('user IDs') },
  data: done,
  errors: ['user_not_found', 'user_deleted'],
})

export const enableUsers = operation({
  id: 'user.enable',
  methods: ['PUT'],
  path: '/user/enable',
  tag,
  summary: 'Ends the ban of users.',
  callers: 'admin',
  body: { list: idList('user IDs') },
  data: done,
  errors: ['user_not_found', 'user_deleted'],
})

export const deleteUser = operation({
  id: 'user.delete',
  methods: deleteOrPost,
  path: '/user/delete',
  tag,
  summary: 'Deletes a user.',
  description:
    'Messages stay for the others under the same user_id; the username is free again; groups pass to another member.',
  callers: 'user',
  body: {
    password: optional(
      string({ description: 'password; needed with a user token', maxLength: 128 }),
    ),
  },
  data: done,
  errors: ['password_incorrect'],
})

export const changePassword = operation({
  id: 'user.password.change',
  methods: post,
  path: '/user/change_password',
  tag,
  summary: 'Changes the password; all other tokens of the user end.',
  callers: 'user',
  body: { new_password: password, old_password: password },
  data: done,
  errors: ['password_incorrect'],
})

export const changePasswordAsAdmin = operation({
  id: 'user.password.change_admin',
  methods: post,
  path: '/user/change_password_admin',
  tag,
  summary: 'Changes the password of the user in the user_id header; all tokens of that user end.',
  callers: 'adminForUser',
  body: { password },
  data: done,
})

export const getProfile = operation({
  id: 'user.profile.get',
  methods: get,
  path: '/user/profile',
  tag,
  summary: 'Reads the profile of the user.',
  callers: 'user',
  data: UserProfile,
})

export const updateProfile = operation({
  id: 'user.profile.update',
  methods: putOrPost,
  path: '/user/profile',
  tag,
  summary: 'Changes the profile; what is absent stays as it is.',
  callers: 'user',
  body: profileChanges,
  data: done,
})

export const updateProfiles = operation({
  id: 'user.profile.batch',
  methods: putOrPost,
  path: '/user/profile/batch',
  tag,
  summary: 'Changes the profiles of several users.',
  description:
    'Every entry is judged by itself. With a user token only entries about its own user go through.',
  callers: 'userOrAdmin',
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

export const setAvatar = operation({
  id: 'user.avatar.update',
  methods: putOrPost,
  path: '/user/avatar',
  tag,
  summary: 'Sets the avatar.',
  callers: 'user',
  body: { avatar },
  data: done,
})

export const updateAvatars = operation({
  id: 'user.avatar.batch',
  methods: putOrPost,
  path: '/user/avatar/batch',
  tag,
  summary: 'Sets the avatars of several users.',
  description:
    'Every entry is judged by itself. With a user token only entries about its own user go through.',
  callers: 'userOrAdmin',
  body: {
    list: optional(
      itemList(object({ avatar, user_id: id('user ID') }), { description: 'at most 500 avatars' }),
    ),
  },
  data: array(ItemResult, { description: 'one result per entry, in order' }),
})

export const setNickname = operation({
  id: 'user.nickname.update',
  methods: putOrPost,
  path: '/user/nickname',
  tag,
  summary: 'Sets the nickname.',
  callers: 'user',
  query: { nick_name: nickName },
  data: done,
})

export const setMobile = operation({
  id: 'user.mobile.update',
  methods: putOrPost,
  path: '/user/mobile',
  tag,
  summary: 'Sets the mobile number, which then works for logging in.',
  callers: 'user',
  query: { mobile },
  data: done,
  errors: ['mobile_taken'],
})

export const setEmail = operation({
  id: 'user.email.update',
  methods: putOrPost,
  path: '/user/email',
  tag,
  summary: 'Sets the e-mail address, which then works for logging in.',
  callers: 'user',
  query: { email },
  data: done,
  errors: ['email_taken'],
  origin: 'extension',
})

export const setUsername = operation({
  id: 'user.username.update',
  methods: putOrPost,
  path: '/user/username',
  tag,
  summary: 'Changes the username.',
  callers: 'user',
  body: { username },
  data: done,
  errors: ['username_taken'],
})

export const setPrivateInfo = operation({
  id: 'user.private.update',
  methods: putOrPost,
  path: '/user/private',
  tag,
  summary: 'Sets the private information; the whole body is the text.',
  callers: 'user',
  body: { whole: 'value', schema: privateInfo },
  data: done,
})

export const setPublicInfo = operation({
  id: 'user.public.update',
  methods: putOrPost,
  path: '/user/public',
  tag,
  summary: 'Sets the public information; the whole body is the text.',
  callers: 'user',
  body: { whole: 'value', schema: publicInfo },
  data: done,
})
