import { AppError, type Int64, userStatus } from '@hermod/protocol'
import type { Database, Tx } from '../../db/database.js'
import type { Clock } from '../../lib/clock.js'
import { definedOnly } from '../../lib/defined-only.js'
import type { IdGenerator } from '../../lib/ids/ids.js'
import type { Outbox } from '../../outbox/outbox.js'
import type { AppService } from '../apps/app-service.js'
import type { LoginQueue } from '../login/login-queue.js'
import type { IssuedToken, NewToken, TokenService } from '../login/token-service.js'
import type { UserMaker, UserToMake } from '../users/registration/user-maker.js'
import { systemUserId } from '../users/system-user.js'
import type { UserCredentials } from '../users/user-credentials.js'
import { profileEvent, type User, type UserKey } from '../users/user-model.js'
import { identityEvent, type Subject } from './identities/identity-model.js'
import type { IdentityStore } from './identities/identity-store.js'

interface SubjectTokensOptions {
  readonly database: Database
  readonly identities: IdentityStore
  readonly users: Pick<UserCredentials, 'lockKeyShare' | 'noteAssertion' | 'update'>
  readonly maker: UserMaker
  readonly tokens: Pick<TokenService, 'give'>
  /** The queue of transactions that store tokens. */
  readonly storing: LoginQueue
  readonly apps: AppService
  readonly outbox: Outbox
  readonly ids: IdGenerator
  readonly clock: Clock
}

/** A token to give without a password. */
export interface TokenRequest {
  /** Returns when the token of the locked user ends, in ms; throws to refuse the user. */
  readonly endOf: (user: Pick<User, 'isBot' | 'assertionsAfter'>) => number
  /** The time of the assertion for which the token is given, in ms; absent: an app server calls. */
  readonly assertedAt?: number
  readonly device?: NewToken['device']
  /** The client's network address; null when an app server calls. */
  readonly address: string | null
}

/** A token to give to the user of a subject. */
export interface SubjectRequest extends TokenRequest, Subject {
  /** Returns the user to make when the subject has none, or throws; null: there must be one. */
  readonly create: (() => UserToMake) | null
  /** Valid members of the profile, written where they differ. */
  readonly profile?: { readonly nickName?: string; readonly avatar?: string }
}

/** A token, and whether the user was made for it. */
export interface GivenToken {
  readonly token: IssuedToken
  readonly created: boolean
}

/** Each further attempt follows a link, an unlink or a deletion that was committed in between. */
const maxAttempts = 5

/** Gives tokens to users whom another system knows, and makes users for new subjects (rule C9). */
export class SubjectTokens {
  constructor(private readonly options: SubjectTokensOptions) {}

  /**
   * @throws AppError user_not_found for a subject without a user, user_disabled, username_taken,
   * user_limit_reached, unavailable, and what `endOf` throws
   */
  async give(request: SubjectRequest): Promise<GivenToken> {
    const { database, identities } = this.options
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const userId = await database.read((db) => identities.findUser(db, request))
      const given =
        userId === null ? await this.#giveToNew(request) : await this.#giveToKnown(request, userId)
      if (given) return given
    }
    throw new AppError('unavailable', 'the subject was linked at the same time')
  }

  /**
   * Gives a token to a user by ID.
   * @throws AppError user_not_found, user_deleted, user_disabled, unavailable, and what `endOf`
   * throws
   */
  async giveToUser({ appId, userId }: UserKey, request: TokenRequest): Promise<IssuedToken> {
    return this.#store({ ...request, appId }, async (tx) => {
      const user = await this.options.users.lockKeyShare(tx, appId, userId)
      if (!user) throw new AppError('user_not_found')
      if (user.isDeleted) throw new AppError('user_deleted')
      return this.#give(tx, user, request)
    })
  }

  /** @returns null when the subject is no longer the user's */
  async #giveToKnown(request: SubjectRequest, userId: Int64): Promise<GivenToken | null> {
    const { users, identities } = this.options
    return this.#store(request, async (tx) => {
      const user = await users.lockKeyShare(tx, request.appId, userId)
      if (!user || (await identities.findUser(tx, request)) !== userId) return null
      const token = await this.#give(tx, user, request)
      await this.#updateProfile(tx, user, request)
      return { token, created: false }
    })
  }

  /** @returns null when a concurrent call was the first one for the subject */
  async #giveToNew(request: SubjectRequest): Promise<GivenToken | null> {
    const { identities, maker, apps, outbox, ids, clock } = this.options
    const { appId, issuer, subject, create } = request
    if (create === null)
      throw new AppError('user_not_found', 'no user has this subject; create makes one')
    const wanted = create()
    const app = await apps.get(appId)
    const userId = await ids.next()
    return this.#store(request, async (tx) => {
      // Decides between concurrent calls, before anything else is locked or written.
      const identity = { appId, issuer, subject, userId, linkedAt: clock.now() }
      if (!(await identities.insert(tx, identity))) return null
      const user = { ...wanted, userId }
      return maker.make(tx, app, user, async () => {
        outbox.append(
          tx,
          identityEvent('user.identity_linked', { ...identity, actorId: systemUserId }),
        )
        const made = { appId, userId, isBot: wanted.isBot, ...newUserState }
        return { token: await this.#give(tx, made, request), created: true }
      })
    })
  }

  async #store<T>(
    { appId, address }: Pick<SubjectRequest, 'appId' | 'address'>,
    work: (tx: Tx) => Promise<T>,
  ): Promise<T> {
    const { database, storing } = this.options
    return storing.run({ purpose: 'login', appId, address }, () => database.transaction(work))
  }

  /** @throws AppError user_disabled, and what `endOf` throws */
  async #give(
    tx: Tx,
    user: UserKey & Pick<User, 'status' | 'credentialEpoch' | 'isBot' | 'assertionsAfter'>,
    { assertedAt, device, endOf }: TokenRequest,
  ): Promise<IssuedToken> {
    const { tokens, users, clock } = this.options
    if (user.status !== userStatus.normal) throw new AppError('user_disabled')
    const expiresAt = endOf(user)
    // Before the device, as other transactions lock the two in this order.
    if (assertedAt !== undefined) await users.noteAssertion(tx, user, assertedAt)
    return tokens.give(tx, user, { createdAt: clock.now(), expiresAt, device, isIssued: true })
  }

  async #updateProfile(
    tx: Tx,
    { appId, userId, nickName, avatar }: User,
    { profile = {} }: SubjectRequest,
  ): Promise<void> {
    const { users, outbox } = this.options
    const changed = definedOnly({
      nick_name: profile.nickName === nickName ? undefined : profile.nickName,
      avatar: profile.avatar === avatar ? undefined : profile.avatar,
    })
    if (Object.keys(changed).length === 0) return
    await users.update(tx, appId, userId, changed)
    outbox.append(tx, profileEvent({ appId, actorId: systemUserId, userIds: [userId] }, changed))
  }
}

const newUserState = { status: userStatus.normal, credentialEpoch: 0, assertionsAfter: 0 }
