import {
  AppError,
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
import type { AccountService } from '../../domain/accounts/account-service.js'
import type { SettingsService } from '../../domain/accounts/settings-service.js'
import type { UserSettings as StoredSettings } from '../../domain/accounts/user-model.js'
import { definedOnly } from '../../lib/defined-only.js'
import { type CallContext, data, type Handler, handle } from '../../pipeline/call.js'
import { actingUser } from '../acting-user.js'

type SettingChanges = { readonly [K in keyof StoredSettings]?: string | number | boolean | undefined }
type Writer = readonly [Operation<{ value: string | number | boolean }, boolean>, keyof StoredSettings]

/** The operations that write one setting, and which. */
const writers: readonly Writer[] = [
  [setAuthMode, 'auth_mode'],
  [setAutoDownload, 'auto_download'],
  [setPushOff, 'no_push'],
  [setPushDetailOff, 'no_push_detail'],
  [setPushNickname, 'push_nick_name'],
  [setSoundsOff, 'no_sounds'],
  [setStrangerChat, 'stranger_chat'],
  [setVibration, 'vibratory'],
]

interface SettingsServices {
  readonly accounts: AccountService
  readonly settings: SettingsService
}

export function settingsHandlers({ accounts, settings }: SettingsServices): Handler[] {
  const write = async ({ caller }: CallContext, changes: SettingChanges, field?: string) => {
    const { appId, userId } = await actingUser(accounts, caller)
    await settings.update(appId, userId, toStored(changes), field)
    return data(true)
  }
  return [
    handle(getSettings, async (_, { caller }) => {
      const { appId, userId } = await actingUser(accounts, caller)
      return data(toSettings(userId, await settings.get(appId, userId)))
    }),
    handle(updateSettings, async ({ user_id, id: _, ...changes }, context) => {
      const { caller } = context
      if (caller.kind === 'anonymous' || user_id !== caller.userId) throw new AppError('no_permission', 'user_id is that of another user')
      return write(context, changes)
    }),
    handle(setPushQuietHours, (changes, context) => write(context, changes)),
    ...writers.map(([operation, name]) => handle(operation, ({ value }, context) => write(context, { [name]: value }, 'value'))),
  ]
}

/** Flags are 0 or 1 in the store. */
function toStored(changes: SettingChanges): Partial<StoredSettings> {
  const stored = Object.entries(definedOnly(changes)).map(([name, value]) => [name, typeof value === 'boolean' ? Number(value) : value])
  return Object.fromEntries(stored)
}

/** The User settings resource. */
export function toSettings(userId: UserSettings['user_id'], stored: StoredSettings): UserSettings {
  const { auto_download, group_confirm, no_push, no_push_detail, no_sounds, vibratory, ...rest } = stored
  return {
    ...rest,
    auto_download: auto_download === 1,
    group_confirm: group_confirm === 1,
    no_push: no_push === 1,
    no_push_detail: no_push_detail === 1,
    no_sounds: no_sounds === 1,
    vibratory: vibratory === 1,
    id: userId,
    user_id: userId,
  }
}
