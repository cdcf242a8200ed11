import type { Bus } from '../bus/bus.js'
import { cacheInvalidation } from '../bus/cache-invalidation.js'
import type { ServerConfig } from '../config/config.js'
import type { Database } from '../db/database.js'
import type { AppService } from '../domain/apps/app-service.js'
import type { DeviceService } from '../domain/devices/device-service.js'
import type { GroupSuccession } from '../domain/groups/membership/group-succession.js'
import type { LoginGuard } from '../domain/login/login-guard.js'
import type { PasswordHasher } from '../domain/login/password-hasher.js'
import { PasswordService } from '../domain/login/password-service.js'
import type { TokenService } from '../domain/login/token-service.js'
import type { ConversationService } from '../domain/messaging/reading/conversation-service.js'
import { PushPreferenceStore } from '../domain/push/push-preference-store.js'
import { AccountService } from '../domain/users/account-service.js'
import { DeletionService } from '../domain/users/deletion/deletion-service.js'
import type { TextErasureService } from '../domain/users/deletion/text-erasure-service.js'
import { UserImportService } from '../domain/users/import/user-import-service.js'
import { UserImportStore } from '../domain/users/import/user-import-store.js'
import { OperatorUserService } from '../domain/users/operator-user-service.js'
import { ProfileService } from '../domain/users/profile-service.js'
import { type ContactConnector, RegistrationService } from '../domain/users/registration-service.js'
import { SettingsService } from '../domain/users/settings/settings-service.js'
import { SettingsStore } from '../domain/users/settings/settings-store.js'
import type { UserStore } from '../domain/users/user-store.js'
import type { Clock } from '../lib/clock.js'
import type { IdGenerator } from '../lib/ids.js'
import type { EventService } from '../outbox/event-service.js'

export interface AccountServices {
  readonly accounts: AccountService
  readonly deletions: DeletionService
  readonly operatorUsers: OperatorUserService
  readonly passwords: PasswordService
  readonly profiles: ProfileService
  readonly registrations: RegistrationService
  readonly settings: SettingsService
  readonly userImports: UserImportService
}

interface Shared {
  readonly config: ServerConfig['accounts']
  readonly bus: Bus
  readonly database: Database
  readonly users: UserStore
  readonly apps: AppService
  readonly contacts: ContactConnector
  readonly devices: DeviceService
  readonly tokens: TokenService
  readonly conversations: ConversationService
  readonly events: EventService
  readonly textErasures: TextErasureService
  readonly succession: GroupSuccession
  readonly guard: LoginGuard
  readonly hasher: PasswordHasher
  readonly ids: IdGenerator
  readonly clock: Clock
}

export function createAccountServices({
  config,
  users: store,
  ...shared
}: Shared): AccountServices {
  const { database } = shared
  const names = { reservedPrefixes: config.reservedUsernamePrefixes }
  const { passwordMinLength } = config
  const accounts = new AccountService({
    ...shared,
    store,
    channel: cacheInvalidation(shared.bus, 'user-states'),
  })
  const settings = new SettingsStore(database)
  const passwords = new PasswordService({ ...shared, store, accounts, passwordMinLength })
  const deletions = new DeletionService({ ...shared, accounts, passwords })
  return {
    accounts,
    deletions,
    operatorUsers: new OperatorUserService({
      ...shared,
      users: store,
      accounts,
      deletions,
      passwords,
    }),
    passwords,
    profiles: new ProfileService({ ...shared, store, accounts, names }),
    registrations: new RegistrationService({
      ...shared,
      users: store,
      aliases: new PushPreferenceStore(),
      settings,
      names,
      passwordMinLength,
    }),
    settings: new SettingsService({ database, store: settings, accounts }),
    userImports: new UserImportService({
      ...shared,
      store: new UserImportStore(),
      users: store,
      passwordMinLength,
    }),
  }
}
