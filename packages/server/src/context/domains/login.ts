import type { ServerConfig } from '../../config/config.js'
import type { AppService } from '../../domain/apps/app-service.js'
import type { DeviceService } from '../../domain/devices/device-service.js'
import type { FileCredentialService } from '../../domain/files/credentials/file-credential-service.js'
import { FailureStore } from '../../domain/login/failure-store.js'
import { LoginGuard } from '../../domain/login/login-guard.js'
import { LoginOrigins } from '../../domain/login/login-origins.js'
import { LoginQueue } from '../../domain/login/login-queue.js'
import { LoginService } from '../../domain/login/login-service.js'
import { OperatorGuard } from '../../domain/login/operator-guard.js'
import { PasswordHasher, parallelHashes } from '../../domain/login/password-hasher.js'
import { PasswordService } from '../../domain/login/password-service.js'
import { SharedFailures } from '../../domain/login/shared-failures.js'
import { TokenService } from '../../domain/login/token-service.js'
import type { AccountService } from '../../domain/users/account-service.js'
import { minuteMs } from '../../lib/clock.js'
import type { SecretKeys } from '../../lib/secrets/secret-keys.js'
import type { Domain } from '../domain.js'
import type { Infrastructure } from '../infrastructure.js'

/** The parts of logins that accounts need. */
export interface LoginParts {
  readonly guard: LoginGuard
  /** The failed logins of all nodes; null with the embedded database, which has one node. */
  readonly failures: SharedFailures | null
  readonly hasher: PasswordHasher
  /** All queues of logins, for their metrics. */
  readonly queues: readonly LoginQueue[]
  /**
   * For the transaction that follows the password check, so that a flood waits here and not in the
   * database.
   */
  readonly storing: LoginQueue
  /**
   * For the transactions that end logins. They have a separate queue: they wait for locks, and some
   * take long.
   */
  readonly changing: LoginQueue
  readonly tokens: TokenService
}

function createFailures(
  { database, node, clock }: Infrastructure,
  { forgetMs }: ServerConfig['logins'],
  secretKeys: SecretKeys,
): SharedFailures | null {
  if (database.dialect.name === 'sqlite') return null
  const failures = new SharedFailures({
    store: new FailureStore(database, clock),
    keys: secretKeys.for('failed logins'),
    ...{ node, clock, forgetMs },
  })
  // Read with each heartbeat.
  node.figures.add('logins', { own: () => null, received: () => void failures.read() })
  return failures
}

/** More transactions would only wait for each other in the database, in no fair order. */
const parallelTransactions = 4

export function createLoginParts(
  infrastructure: Infrastructure,
  {
    config,
    devices,
    fileCredentials,
    secretKeys,
  }: {
    readonly config: Pick<ServerConfig, 'accounts' | 'logins' | 'rateLimit'>
    readonly devices: DeviceService
    readonly fileCredentials: FileCredentialService
    readonly secretKeys: SecretKeys
  },
): LoginParts {
  const { database, caches, stores, clock } = infrastructure
  const { maxWaitingPasswords, maxWaitingPasswordsOfApp } = config.logins
  const isBounded = config.rateLimit.enabled
  const bounds = {
    maxWaiting: isBounded ? maxWaitingPasswords : Number.POSITIVE_INFINITY,
    maxWaitingOfApp: isBounded ? maxWaitingPasswordsOfApp : Number.POSITIVE_INFINITY,
  }
  const hashing = new LoginQueue({ parallel: parallelHashes, ...bounds })
  const storing = new LoginQueue({ parallel: parallelTransactions, ...bounds })
  const changing = new LoginQueue({ parallel: parallelTransactions, ...bounds })
  const hashingLarge = new LoginQueue({ parallel: 1, ...bounds })
  const hasher = new PasswordHasher(hashing, hashingLarge)
  const failures = createFailures(infrastructure, config.logins, secretKeys)
  const guard = new LoginGuard({ clock, ...config.logins, sharing: failures })
  const tokens = new TokenService({
    database,
    store: stores.tokens,
    tokenCache: caches.tokens,
    users: stores.users,
    devices,
    fileCredentials,
    clock,
  })
  return {
    guard,
    failures,
    hasher,
    queues: [hashing, hashingLarge, storing, changing],
    storing,
    changing,
    tokens,
  }
}

export function createLogin(
  { database, stores, outbox, clock }: Infrastructure,
  {
    config,
    accounts,
    apps,
    devices,
    parts: { guard, failures, hasher, queues: loginQueues, storing, changing, tokens },
  }: {
    readonly config: Pick<ServerConfig, 'accounts' | 'logins'>
    readonly accounts: AccountService
    readonly apps: AppService
    readonly devices: DeviceService
    readonly parts: LoginParts
  },
) {
  const passwords = new PasswordService({
    database,
    store: stores.users,
    accounts,
    tokens,
    outbox,
    guard,
    hasher,
    changing,
    clock,
    passwordMinLength: config.accounts.passwordMinLength,
  })
  const logins = new LoginService({
    database,
    users: stores.users,
    tokens,
    hasher,
    storing,
    guard,
    origins: new LoginOrigins({ database, networks: stores.loginNetworks, devices }),
    clock,
    tokenLifeMs: config.accounts.userTokenTtlMs,
  })
  const operatorGuard = new OperatorGuard({
    guard: new LoginGuard({ clock, ...config.logins, sharing: null }),
    isOperatorToken: (token) => apps.isOperatorToken(token),
  })
  return {
    services: { loginQueues, logins, operatorGuard, passwords, tokens },
    maintenanceTasks: [
      { name: 'expired tokens', intervalMs: minuteMs, run: () => tokens.purge() },
      ...(failures === null
        ? []
        : [{ name: 'failed logins', intervalMs: minuteMs, run: () => failures.purge() }]),
    ],
  } satisfies Domain
}
