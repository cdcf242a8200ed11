import { AppError, type Int64 } from '@hermod/protocol'
import type { Database } from '../../db/database.js'
import { type Clock, dayMs } from '../../lib/clock.js'
import type { DeviceAccessService } from '../devices/device-access-service.js'
import type { NewToken } from '../login/token-service.js'
import type { AccountService } from '../users/account-service.js'
import type { UserMaker, UserToMake } from '../users/registration/user-maker.js'
import { systemUserId } from '../users/system-user.js'
import type { UserCredentials } from '../users/user-credentials.js'
import type { User } from '../users/user-model.js'
import type { IdentityStore } from './identities/identity-store.js'
import type { GivenToken, SubjectTokens, TokenRequest } from './subject-tokens.js'

interface IssueServiceOptions {
  readonly database: Database
  readonly subjectTokens: SubjectTokens
  readonly identities: IdentityStore
  readonly users: Pick<UserCredentials, 'findBy'>
  readonly accounts: AccountService
  readonly maker: Pick<UserMaker, 'violationsOf'>
  readonly access: Pick<DeviceAccessService, 'kickAll' | 'revoke'>
  readonly clock: Clock
  readonly tokenLifeMs: number
}

/** A user by one of three names. */
export type IssueTarget =
  | { readonly userId: Int64 }
  | { readonly username: string }
  | { readonly issuer: string; readonly subject: string }

/** A token that a backend asks for. */
export interface Issue {
  readonly appId: string
  readonly target: IssueTarget
  readonly device?: NewToken['device']
  /** Absent: the default. */
  readonly lifeSeconds?: number | undefined
  /** The user to make when the subject has none; null: there must be one. */
  readonly create: UserToMake | null
}

const defaultLifeMs = dayMs
/** The longest life of a token of a program of the app. */
const botLifeMs = 365 * dayMs

/** Gives tokens to the users of an app at the request of its backend, and ends them (rule C9). */
export class IssueService {
  constructor(private readonly options: IssueServiceOptions) {}

  /**
   * @throws AppError invalid_parameter, user_not_found, user_deleted, user_disabled,
   * username_taken, user_limit_reached, unavailable
   */
  async issue({ appId, target, device, lifeSeconds, create }: Issue): Promise<GivenToken> {
    const { subjectTokens, maker } = this.options
    const violations = create === null ? [] : maker.violationsOf(create)
    if (violations.length > 0)
      throw new AppError('invalid_parameter', violations.map((each) => `create.${each}`).join('; '))
    const request: TokenRequest = {
      endOf: (user) => this.#endOf(user, lifeSeconds),
      device,
      address: null,
    }
    if ('issuer' in target)
      return subjectTokens.give({ ...request, ...target, appId, create: create && (() => create) })
    const userId = await this.#find(appId, target)
    return { token: await subjectTokens.giveToUser({ appId, userId }, request), created: false }
  }

  /**
   * Logs out all devices of a user, or one, and ends the assertions by which they would come back.
   * @throws AppError user_not_found, user_deleted, device_not_found
   */
  async revoke(appId: string, target: IssueTarget, deviceSn: number | undefined): Promise<void> {
    const { accounts, access } = this.options
    const userId = await this.#find(appId, target)
    await accounts.get(appId, userId)
    if (deviceSn === undefined) await access.kickAll(systemUserId, { appId, userId })
    else await access.revoke(systemUserId, { appId, userId, deviceSn })
  }

  /** @throws AppError user_not_found for a name or a subject without a user */
  async #find(appId: string, target: IssueTarget): Promise<Int64> {
    const { database, identities, users } = this.options
    if ('userId' in target) return target.userId
    const userId = await database.read(async (db) =>
      'issuer' in target
        ? identities.findUser(db, { appId, ...target })
        : (await users.findBy(db, appId, 'username', target.username))?.userId,
    )
    if (userId === undefined || userId === null) throw new AppError('user_not_found')
    return userId
  }

  /** @throws AppError invalid_parameter */
  #endOf({ isBot }: Pick<User, 'isBot'>, lifeSeconds: number | undefined): number {
    const { clock, tokenLifeMs } = this.options
    const maxMs = isBot ? Math.max(botLifeMs, tokenLifeMs) : tokenLifeMs
    const lifeMs = lifeSeconds === undefined ? Math.min(defaultLifeMs, maxMs) : lifeSeconds * 1000
    if (lifeMs > maxMs)
      throw new AppError(
        'invalid_parameter',
        `expires_in must be at most ${maxMs / 1000}${isBot ? '' : ', the life of tokens'}`,
      )
    return clock.now() + lifeMs
  }
}
