import type { Bus } from '../bus/bus.js'
import { factChannel } from '../bus/fact-channel.js'
import type { ServerConfig } from '../config/config.js'
import type { Database } from '../db/database.js'
import { AccountService } from '../domain/accounts/account-service.js'
import { DeletionService } from '../domain/accounts/deletion-service.js'
import type { LoginGuard } from '../domain/accounts/login-guard.js'
import { OperatorUserService } from '../domain/accounts/operator-user-service.js'
import type { PasswordHasher } from '../domain/accounts/password-hasher.js'
import { PasswordService } from '../domain/accounts/password-service.js'
import { ProfileService } from '../domain/accounts/profile-service.js'
import {
  type ContactConnector,
  RegistrationService,
} from '../domain/accounts/registration-service.js'
import { SettingsService } from '../domain/accounts/settings-service.js'
import { SettingsStore } from '../domain/accounts/settings-store.js'
import type { TokenService } from '../domain/accounts/token-service.js'
import { UserImportService } from '../domain/accounts/user-import-service.js'
import { UserImportStore } from '../domain/accounts/user-import-store.js'
import type { UserStore } from '../domain/accounts/user-store.js'
import type { ApplicationService } from '../domain/applications/application-service.js'
import type { DeviceService } from '../domain/devices/device-service.js'
import type { EventService } from '../domain/events/event-service.js'
import type { TextErasureService } from '../domain/events/text-erasure-service.js'
import type { GroupSuccession } from '../domain/groups/group-succession.js'
import { PushPreferenceStore } from '../domain/push-preferences/push-preference-store.js'
import type { Clock } from '../lib/clock.js'
import type { IdGenerator } from '../lib/ids.js'

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
  readonly applications: ApplicationService
  readonly contacts: ContactConnector
  readonly devices: DeviceService
  readonly tokens: TokenService
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
    channel: factChannel(shared.bus, 'user-states'),
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
