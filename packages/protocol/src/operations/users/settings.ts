import { authMode, meaningsOf, strangerChat } from '../../enums.js'
import { operation } from '../../operation.js'
import { UserSettings, userSettingChanges } from '../../resources/users.js'
import { int32, intEnum, string, type TSchema } from '../../schema.js'
import { done, flag, get, id, putOrPost } from '../fields.js'

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
  body: { user_id: id('user ID of the caller'), ...userSettingChanges },
  data: done,
})

export const setAuthMode = settingWriter(
  'auth_mode',
  '/user/authmode',
  'Sets how contact applications are answered.',
  intEnum(meaningsOf(authMode), { description: 'friend-add verification' }),
)

export const setAutoDownload = settingWriter(
  'download',
  '/user/download',
  'Sets whether files are downloaded automatically.',
  flag('true: auto-download thumbnails and files'),
)

export const setPushOff = settingWriter(
  'push',
  '/user/push',
  'Turns pushes off or on.',
  flag('true closes push'),
)

export const setPushDetailOff = settingWriter(
  'push.detail',
  '/user/push/detail',
  'Sets whether pushes hide the text.',
  flag('true closes push details'),
)

export const setSoundsOff = settingWriter(
  'sounds',
  '/user/sounds',
  'Turns the sound reminder off or on.',
  flag('true turns the sound reminder off'),
)

export const setVibration = settingWriter(
  'vibratory',
  '/user/vibratory',
  'Sets whether the device vibrates.',
  flag('true vibrate'),
)

export const setStrangerChat = settingWriter(
  'stranger_chat',
  '/user/stranger_chat',
  'Sets whether unknown users may write.',
  intEnum(meaningsOf(strangerChat), { description: 'chats from unknown users' }),
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
