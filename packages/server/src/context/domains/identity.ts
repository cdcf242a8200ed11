import type { ServerConfig } from '../../config/config.js'
import type { AppService } from '../../domain/apps/app-service.js'
import type { DeviceAccessService } from '../../domain/devices/device-access-service.js'
import { IdentityService } from '../../domain/identity/identities/identity-service.js'
import { IssueService } from '../../domain/identity/issue-service.js'
import { SubjectTokens } from '../../domain/identity/subject-tokens.js'
import type { PasswordService } from '../../domain/login/password-service.js'
import type { AccountService } from '../../domain/users/account-service.js'
import type { UserMaker } from '../../domain/users/registration/user-maker.js'
import type { Domain } from '../domain.js'
import type { Infrastructure } from '../infrastructure.js'
import type { LoginParts } from './login.js'

interface IdentityOptions {
  readonly config: Pick<ServerConfig, 'accounts'>
  readonly accounts: AccountService
  readonly apps: AppService
  readonly access: DeviceAccessService
  readonly login: Pick<LoginParts, 'storing' | 'tokens'>
  readonly maker: UserMaker
  readonly passwords: PasswordService
}

export function createIdentity(
  { database, stores, outbox, ids, clock }: Infrastructure,
  { config, accounts, apps, access, login: { storing, tokens }, maker, passwords }: IdentityOptions,
) {
  const { identities, users } = stores
  const subjectTokens = new SubjectTokens({
    database,
    identities,
    users,
    maker,
    tokens,
    storing,
    apps,
    outbox,
    ids,
    clock,
  })
  const services = {
    identities: new IdentityService({
      database,
      store: identities,
      accounts,
      passwords,
      outbox,
      clock,
    }),
    issues: new IssueService({
      database,
      subjectTokens,
      identities,
      users,
      accounts,
      maker,
      access,
      clock,
      tokenLifeMs: config.accounts.userTokenTtlMs,
    }),
    subjectTokens,
  }
  return { services } satisfies Domain
}
