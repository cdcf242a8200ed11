import { resolve } from 'node:path'
import { dayMs, hourMs } from '../lib/clock.js'
import type { BucketRate } from '../lib/limits/token-bucket.js'
import { readPassphraseFile } from '../lib/secrets/passphrase-file.js'
import { redactUrl } from '../lib/secrets/redact.js'
import { readSmallFileSync } from '../lib/system/regular-file.js'
import { type GivenSettings, readSettings, type Source } from './env.js'
import { type FileConfig, fileConfig, fileContradictions, fileDefaults } from './file-config.js'
import { type OptionKey, type OptionValues, optionKeys, optionOf, options } from './options.js'
import type { ReadFile } from './secret-file.js'
import { type ServerSecrets, serverSecrets } from './secrets.js'

/** The database of the service. */
export type StorageConfig =
  | { readonly kind: 'sqlite'; readonly dataDir: string }
  | {
      readonly kind: 'postgres'
      readonly redactedUrl: string
      readonly maxConnections: number
      /** The deadline of a statement. */
      readonly deadlineMs: number
    }

/** The bounds on the memory of connections, requests and answers. */
export interface HttpBounds {
  readonly connections: number
  readonly addressConnections: number
  /** The requests of one connection that run at once. */
  readonly connectionRequests: number
  /** The waiting requests of all connections. */
  readonly waitingRequests: number
  readonly unreadBytes: number
  readonly connectionUnreadBytes: number
  readonly bodyBytes: number
  readonly stallMs: number
}

/** The configuration without secrets; frozen. */
export interface ServerConfig {
  /** Absolute path. With PostgreSQL too it has the process's own files. */
  readonly dataDir: string
  readonly storage: StorageConfig
  /** `manual`: only `hermod migrate` changes the schema of the database. */
  readonly migrate: OptionValues['migrate']
  readonly http: {
    readonly host: string
    /** 0: any free port. */
    readonly port: number
    /** Without a slash at its end; null: the address listened on. */
    readonly publicUrl: string | null
    /** True: every proxy; a list: those addresses and CIDR ranges. */
    readonly trustProxy: boolean | readonly string[]
    readonly corsOrigins: '*' | readonly string[]
    /** `mirror`: failures carry their HTTP class (rule A1). */
    readonly statusMode: OptionValues['httpStatus']
    readonly shutdownTimeoutMs: number
    /** The time for balancers to notice that the node is drained. */
    readonly drainMs: number
    readonly keepAliveMs: number
    readonly bounds: HttpBounds
  }
  readonly gateway: {
    readonly connections: number
    readonly addressConnections: number
    /** Connections that have not sent session.open. */
    readonly unopened: number
    /** Open sessions of one user. */
    readonly userSessions: number
    /** The interval of heartbeats. */
    readonly pingMs: number
  }
  /** Every answer is checked against the contract; for development and tests. */
  readonly checkAnswers: boolean
  readonly log: { readonly level: OptionValues['logLevel'] }
  readonly rateLimit: {
    /**
     * False ends every limit of requests, registrations and waiting passwords; failed logins are
     * slowed down all the same.
     */
    readonly enabled: boolean
    readonly address: BucketRate
    readonly user: BucketRate
    /** The calls of one user that may run at once. */
    readonly userCalls: number
    /** In bytes of files. */
    readonly userFiles: BucketRate
    readonly bot: BucketRate
    /** The calls of one bot that may run at once. */
    readonly botCalls: number
    readonly app: BucketRate
  }
  readonly logins: {
    readonly userFailures: number
    readonly addressFailures: number
    readonly maxWaitMs: number
    readonly forgetMs: number
    /** Half of them for logins. */
    readonly maxWaitingPasswords: number
    /** The bound for calls with the Admin tokens of one app; half of it for logins. */
    readonly maxWaitingPasswordsOfApp: number
  }
  readonly accounts: {
    readonly userTokenTtlMs: number
    readonly passwordMinLength: number
    /** In lower case. */
    readonly reservedUsernamePrefixes: readonly string[]
    readonly devicesPerUser: number
  }
  readonly messages: {
    readonly maxMessageBytes: number
    readonly maxTargets: number
    readonly transactionTtlMs: number
  }
  /** Messages that are written piece by piece. */
  readonly streams: {
    readonly silentMs: number
    readonly longestMs: number
    /** Appends to one message. */
    readonly appendIntervalMs: number
    readonly appendBurst: number
    /** Open ones of one sender. */
    readonly perSender: number
    /** Open messages of one bot. */
    readonly perBot: number
  }
  readonly writer: {
    readonly batchMessages: number
    readonly queueMessages: number
    readonly queueBytes: number
  }
  readonly outbox: { readonly maxLagMs: number }
  /** Calls to addresses that users set. `proxy`: its URL; null: none. */
  readonly outbound: { readonly allow: readonly string[]; readonly proxy: string | null }
  /** `url`: the receiver of alerts; null: none. */
  readonly alerts: { readonly url: string | null }
  /** The retention of deliveries and of tasks. */
  readonly push: { readonly traceMs: number; readonly taskMs: number }
  readonly files: FileConfig
  readonly backup: {
    /** Absolute path; null: no backups by schedule. */
    readonly folder: string | null
    readonly everyMs: number
    /** Days and weeks of which the newest backup is kept. */
    readonly daily: number
    readonly weekly: number
    /** The most bytes by which the log may grow during a copy; null: a quarter of the free disk. */
    readonly logBytes: number | null
  }
  /** The settings that all nodes must have alike, by name, as people read them; without secrets. */
  readonly sameOnNodes: Readonly<Record<string, string>>
  readonly bootstrap: {
    /** Null: the service chooses it on the first start. */
    readonly appId: string | null
    /** Null: all for a new Admin token, and a known one keeps its own. */
    readonly adminTokenScopes: readonly string[] | null
    /** `print`: a first start without an Admin token makes tokens and prints them. */
    readonly tokens: OptionValues['bootstrapTokens']
  }
}

