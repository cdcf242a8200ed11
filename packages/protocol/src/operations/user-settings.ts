import { operation } from '../operation.js'
import { authModes, strangerChats, UserSettings, userSettingChanges } from '../resources.js'
import {
  array,
  boolean,
  int32,
  intEnum,
  list,
  optional,
  string,
  type TSchema,
  text,
} from '../schema.js'
import { done, get, id, post, pushAlias, pushToken, putOrPost } from './fields.js'

const tag = 'User settings'

/** Writes one setting of the user; the value comes in the query. */
function settingWriter<S extends TSchema>(name: string, path: string, summary: string, value: S) {
  return operation({
    id: `user.${name}.update`,
    methods: putOrPost,
    path,
    tag,
    summary,
    callers: 'user',
    query: { value },
    data: done,
  })
}

function toggle(meaning: string) {
  return boolean({ description: meaning })
}

export const getSettings = operation({
  id: 'user.settings.get',
  methods: get,
  path: '/user/settings',
  tag,
  summary: 'Reads the settings of the user.',
  callers: 'user',
  data: UserSettings,
})

export const updateSettings = operation({
  id: 'user.settings.update',
  methods: putOrPost,
  path: '/user/settings',
  tag,
  summary: 'Changes settings; what is absent stays as it is.',
  callers: 'user',
  claim: 'user_id',
  body: { user_id: id('user ID of the caller'), ...userSettingChanges },
  data: done,
})

export const setAuthMode = settingWriter(
  'auth_mode',
  '/user/authmode',
  'Sets how contact applications are answered.',
  intEnum(authModes, { description: 'friend-add verification' }),
)
export const setAutoDownload = settingWriter(
  'download',
  '/user/download',
  'Sets whether files are downloaded automatically.',
  toggle('true: auto-download thumbnails and files'),
)
export const setPushOff = settingWriter(
  'push',
  '/user/push',
  'Turns pushes off or on.',
  toggle('true closes push'),
)
export const setPushDetailOff = settingWriter(
  'push.detail',
  '/user/push/detail',
  'Sets whether pushes hide the text.',
  toggle('true closes push details'),
)
export const setSoundsOff = settingWriter(
  'sounds',
  '/user/sounds',
  'Turns the sound reminder off or on.',
  toggle('true turns the sound reminder off'),
)
export const setVibration = settingWriter(
  'vibratory',
  '/user/vibratory',
  'Sets whether the device vibrates.',
  toggle('true vibrate'),
)
export const setStrangerChat = settingWriter(
  'stranger_chat',
  '/user/stranger_chat',
  'Sets whether unknown users may write.',
  intEnum(strangerChats, { description: 'chats from unknown users' }),
)
export const setPushNickname = settingWriter(
  'push.nickname',
  '/user/push/nickname',
  'Sets the name that pushes show.',
  string({ description: 'push display name', maxLength: 256 }),
)

export const setPushQuietHours = operation({
  id: 'user.push.limit.update',
  methods: putOrPost,
  path: '/user/push/limit',
  tag,
  summary: 'Sets the hours without any push.',
  description:
    "In the application's time zone; wraps over midnight; equal hours mean no quiet time.",
  callers: 'user',
  query: {
    no_push_end_hour: int32({ minimum: 0, maximum: 23, description: 'end hour, 0-23' }),
    no_push_start_hour: int32({ minimum: 0, maximum: 23, description: 'start hour, 0-23' }),
  },
  data: done,
})

export const setPushAlias = operation({
  id: 'user.push.alias.update',
  methods: post,
  path: '/user/push/alias',
  tag,
  summary: 'Binds a push alias to the user.',
  callers: 'user',
  body: { alias: pushAlias, push_token: optional(pushToken) },
  data: done,
  errors: ['push_alias_taken', 'push_token_mismatch'],
})

export const setPushBadge = operation({
  id: 'user.push.badge.update',
  methods: post,
  path: '/user/push/badge',
  tag,
  summary: 'Sets the badge number.',
  callers: 'user',
  body: { badge: int32({ description: 'badge number', minimum: 0 }) },
  data: done,
})

const tagList = list(string({ minLength: 1, maxLength: 64 }), {
  description: 'tags of 1 to 64 characters; a user has at most 100',
  minItems: 1,
})

export const listPushTags = operation({
  id: 'user.push.tag.list',
  methods: get,
  path: '/user/push/tag',
  tag,
  summary: 'Lists the push tags of the user.',
  callers: 'user',
  data: array(text('tag')),
})

export const addPushTags = operation({
  id: 'user.push.tag.add',
  methods: post,
  path: '/user/push/tag',
  tag,
  summary: 'Adds push tags to the user.',
  callers: 'user',
  body: { tags: tagList },
  data: done,
  errors: ['push_tag_limit_reached'],
})

export const removePushTags = operation({
  id: 'user.push.tag.remove',
  methods: ['DELETE'],
  path: '/user/push/tag',
  tag,
  summary: 'Removes push tags of the user.',
  callers: 'user',
  body: { tags: tagList },
  data: done,
})

export const clearPushTags = operation({
  id: 'user.push.tag.clear',
  methods: ['DELETE'],
  path: '/user/push/tag/all',
  tag,
  summary: 'Removes all push tags of the user.',
  callers: 'user',
  data: done,
})
