import type { AppSettings, Scopes } from '@hermod/protocol'

/** An app; times in ms. */
export interface App {
  readonly appId: string
  readonly name: string
  /** 0 normal, 1 disabled */
  readonly status: number
  readonly openRegistration: boolean
  /** The stored, encrypted form; '' when /user/register/push needs no `sign`. */
  readonly sealedRegistrationSecret: string
  /** The stored, encrypted form. */
  readonly sealedFileLinkKey: string
  readonly settings: AppSettings
  readonly createdAt: number
}

/** The default settings of an app. */
export const defaultAppSettings: AppSettings = {
  contact_application_days: 7,
  contact_limit: 5_000,
  file_link_days: 3_650,
  file_max_bytes: 100 * 2 ** 20,
  file_quota_bytes: 0,
  group_application_days: 7,
  group_capacity_limit: 100_000,
  group_limit: 0,
  group_member_limit: 5_000,
  group_owner_limit: 5_000,
  hide_member_info: true,
  history_days: 0,
  message_forward_max_message_num: 100,
  message_forward_max_user_num: 20,
  reaction_mode: 'distinct',
  recall_enabled: true,
  recall_seconds: 300,
  registration_burst: 60,
  registration_rate: 10,
  stranger_chat_default: 1,
  stream_review: false,
  system_avatar: '',
  system_name: 'System',
  time_zone: 'UTC',
  user_limit: 0,
}

/** Reads settings from the stored JSON, which has the values that differ from the defaults. */
export function parseSettings(stored: string): AppSettings {
  return { ...defaultAppSettings, ...(JSON.parse(stored) as Partial<AppSettings>) }
}

/** The opposite of {@link parseSettings}. */
export function storedSettings(settings: AppSettings): string {
  const standard = new Map<string, unknown>(Object.entries(defaultAppSettings))
  return JSON.stringify(
    Object.fromEntries(
      Object.entries(settings).filter(([name, value]) => value !== standard.get(name)),
    ),
  )
}

/** @returns the fault of the settings beyond their types, or null */
export function settingsViolation({ time_zone: timeZone }: Partial<AppSettings>): string | null {
  if (timeZone === undefined) return null
  try {
    Intl.DateTimeFormat('en', { timeZone })
    return null
  } catch {
    return 'settings.time_zone must be the IANA name of a time zone'
  }
}

/** An Admin token without the token itself; times in ms. */
export interface StoredAdminToken {
  readonly tokenId: number
  readonly appId: string
  readonly name: string
  readonly scopes: Scopes
  readonly createdAt: number
  /** null = never */
  readonly expiresAt: number | null
  readonly revokedAt: number | null
}

/** The form of an app_id. */
export const appIdPattern = /^[a-z0-9_-]{2,32}$/
