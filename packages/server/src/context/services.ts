import type { BlobStore } from '../blobs/blob-store.js'
import type { DiskSpace } from '../blobs/disk-floor.js'
import type { ServerConfig } from '../config/config.js'
import type { ServerSecrets } from '../config/secrets.js'
import { NumberLookupLimit, noNumberLookupLimit } from '../domain/users/number-lookup-limit.js'
import { SecretBox } from '../lib/secrets/secret-box.js'
import { SecretKeys } from '../lib/secrets/secret-keys.js'
import type { LongJobHandler } from '../domain/long-jobs/long-job-model.js'
import type { CoreChannel } from '../push/core-channel.js'
import type { Media } from './adapters/media.js'
import { createOutbound } from './adapters/outbound.js'
import type { PushGateways } from './adapters/push-gateways.js'
import type { Domain } from './domain.js'
import { createAlerts } from './domains/alerts.js'
import { createApps } from './domains/apps.js'
import { createBackup } from './domains/backup.js'
import { createContacts } from './domains/contacts.js'
import { createDeviceService, createDevices } from './domains/devices.js'
import { createErasure } from './domains/erasure.js'
import { createEventLog } from './domains/event-log.js'
import { createFileCredentials, createFiles } from './domains/files.js'
import { createGroups } from './domains/groups.js'
import { createIdentity, createIdentityParts } from './domains/identity.js'
import { createImports } from './domains/imports.js'
import { createIntegrity } from './domains/integrity.js'
import { createLogin, createLoginParts } from './domains/login.js'
import { createLongJobs } from './domains/long-jobs.js'
import { createMessaging } from './domains/messaging.js'
import { createNodes } from './domains/nodes.js'
import { createPush } from './domains/push.js'
import { createPresence } from './domains/realtime/presence.js'
import { createSessions } from './domains/realtime/sessions.js'
import { createRestore } from './domains/restore.js'
import { createSecrets } from './domains/secrets.js'
import { createServiceState } from './domains/service-state.js'
import { createUpgrades } from './domains/upgrades.js'
import { createAccounts, createUsers } from './domains/users.js'
import { createWebhooks } from './domains/webhooks.js'
import type { Infrastructure } from './infrastructure.js'
import { loadSecretKeys } from './secret-key.js'

interface DomainsOptions {
  readonly config: ServerConfig
  readonly secrets: ServerSecrets
  readonly providers: PushGateways
  readonly blobs: BlobStore
  readonly media: Media
  readonly core: CoreChannel
  /** Announces that an app has new events. @param position of the last one, where it is known */
  readonly appended: (appId: string, position?: number) => void
  /** Returns the space of the disk of the files. */
  readonly disk: () => DiskSpace
  /** The process is that of a command. */
  readonly isCommand: boolean
  /** Long jobs beside those of the domains. */
  readonly longJobHandlers: readonly LongJobHandler[]
}

export type Domains = ReturnType<typeof createDomains>

/** The services of each domain, by the name of the domain. */
export type Services = { readonly [Name in keyof Domains]: Domains[Name]['services'] }