/** An effective setting, for `hermod config` and the log of the start. */
export interface EffectiveSetting {
  readonly name: string
  /** The value for people; secrets are "set" or "not set". */
  readonly value: string
  readonly source: Source
}

/** The configuration of a start, with the source of each setting. */
export interface LoadedConfig {
  readonly config: ServerConfig
  readonly secrets: ServerSecrets
  readonly sources: Readonly<Record<OptionKey, Source>>
  /** Every option in the order of the reference, without secrets. */
  readonly settings: readonly EffectiveSetting[]
}

/** The configuration was refused; all errors together. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'

  constructor(readonly violations: readonly string[]) {
    super(
      ['the configuration is refused:', ...violations.map((violation) => `  - ${violation}`)].join(
        '\n',
      ),
    )
  }
}

/**
 * Reads the settings: the environment over the file of HERMOD_CONFIG over the defaults. Relative
 * paths start at the working folder.
 *
 * @throws ConfigError naming every unknown name, bad value and contradiction
 */
export function loadConfig(
  env: NodeJS.ProcessEnv,
  readFile: ReadFile = readTextFile,
): LoadedConfig {
  const given = readSettings(env, readFile)
  const values = withDefaults(given)
  const passphrase = backupPassphrase(values)
  const violations = [
    ...given.violations,
    ...contradictions(values),
    ...fileContradictions(values),
    ...passphrase.violations,
  ]
  if (violations.length > 0) throw new ConfigError(violations)
  const source = (key: OptionKey) => given.values.get(key)?.source ?? 'default'
  const config = serverConfig(values, env.PATH)
  const unset = fileDefaults(config.files)
  return {
    config: deepFreeze(config),
    secrets: serverSecrets(values, passphrase.text),
    sources: Object.freeze(
      Object.fromEntries(optionKeys.map((key) => [key, source(key)])) as Record<OptionKey, Source>,
    ),
    settings: optionKeys.map((key) => ({
      name: options[key].name,
      value: (values[key] === null && unset[key]) || optionOf(key).encode(values[key]),
      source: source(key),
    })),
  }
}

