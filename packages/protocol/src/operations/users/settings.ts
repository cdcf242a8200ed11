import { authMode, meaningsOf, strangerChat } from '../../enums.js'
import { operation } from '../../operation.js'
import { UserSettings, userSettingChanges } from '../../resources/users.js'
import { int32, intEnum, string, type TSchema } from '../../schema.js'
import { done, flag, get, id, nameForm, putOrPost } from '../fields.js'

const tag = 'User settings'

/** Writes one setting of the user; the value comes in the query. */
function settingWriter<const Name extends string, S extends TSchema>(
  name: Name,
  path: string,
  summary: string,
  value: S,
) {
  return operation({
    id: `user.${name}.update` as const,
    methods: putOrPost,
    path,
    tag,
    summary,
    callers: 'user',
    scopes: ['users:write'],
    query: { value },
    data: done,
  })
}

/** Answers defaults for a user who never changed one (rule D7). */
export const getSettings = operation({
  id: 'user.settings.get',
  methods: get,
  path: '/user/settings',
  tag,
  summary: 'Reads the settings of the user.',
  callers: 'user',
  scopes: ['users:read'],
  data: UserSettings,
})

/**
 * Atomic; clients send the one field that changed and user_id. A user_id that is not the caller's
 * answers 10010 (rule C5).
 */
export const updateSettings = operation({
  id: 'user.settings.update',
  methods: putOrPost,
  path: '/user/settings',
  tag,
  summary: 'Changes settings; absent fields stay unchanged.',
  callers: 'user',
  scopes: ['users:write'],
  claims: ['user_id'],
  body: { user_id: id('user ID of the caller'), ...userSettingChanges },
  data: done,
  errors: ['push_token_mismatch'],
})

/**
 * auth_mode of {@link updateSettings} alone. Requests that are already open stay open. Rule K11.
 */
export const setAuthMode = settingWriter(
  'auth_mode',
  '/user/authmode',
  'Sets how contact requests are answered.',
  intEnum(meaningsOf(authMode), { description: 'friend-add verification' }),
)

/** auto_download alone. The service keeps it for the clients of the user and does not act on it. */
export const setAutoDownload = settingWriter(
  'download',
  '/user/download',
  'Sets whether files are downloaded automatically.',
  flag('true: auto-download thumbnails and files'),
)

/** no_push alone: true turns every push of the user off. */
export const setPushOff = settingWriter(
  'push',
  '/user/push',
  'Switches pushes off or on.',
  flag('true closes push'),
)

/** no_push_detail alone: true hides the text of pushes (rule D7). */
export const setPushDetailOff = settingWriter(
  'push.detail',
  '/user/push/detail',
  'Sets whether pushes hide the text.',
  flag('true closes push details'),
)

/** no_sounds alone. The service keeps it for the clients of the user and does not act on it. */
export const setSoundsOff = settingWriter(
  'sounds',
  '/user/sounds',
  'Switches the sound reminder off or on.',
  flag('true turns the sound reminder off'),
)

/** vibratory alone. The service keeps it for the clients of the user and does not act on it. */
export const setVibration = settingWriter(
  'vibratory',
  '/user/vibratory',
  'Sets whether the device vibrates.',
  flag('true vibrate'),
)

/** stranger_chat alone. Takes effect on messages within 1 s on every node. Rule E11. */
export const setStrangerChat = settingWriter(
  'stranger_chat',
  '/user/stranger_chat',
  'Sets whether unknown users may write.',
  intEnum(meaningsOf(strangerChat), { description: 'chats from unknown users' }),
)

/** push_nick_name alone; "" means the nickname. */
export const setPushNickname = settingWriter(
  'push.nickname',
  '/user/push/nickname',
  'Sets the name that pushes show.',
  string({ description: `push display name: ${nameForm}`, maxLength: 256 }),
)

/** Sets both hours together, so that no window is half changed. Rule D7. */
export const setPushQuietHours = operation({
  id: 'user.push.limit.update',
  methods: putOrPost,
  path: '/user/push/limit',
  tag,
  summary: 'Sets the hours without any push.',
  description:
    "In the application's time zone; wraps over midnight; equal hours mean no quiet time.",
  callers: 'user',
  scopes: ['users:write'],
  query: {
    no_push_end_hour: int32({ minimum: 0, maximum: 23, description: 'end hour, 0-23' }),
    no_push_start_hour: int32({ minimum: 0, maximum: 23, description: 'start hour, 0-23' }),
  },
  data: done,
})