/** Creates all domains, each after those that it needs. */
export function createDomains(
  infrastructure: Infrastructure,
  {
    config,
    secrets,
    providers,
    blobs,
    media,
    core,
    appended,
    disk,
    isCommand,
    longJobHandlers,
  }: DomainsOptions,
) {
  const { current, previous, file: keyFile } = loadSecretKeys(config.dataDir, secrets)
  const secretKeys = new SecretKeys(current, previous)
  const secretBox = new SecretBox(secretKeys)
  const { operatorToken } = secrets
  const outbound = createOutbound(config)
  const longJobsByKind = new Map<string, LongJobHandler>()
  const longJobs = createLongJobs(infrastructure, {
    handlerOf: (kind) => longJobsByKind.get(kind),
    isCommand,
  })
  const createdApps = createApps(infrastructure, { operatorToken, secretBox })
  const { apps, appSecrets } = createdApps.services

  // Logins, accounts and devices need parts of one another, which therefore come before their domains.
  const fileCredentials = createFileCredentials(infrastructure, { secretKeys })
  const deviceService = createDeviceService(infrastructure, config.accounts)
  const parts = createLoginParts(infrastructure, {
    config,
    devices: deviceService,
    fileCredentials,
    secretKeys,
  })
  const { tokens } = parts
  const accounts = createAccounts(infrastructure, parts)

  const login = createLogin(infrastructure, {
    config,
    accounts,
    apps,
    devices: deviceService,
    parts,
  })
  const identityParts = createIdentityParts(infrastructure, {
    accounts,
    apps,
    passwords: login.services.passwords,
    secretBox,
    outbound,
  })
  const numbers = config.rateLimit.enabled ? new NumberLookupLimit() : noNumberLookupLimit
  const contacts = createContacts(infrastructure, { config, accounts, apps, numbers })
  const groups = createGroups(infrastructure, { apps, secretKeys })
  const users = createUsers(infrastructure, {
    config,
    accounts,
    apps,
    contacts: contacts.services.contactBook,
    devices: deviceService,
    login: parts,
    passwords: login.services.passwords,
    proofs: identityParts.proofs,
    ownership: groups.services.ownershipTransfer,
    numbers,
  })
  const messaging = createMessaging(infrastructure, {
    config,
    appended,
    accounts,
    apps,
    groups: groups.services,
    messageRules: contacts.services.messageRules,
  })
  const files = createFiles(infrastructure, {
    apps,
    blobs,
    fileCredentials,
    groups: groups.services,
    media,
    recipientRules: messaging.services.recipientRules,
    secretKeys,
  })
  const { writer } = messaging.services
  const push = createPush(infrastructure, {
    config,
    accounts,
    apps,
    core,
    groups: groups.services,
    providers,
    secretBox,
    countMessages: () => writer.writes,
  })
  const { pushCertificates, certificateExpiry } = push.services
  const devices = createDevices(infrastructure, {
    devices: deviceService,
    tokens,
    certificates: pushCertificates,
  })
  const identity = createIdentity(infrastructure, {
    config,
    accounts,
    apps,
    access: devices.services.deviceAccess,
    login: parts,
    maker: users.services.userMaker,
    parts: identityParts,
  })
  const presence = createPresence(infrastructure)
  const eventLog = createEventLog(infrastructure, { apps })
  const webhooks = createWebhooks(infrastructure, { config, apps, secretBox, outbound })
  const secret = createSecrets(infrastructure, {
    columns: [
      ...appSecrets.columns,
      pushCertificates.sealedSecrets,
      webhooks.services.webhookSecrets.sealedSecrets,
      identity.services.issuers.sealedSecrets,
    ],
    secretKeys,
    secretBox,
    keyFile,
  })
  const erasure = createErasure(infrastructure, {
    ...{ config, apps, blobs },
    longJobs: longJobs.services.longJobs,
    services: {
      files: files.services,
      groups: groups.services,
      messaging: messaging.services,
      push: push.services,
      users: users.services,
      webhooks: webhooks.services,
    },
  })
  const sessions = createSessions(infrastructure, { config, devices: deviceService, tokens })
  const backup = createBackup(infrastructure, {
    ...{ config, secrets, blobs, secretKeys },
    fileHolds: files.services.fileHolds,
    longJobs: longJobs.services.longJobs,
    hasKeyFile: keyFile !== null,
  })
  const integrity = createIntegrity(infrastructure, {
    secrets: secret.services.secretService,
    expiry: certificateExpiry,
    files: files.services.fileCheck,
    ...backup.services,
  })
  const alerts = createAlerts(infrastructure, {
    ...{ config, secrets, outbound, disk },
    backup: async () => backup.services.backups.state,
    certificates: () => certificateExpiry.list(),
    disabledEndpoints: () => webhooks.services.webhooks.listFailed(),
  })
  const serviceState = createServiceState(infrastructure)
  const domains = {
    alerts,
    apps: createdApps,
    backup,
    contacts,
    devices,
    erasure,
    eventLog,
    files,
    groups,
    identity,
    imports: createImports(infrastructure, { config, apps, files: files.services }),
    integrity,
    login,
    longJobs,
    messaging,
    nodes: createNodes(infrastructure),
    presence,
    push,
    secrets: secret,
    restore: createRestore(infrastructure, {
      state: serviceState.services.serviceState,
      erasures: erasure.services.erasures,
      dataDir: config.dataDir,
    }),
    serviceState,
    sessions,
    upgrades: createUpgrades(infrastructure, { config }),
    users,
    webhooks,
  } satisfies Record<string, Domain>
  const ofDomains = Object.values<Domain>(domains).flatMap((each) => each.longJobHandlers ?? [])
  for (const handler of [...ofDomains, ...longJobHandlers])
    longJobsByKind.set(handler.kind.name, handler)
  return domains
}

export function servicesOf(domains: Domains): Services {
  return Object.fromEntries(
    Object.entries(domains).map(([name, { services }]) => [name, services]),
  ) as Services
}