function readTextFile(path: string): string {
  return readSmallFileSync(path, (problem) => new Error(`it ${problem}`)).toString()
}

function withDefaults({ values }: GivenSettings): OptionValues {
  const entries = optionKeys.map((key) => [
    key,
    values.has(key) ? values.get(key)?.value : options[key].default,
  ])
  return Object.fromEntries(entries) as OptionValues
}

function contradictions(values: OptionValues): string[] {
  const violations: string[] = []
  if (values.bootstrapAdminTokenScopes !== null && values.bootstrapAdminToken === null) {
    const { bootstrapAdminToken: token, bootstrapAdminTokenScopes: scopes } = options
    violations.push(
      `${scopes.name} needs ${token.name}; for example ${token.name}=${token.example}`,
    )
  }
  if (values.queueMessages < values.batchMessages) {
    const { batchMessages: batch, queueMessages: queue } = options
    violations.push(
      `${queue.name} (${values.queueMessages}) must not be below ${batch.name} (${values.batchMessages}); for example ${queue.name}=${values.batchMessages}`,
    )
  }
  if (values.pushTaskDays < values.pushTraceDays) {
    const { pushTraceDays: trace, pushTaskDays: task } = options
    violations.push(
      `${task.name} (${values.pushTaskDays}) must not be below ${trace.name} (${values.pushTraceDays}); for example ${task.name}=${values.pushTraceDays}`,
    )
  }
  const { alertUrl, alertSecret } = options
  if (values.alertUrl !== null && values.alertSecret === null)
    violations.push(
      `${alertUrl.name} needs ${alertSecret.name}; for example ${alertSecret.name}=${alertSecret.example}`,
    )
  if (values.alertUrl === null && values.alertSecret !== null)
    violations.push(
      `${alertSecret.name} needs ${alertUrl.name}; for example ${alertUrl.name}=${alertUrl.example}`,
    )
  const { secretKey: key, secretKeyOld: old } = options
  if (values.secretKeyOld !== null && values.secretKey === null)
    violations.push(
      `${old.name} is set without ${key.name}; set ${key.name} to the new key, for example ${key.name}=${key.example}`,
    )
  if (values.secretKeyOld !== null && values.secretKeyOld === values.secretKey)
    violations.push(
      `${old.name} and ${key.name} are the same key; set ${key.name} to the new key, or remove ${old.name}`,
    )
  return violations
}

/** Reads the passphrase of backups. */
function backupPassphrase({ backupPassphraseFile, databaseUrl }: OptionValues): {
  readonly text: string | null
  readonly violations: readonly string[]
} {
  const { name } = options.backupPassphraseFile
  if (backupPassphraseFile === null) return { text: null, violations: [] }
  if (databaseUrl !== null) {
    const problem = `${name} encrypts backups of the embedded database, and ${options.databaseUrl.name} is set; remove one of them`
    return { text: null, violations: [problem] }
  }
  try {
    return { text: readPassphraseFile(resolve(backupPassphraseFile)), violations: [] }
  } catch (error) {
    const problem = `${name}: ${backupPassphraseFile} ${(error as Error).message}`
    return { text: null, violations: [problem] }
  }
}

