import {
  getSettings,
  type Operation,
  setAuthMode,
  setAutoDownload,
  setPushDetailOff,
  setPushNickname,
  setPushOff,
  setPushQuietHours,
  setSoundsOff,
  setStrangerChat,
  setVibration,
  type UserSettings,
  updateSettings,
} from '@hermod/protocol'
import type { SettingsService } from '../../domain/users/settings/settings-service.js'
import type { StoredSettings } from '../../domain/users/user-model.js'
import { definedOnly } from '../../lib/defined-only.js'
import { type CallContext, data, type Handler, handle, whenDone } from '../../pipeline/call.js'

type SettingChanges = {
  readonly [K in keyof StoredSettings]?: string | number | boolean | undefined
}
type SettingWriter = readonly [
  Operation<{ value: string | number | boolean }, boolean, unknown, 'user'>,
  keyof StoredSettings,
]

/** Operations that write one setting, with that setting. */
const settingWriters: readonly SettingWriter[] = [
  [setAuthMode, 'auth_mode'],
  [setAutoDownload, 'auto_download'],
  [setPushOff, 'no_push'],
  [setPushDetailOff, 'no_push_detail'],
  [setPushNickname, 'push_nick_name'],
  [setSoundsOff, 'no_sounds'],
  [setStrangerChat, 'stranger_chat'],
  [setVibration, 'vibratory'],
]

export function settingsHandlers({ settings }: { readonly settings: SettingsService }): Handler[] {
  const write = (
    { principal: { appId, userId } }: CallContext<'user'>,
    changes: SettingChanges,
    field?: string,
  ) => whenDone(settings.update(appId, userId, toStored(changes), field))
  return [
    handle(getSettings, async (_, { principal: { appId, userId } }) =>
      data(toSettings(userId, await settings.get(appId, userId))),
    ),
    handle(updateSettings, ({ user_id: _user, id: _id, ...changes }, context) =>
      write(context, changes),
    ),
    handle(setPushQuietHours, (changes, context) => write(context, changes)),
    ...settingWriters.map(([operation, name]) =>
      handle(operation, ({ value }, context) => write(context, { [name]: value }, 'value')),
    ),
  ]
}

/** Flags are 0 or 1 in the store. */
function toStored(changes: SettingChanges): Partial<StoredSettings> {
  const stored = Object.entries(definedOnly(changes)).map(([name, value]) => [
    name,
    typeof value === 'boolean' ? Number(value) : value,
  ])
  return Object.fromEntries(stored)
}

/** The User settings resource. */
export function toSettings(userId: UserSettings['user_id'], stored: StoredSettings): UserSettings {
  // Written out: copying the rest of an object takes longer than reading the settings.
  return {
    auth_answer: stored.auth_answer,
    auth_mode: stored.auth_mode,
    auth_question: stored.auth_question,
    auto_download: stored.auto_download === 1,
    group_confirm: stored.group_confirm === 1,
    id: userId,
    no_push: stored.no_push === 1,
    no_push_detail: stored.no_push_detail === 1,
    no_push_end_hour: stored.no_push_end_hour,
    no_push_start_hour: stored.no_push_start_hour,
    no_sounds: stored.no_sounds === 1,
    push_nick_name: stored.push_nick_name,
    push_token: stored.push_token,
    silence_end_time: stored.silence_end_time,
    silence_start_time: stored.silence_start_time,
    stranger_chat: stored.stranger_chat,
    user_id: userId,
    vibratory: stored.vibratory === 1,
  }
}
