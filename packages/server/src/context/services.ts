import type { BlobStore } from '../blobs/blob-store.js'
import type { ServerConfig } from '../config/config.js'
import type { ServerSecrets } from '../config/secrets.js'
import type { AppService } from '../domain/apps/app-service.js'
import type { DeviceAccessService } from '../domain/devices/device-access-service.js'
import type { DeviceService } from '../domain/devices/device-service.js'
import type { PresenceService } from '../domain/devices/presence-service.js'
import type { FileCredentialService } from '../domain/files/credentials/file-credential-service.js'
import type { IntegrityService } from '../domain/integrity/integrity-service.js'
import type { LoginQueue } from '../domain/login/login-queue.js'
import type { OperatorGuard } from '../domain/login/operator-guard.js'
import type { PasswordService } from '../domain/login/password-service.js'
import type { TokenService } from '../domain/login/token-service.js'
import type { PushPreferenceService } from '../domain/push/preferences/push-preference-service.js'
import type { ReceiptObserver } from '../domain/push/receipts/receipt-service.js'
import type { OutcomeObserver } from '../domain/push/sending/outcome-watch.js'
import type { SecretService } from '../domain/secrets/secret-service.js'
import type { AccountService } from '../domain/users/account-service.js'
import type { JobQueue } from '../jobs/job-queue.js'
import type { BatchObserver } from '../lib/concurrency/batch-queue.js'
import { SecretBox } from '../lib/secrets/secret-box.js'
import { SecretKeys } from '../lib/secrets/secret-keys.js'
import type { CoreChannel } from '../push/core-channel.js'
import { createApps } from './domains/apps.js'
import { type Contacts, createContacts } from './domains/contacts.js'
import { createDeviceAccess, createDevices } from './domains/devices.js'
import {
  createFileCredentials,
  createFiles,
  createFileUpkeep,
  type Files,
  type FileUpkeep,
} from './domains/files.js'
import { createGroups, type Groups } from './domains/groups.js'
import { createIntegrity } from './domains/integrity.js'
import { createLogin, createPasswords } from './domains/login.js'
import { type BatchObservers, createMessaging, type Messaging } from './domains/messaging.js'
import {
  createMessageAudience,
  createPushCertificates,
  createPushMessages,
  createPushPreferences,
  createPushReports,
  createPushTasks,
  type PushCertificates,
  type PushMessages,
  type PushReports,
  type PushTasks,
} from './domains/push.js'
import { createSecrets } from './domains/secrets.js'
import { createAccounts, createUsers, type Users } from './domains/users.js'
import type { Media } from './engines/media.js'
import type { PushGateways } from './engines/push-gateways.js'
import type { Foundation } from './foundation.js'
import { loadSecretKeys } from './secret-key.js'

export interface Services
  extends Contacts,
    Files,
    FileUpkeep,
    Groups,
    Messaging,
    PushCertificates,
    PushMessages,
    PushReports,
    PushTasks,
    Users {
  readonly accounts: AccountService
  readonly apps: AppService
  readonly deviceAccess: DeviceAccessService
  readonly devices: DeviceService
  readonly fileCredentials: FileCredentialService
  readonly loginQueues: readonly LoginQueue[]
  readonly integrity: IntegrityService
  readonly operatorGuard: OperatorGuard
  readonly passwords: PasswordService
  readonly presence: PresenceService
  readonly pushPreferences: PushPreferenceService
  readonly secretService: SecretService
  readonly tokens: TokenService
}

export interface ServicesOptions {
  readonly config: ServerConfig
  readonly secrets: ServerSecrets
  readonly jobs: JobQueue
  readonly providers: PushGateways
  readonly blobs: BlobStore
  readonly media: Media
  readonly core: CoreChannel
  readonly batchObservers: BatchObservers & { readonly files: BatchObserver }
  readonly outcomeObserver: OutcomeObserver
  readonly receiptObserver: ReceiptObserver
  /** Something was committed for the consumers of the app. */
  readonly appended: (appId: string) => void
}

/** The services of all domains, in the order in which they need one another. */
export function createServices(
  foundation: Foundation,
  {
    config,
    secrets,
    jobs,
    providers,
    blobs,
    media,
    core,
    batchObservers,
    outcomeObserver,
    receiptObserver,
    appended,
  }: ServicesOptions,
): Services {
  const { current, previous, file: keyFile } = loadSecretKeys(config.dataDir, secrets)
  const secretKeys = new SecretKeys(current, previous)
  const secretBox = new SecretBox(secretKeys)
  const { apps, appSecrets } = createApps(foundation, {
    operatorToken: secrets.operatorToken,
    secretBox,
  })
  const { devices } = createDevices(foundation, {
    devicesPerUser: config.accounts.devicesPerUser,
  })
  const { fileCredentials } = createFileCredentials(foundation, { secretKeys })
  const login = createLogin(foundation, { config, apps, devices, fileCredentials })
  const { tokens, hasher, hashing, storing, changing } = login
  const { accounts } = createAccounts(foundation, { tokens, changing })
  const { passwords } = createPasswords(foundation, { config: config.accounts, accounts, login })
  const contacts = createContacts(foundation, { accounts, apps })
  const groups = createGroups(foundation, { apps, secretKeys })
  const users = createUsers(foundation, {
    config,
    accounts,
    apps,
    contacts: contacts.contactBook,
    devices,
    hasher,
    storing,
    changing,
    jobs,
    passwords,
    ownership: groups.ownershipTransfer,
    tokens,
  })
  const certificates = createPushCertificates(foundation, {
    apps,
    secretBox,
    inspector: providers,
    publicUrl: config.http.publicUrl,
  })
  const { secretService } = createSecrets(foundation, {
    columns: [...appSecrets.columns, certificates.pushCertificates.sealedSecrets],
    secretKeys,
    secretBox,
    keyFile,
  })
  const pushTasks = createPushTasks(foundation, {
    apps,
    certificates: certificates.pushCertificates,
    core,
    jobs,
    messages: createMessageAudience(foundation),
    observer: outcomeObserver,
    senders: providers.senders,
  })
  const messaging = createMessaging(foundation, {
    config,
    batchObservers,
    appended,
    accounts,
    apps,
    groups,
    messageRules: contacts.messageRules,
  })
  const fileUpkeep = createFileUpkeep(foundation, { apps, blobs, jobs })
  return {
    ...contacts,
    ...createFiles(foundation, {
      apps,
      blobs,
      groups,
      media,
      observer: batchObservers.files,
      recipientRules: messaging.recipientRules,
      secretKeys,
    }),
    ...fileUpkeep,
    ...groups,
    ...messaging,
    ...certificates,
    ...users,
    ...createDeviceAccess(foundation, { devices, tokens }),
    ...createIntegrity(foundation, {
      secrets: secretService,
      expiry: certificates.certificateExpiry,
      files: fileUpkeep.fileCheck,
    }),
    ...createPushPreferences(foundation, { accounts }),
    ...createPushMessages(foundation, {
      apps,
      certificates: certificates.pushCertificates,
      deliveryPlanner: pushTasks.deliveryPlanner,
      groupCache: groups.groupCache,
      jobs,
    }),
    ...pushTasks,
    ...createPushReports(foundation, {
      config: config.push,
      accounts,
      apps,
      certificates: certificates.pushCertificates,
      observer: receiptObserver,
    }),
    accounts,
    apps,
    devices,
    fileCredentials,
    loginQueues: [hashing, storing, changing],
    operatorGuard: login.operatorGuard,
    passwords,
    secretService,
    tokens,
  }
}
