import { orderReactionRemoval } from '../../domain/messaging/reactions/reaction-removal.js'
import type { ServerConfig } from '../../config/config.js'
import type { AppService } from '../../domain/apps/app-service.js'
import type { DeviceService } from '../../domain/devices/device-service.js'
import type { OwnershipTransfer } from '../../domain/groups/membership/ownership-transfer.js'
import type { LoginQueue } from '../../domain/login/login-queue.js'
import type { UserProofs } from '../../domain/identity/proofs/user-proofs.js'
import type { PasswordService } from '../../domain/login/password-service.js'
import type { TokenService } from '../../domain/login/token-service.js'
import { AccountService } from '../../domain/users/account-service.js'
import { DeletionService } from '../../domain/users/deletion/deletion-service.js'
import {
  ContactRemovalService,
  contactRemovalHandler,
} from '../../domain/users/deletion/contact-removal-service.js'
import { textErasureHandler } from '../../domain/users/deletion/text-erasure-job.js'
import { TextErasureService } from '../../domain/users/deletion/text-erasure-service.js'
import { UserImportService } from '../../domain/users/import/user-import-service.js'
import { UserImportStore } from '../../domain/users/import/user-import-store.js'
import { LookUpService } from '../../domain/users/look-up-service.js'
import type { NumberLookupLimit } from '../../domain/users/number-lookup-limit.js'
import { OperatorUserService } from '../../domain/users/operator-user-service.js'
import { ProfileService } from '../../domain/users/profile-service.js'
import {
  noRegistrationLimit,
  RegistrationLimit,
} from '../../domain/users/registration/registration-limit.js'
import {
  type ContactConnector,
  RegistrationService,
} from '../../domain/users/registration/registration-service.js'
import { UserMaker } from '../../domain/users/registration/user-maker.js'
import { SettingsService } from '../../domain/users/settings/settings-service.js'
import type { Domain } from '../domain.js'
import type { Infrastructure } from '../infrastructure.js'
import { personalStores } from '../personal-stores.js'
import type { LoginParts } from './login.js'

/** Logins and most other domains need it. */
export function createAccounts(
  { database, caches, stores, outbox, clock }: Infrastructure,
  { tokens, changing }: { readonly tokens: TokenService; readonly changing: LoginQueue },
): AccountService {
  return new AccountService({
    database,
    store: stores.users,
    stateCache: caches.userStates,
    tokens,
    changing,
    outbox,
    clock,
  })
}

interface UsersOptions {
  readonly config: Pick<ServerConfig, 'accounts' | 'rateLimit'>
  readonly accounts: AccountService
  readonly apps: AppService
  readonly contacts: ContactConnector
  readonly devices: DeviceService
  readonly login: Pick<LoginParts, 'hasher' | 'storing' | 'changing' | 'tokens'>
  readonly passwords: PasswordService
  readonly proofs: UserProofs
  readonly ownership: OwnershipTransfer
  readonly numbers: Pick<NumberLookupLimit, 'take'>
}

export function createUsers(
  { database, stores, outbox, jobs, ids, clock }: Infrastructure,
  {
    config: {
      accounts: { passwordMinLength, reservedUsernamePrefixes: reservedPrefixes },
      rateLimit,
    },
    accounts,
    apps,
    contacts,
    devices,
    login: { hasher, storing, changing, tokens },
    passwords,
    proofs,
    ownership,
    numbers,
  }: UsersOptions,
) {
  const names = { reservedPrefixes }
  const textErasures = new TextErasureService({ outbox, copies: stores.waitingEvents, jobs })
  const contactRemovals = new ContactRemovalService({
    database,
    contacts: stores.contacts,
    outbox,
    jobs,
  })
  const deletions = new DeletionService({
    database,
    accounts,
    conversations: stores.conversations,
    personal: personalStores(stores),
    users: stores.users,
    counts: stores.userCounts,
    proofs,
    tokens,
    changing,
    ownership,
    outbox,
    textErasures,
    contactRemovals,
    reactions: { orderRemoval: (tx, user) => orderReactionRemoval(jobs, tx, user) },
    clock,
  })
  const services = {
    accounts,
    deletions,
    textErasures,
    lookUps: new LookUpService({
      database,
      users: stores.users,
      identities: stores.identities,
    }),
    operatorUsers: new OperatorUserService({
      database,
      users: stores.users,
      accounts,
      apps,
      deletions,
      passwords,
    }),
    profiles: new ProfileService({
      database,
      store: stores.users,
      accounts,
      outbox,
      names,
      numbers,
    }),
    registrations: new RegistrationService({
      database,
      users: stores.users,
      counts: stores.userCounts,
      aliases: stores.pushPreferences,
      pushTokens: stores.pushPreferences,
      settings: stores.settings,
      apps,
      contacts,
      devices,
      hasher,
      storing,
      limit: rateLimit.enabled ? new RegistrationLimit() : noRegistrationLimit,
      ids,
      clock,
      names,
      passwordMinLength,
    }),
    settings: new SettingsService({
      database,
      store: stores.settings,
      accounts,
      pushTokens: stores.pushPreferences,
      outbox,
    }),
    userMaker: new UserMaker({
      users: stores.users,
      counts: stores.userCounts,
      apps,
      outbox,
      clock,
      names,
    }),
    userImports: new UserImportService({
      database,
      store: new UserImportStore(),
      users: stores.users,
      identities: stores.identities,
      counts: stores.userCounts,
      apps,
      outbox,
      hasher,
      ids,
      clock,
      passwordMinLength,
    }),
  }
  const jobHandlers = [textErasureHandler(textErasures), contactRemovalHandler(contactRemovals)]
  return { services, jobHandlers } satisfies Domain
}
