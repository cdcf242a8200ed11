import { type Int64, userStatus } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import type { AppService } from '../../apps/app-service.js'
import type { AccountService } from '../../users/account-service.js'
import type { AcceptedAssertion, AssertionService } from '../assertions/assertion-service.js'
import { type Refusal, refusalTexts } from '../assertions/refusals.js'
import { refusedValues } from '../assertions/refused-values.js'
import type { IdentityStore } from '../identities/identity-store.js'
import { claimedProfile, claimedUser } from './claimed-user.js'
import type { ExchangeService } from './exchange-service.js'

interface AssertionTestServiceOptions {
  readonly database: Database
  readonly apps: Pick<AppService, 'get'>
  readonly assertions: Pick<AssertionService, 'check'>
  readonly exchanges: Pick<ExchangeService, 'expiryOf'>
  readonly identities: Pick<IdentityStore, 'findUser'>
  readonly accounts: Pick<AccountService, 'get'>
  readonly clock: Clock
}

/** The effects of an exchange that is not done; '' and 0 are none. */
export interface AssertionTest {
  readonly isOk: boolean
  readonly reason: string
  readonly text: string
  readonly issuer: string
  readonly subject: string
  readonly userId: Int64
  readonly created: boolean
  readonly username: string
  readonly email: string
  readonly nickName: string
  readonly avatar: string
  readonly expiresAt: number
}

const nothing: AssertionTest = {
  isOk: false,
  reason: '',
  text: '',
  issuer: '',
  subject: '',
  userId: 0,
  created: false,
  username: '',
  email: '',
  nickName: '',
  avatar: '',
  expiresAt: 0,
}

/** Explains to operators what an exchange would do. It stores nothing. */
export class AssertionTestService {
  constructor(private readonly options: AssertionTestServiceOptions) {}

  /** @throws AppError app_not_found */
  async test(appId: string, text: string): Promise<AssertionTest> {
    const { apps, assertions, clock } = this.options
    await apps.get(appId)
    const result = await assertions.check(appId, text)
    if (result.refusal === null) return this.#accepted(result)
    const { issuer, refusal } = result
    const cause =
      refusal === 'no_keys'
        ? issuer?.keyProblem()
        : refusedValues(text, refusal, issuer, clock.now())
    const { reason, text: rule } = refused(refusal)
    const words = cause ? `${rule}: ${cause}` : rule
    return { ...nothing, reason, text: words, issuer: issuer?.issuer ?? '' }
  }

  async #accepted(accepted: AcceptedAssertion): Promise<AssertionTest> {
    const { database, accounts, exchanges, identities } = this.options
    const { issuer, claims } = accepted
    const { appId, settings } = issuer
    const subject = { appId, issuer: issuer.issuer, subject: claims.subject }
    const userId = await database.read((db) => identities.findUser(db, subject))
    const user = userId === null ? null : await accounts.get(appId, userId)
    const proved = {
      ...nothing,
      issuer: issuer.issuer,
      subject: claims.subject,
      userId: user?.userId ?? 0,
    }
    const expiresAt = exchanges.expiryOf(accepted)
    if (expiresAt === null) return { ...proved, ...refused('expired') }
    if (user !== null && claims.issuedAt <= user.assertionsAfter)
      return { ...proved, ...refused('revoked') }
    if (user !== null && user.status !== userStatus.normal)
      return { ...proved, reason: 'user_disabled', text: 'the user is disabled' }
    if (user === null && settings.create === 'never')
      return {
        ...proved,
        reason: 'no_user',
        text: 'the subject has no user, and the issuer makes none',
      }
    const { nickName = '', avatar = '' } = claimedProfile(claims.payload, settings)
    const { username = '', email = '' } = user === null ? claimedUser(claims.payload, settings) : {}
    return {
      ...proved,
      ...{ isOk: true, created: user === null, username, email, nickName, avatar, expiresAt },
      text: user === null ? 'a user would be made and get a token' : 'the user would get a token',
    }
  }
}

function refused(refusal: Refusal): Pick<AssertionTest, 'reason' | 'text'> {
  return { reason: refusal, text: refusalTexts[refusal] }
}
