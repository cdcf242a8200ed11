import type { ServerConfig } from '../../config/config.js'
import type { AppService } from '../../domain/apps/app-service.js'
import type { DeviceAccessService } from '../../domain/devices/device-access-service.js'
import { AssertionService } from '../../domain/identity/assertions/assertion-service.js'
import { AssertionTestService } from '../../domain/identity/exchange/assertion-test-service.js'
import { ExchangeService } from '../../domain/identity/exchange/exchange-service.js'
import { IdentityService } from '../../domain/identity/identities/identity-service.js'
import { IssueService } from '../../domain/identity/issue-service.js'
import { IssuerAdminService } from '../../domain/identity/issuers/issuer-admin-service.js'
import { IssuerService } from '../../domain/identity/issuers/issuer-service.js'
import { IssuerStore } from '../../domain/identity/issuers/issuer-store.js'
import { FetchedKeySets } from '../../domain/identity/issuers/keys/fetched-key-sets.js'
import { UserProofs } from '../../domain/identity/proofs/user-proofs.js'
import { SubjectTokens } from '../../domain/identity/subject-tokens.js'
import type { PasswordService } from '../../domain/login/password-service.js'
import type { AccountService } from '../../domain/users/account-service.js'
import type { UserMaker } from '../../domain/users/registration/user-maker.js'
import { RateLimiter } from '../../lib/limits/rate-limiter.js'
import type { SecretBox } from '../../lib/secrets/secret-box.js'
import { assertionObserver, fetchFailed } from '../adapters/identity.js'
import type { Outbound } from '../adapters/outbound.js'
import type { Domain } from '../domain.js'
import type { Infrastructure } from '../infrastructure.js'
import type { LoginParts } from './login.js'

interface IdentityOptions {
  readonly config: Pick<ServerConfig, 'accounts' | 'rateLimit'>
  readonly accounts: AccountService
  readonly apps: AppService
  readonly access: DeviceAccessService
  readonly login: Pick<LoginParts, 'storing' | 'tokens'>
  readonly maker: UserMaker
  readonly parts: IdentityParts
}

/** The parts of identities that the deletion of users needs. */
export type IdentityParts = ReturnType<typeof createIdentityParts>

/** New users of one issuer. */
const newUserRate = { perSecond: 50, burst: 50 }

export function createIdentity(infrastructure: Infrastructure, options: IdentityOptions) {
  const { database, stores, outbox, ids, clock } = infrastructure
  const { config, accounts, apps, access, login, maker } = options
  const { assertions, issuers, issuerAdmin, proofs } = options.parts
  const { identities, users } = stores
  const tokenLifeMs = config.accounts.userTokenTtlMs
  const subjectTokens = new SubjectTokens({
    database,
    identities,
    users,
    maker,
    ...login,
    apps,
    outbox,
    ids,
    clock,
  })
  const exchanges = new ExchangeService({
    assertions,
    subjectTokens,
    newUsers: config.rateLimit.enabled
      ? new RateLimiter(newUserRate)
      : { take: () => 0, giveBack: () => {} },
    clock,
    tokenLifeMs,
  })
  const services = {
    assertionTests: new AssertionTestService({
      database,
      apps,
      assertions,
      exchanges,
      identities,
      accounts,
      clock,
    }),
    exchanges,
    identities: new IdentityService({
      database,
      store: identities,
      accounts,
      proofs,
      outbox,
      clock,
    }),
    issuers,
    issuerAdmin,
    issues: new IssueService({
      database,
      subjectTokens,
      identities,
      users,
      accounts,
      maker,
      access,
      clock,
      tokenLifeMs,
    }),
  }
  return { services } satisfies Domain
}

export function createIdentityParts(
  { database, caches, stores, clock, log, metrics }: Infrastructure,
  {
    accounts,
    apps,
    passwords,
    secretBox,
    outbound: { client, urlFault },
  }: {
    readonly accounts: AccountService
    readonly apps: AppService
    readonly passwords: PasswordService
    readonly secretBox: SecretBox
    readonly outbound: Outbound
  },
) {
  const { identities, users } = stores
  const store = new IssuerStore(caches.identityIssuers)
  const issuers = new IssuerService({
    database,
    store,
    cache: caches.identityIssuers,
    secretBox,
    fetched: new FetchedKeySets({ client, clock, failed: fetchFailed(log) }),
  })
  const issuerAdmin = new IssuerAdminService({
    database,
    store,
    issuers,
    identities,
    apps,
    clock,
    urlFault,
  })
  const observer = assertionObserver(log, metrics)
  const assertions = new AssertionService({ issuers, clock, observer })
  const proofs = new UserProofs({ database, accounts, passwords, assertions, identities, users })
  return { assertions, issuers, issuerAdmin, proofs }
}