function serverConfig(values: OptionValues, path: string | undefined): ServerConfig {
  const dataDir = resolve(values.dataDir)
  return {
    dataDir,
    storage: storageConfig(values, dataDir),
    migrate: values.migrate,
    http: {
      host: values.host,
      port: values.port,
      publicUrl: values.publicUrl,
      trustProxy: values.trustProxy,
      corsOrigins: values.corsOrigins,
      statusMode: values.httpStatus,
      shutdownTimeoutMs: values.shutdownSeconds * 1000,
      drainMs: values.drainSeconds * 1000,
      keepAliveMs: values.keepAliveSeconds * 1000,
      bounds: {
        connections: values.connections,
        addressConnections: values.addressConnections,
        connectionRequests: values.connectionRequests,
        waitingRequests: values.waitingRequests,
        unreadBytes: values.unreadBytes,
        connectionUnreadBytes: values.connectionUnreadBytes,
        bodyBytes: values.bodyBytes,
        stallMs: values.stallSeconds * 1000,
      },
    },
    gateway: {
      connections: values.gatewayConnections,
      addressConnections: values.gatewayAddressConnections,
      unopened: values.gatewayUnopened,
      userSessions: values.gatewayUserSessions,
      pingMs: values.gatewayPingSeconds * 1000,
    },
    checkAnswers: values.checkAnswers,
    log: { level: values.logLevel },
    rateLimit: {
      enabled: values.rateLimit,
      address: { perSecond: values.addressRate, burst: values.addressBurst },
      user: { perSecond: values.userRate, burst: values.userBurst },
      userCalls: values.userCalls,
      userFiles: { perSecond: values.userFileRate, burst: values.userFileBurst },
      bot: { perSecond: values.botRate, burst: values.botBurst },
      botCalls: values.botCalls,
      app: { perSecond: values.appRate, burst: values.appBurst },
    },
    logins: {
      userFailures: values.loginUserFailures,
      addressFailures: values.loginAddressFailures,
      maxWaitMs: values.loginMaxWaitSeconds * 1000,
      forgetMs: values.loginForgetMinutes * 60_000,
      maxWaitingPasswords: values.queuePasswords,
      maxWaitingPasswordsOfApp: values.queueAdminPasswords,
    },
    accounts: {
      userTokenTtlMs: values.userTokenDays * dayMs,
      passwordMinLength: values.passwordMinLength,
      reservedUsernamePrefixes: values.reservedUsernamePrefixes,
      devicesPerUser: values.devicesPerUser,
    },
    messages: {
      maxMessageBytes: values.maxMessageBytes,
      maxTargets: values.maxTargets,
      transactionTtlMs: values.transactionHours * 3_600_000,
    },
    streams: {
      silentMs: values.streamSilentSeconds * 1_000,
      longestMs: values.streamMinutes * 60_000,
      appendIntervalMs: 1_000 / values.streamAppendsPerSecond,
      appendBurst: values.streamAppendBurst,
      perSender: values.streamsPerSender,
      perBot: values.streamsPerBot,
    },
    writer: {
      batchMessages: values.batchMessages,
      queueMessages: values.queueMessages,
      queueBytes: values.queueBytes,
    },
    outbox: { maxLagMs: values.outboxMaxLagDays * dayMs },
    outbound: { allow: values.outboundAllow, proxy: values.outboundProxy },
    alerts: { url: values.alertUrl },
    push: {
      traceMs: values.pushTraceDays * dayMs,
      taskMs: values.pushTaskDays * dayMs,
    },
    files: fileConfig(values, dataDir, path),
    backup: {
      folder: values.backupDir === null ? null : resolve(values.backupDir),
      everyMs: values.backupHours * hourMs,
      daily: values.backupDaily,
      weekly: values.backupWeekly,
      logBytes: values.backupLogMb === null ? null : values.backupLogMb * 2 ** 20,
    },
    sameOnNodes: sameOnNodes(values),
    bootstrap: {
      appId: values.bootstrapAppId,
      adminTokenScopes: values.bootstrapAdminTokenScopes,
      tokens: values.bootstrapTokens,
    },
  }
}

function sameOnNodes(values: OptionValues): Record<string, string> {
  const keys = optionKeys.filter((key) => optionOf(key).sameOnNodes && !optionOf(key).secret)
  return Object.fromEntries(
    keys.map((key) => [options[key].name, optionOf(key).encode(values[key])]),
  )
}

function storageConfig(
  { databaseUrl, databasePool, databaseTimeoutSeconds }: OptionValues,
  dataDir: string,
): StorageConfig {
  if (databaseUrl === null) return { kind: 'sqlite', dataDir }
  return {
    kind: 'postgres',
    redactedUrl: redactUrl(databaseUrl),
    maxConnections: databasePool,
    deadlineMs: databaseTimeoutSeconds * 1000,
  }
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    for (const member of Object.values(value)) deepFreeze(member)
    Object.freeze(value)
  }
  return value
}
