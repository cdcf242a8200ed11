import { AppError, type Int64 } from '@hermod/protocol'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import type { PasswordProof, PasswordService } from '../../login/password-service.js'
import type { AccountService } from '../../users/account-service.js'
import type { UserCredentials } from '../../users/user-credentials.js'
import type { User } from '../../users/user-model.js'
import type { AcceptedAssertion, AssertionService } from '../assertions/assertion-service.js'
import type { IdentityStore } from '../identities/identity-store.js'

/** The proof of a user's identity: a password, or an assertion where the user has none. '' = not given. */
export interface UserProof extends PasswordProof {
  readonly assertion: string
}

/** A proof that was checked. */
export interface CheckedProof {
  readonly user: User
  /** null: the proof is a password. */
  readonly assertion: AcceptedAssertion | null
}

interface UserProofsOptions {
  readonly database: Database
  readonly accounts: Pick<AccountService, 'get'>
  readonly passwords: Pick<PasswordService, 'verify'>
  readonly assertions: AssertionService
  readonly identities: Pick<IdentityStore, 'findUser'>
  readonly users: Pick<UserCredentials, 'noteAssertion'>
}

/** Checks the proofs that users give beside their token (rule C10a). */
export class UserProofs {
  constructor(private readonly options: UserProofsOptions) {}

  /**
   * Checks a proof. {@link confirm} follows in the transaction that needs it.
   * @throws AppError invalid_parameter for a missing proof, password_incorrect, assertion_refused,
   * too_many_requests, user_not_found, user_deleted
   */
  async verify(appId: string, userId: Int64, proof: UserProof): Promise<CheckedProof> {
    const { database, accounts, passwords } = this.options
    if (proof.password !== '')
      return { user: await passwords.verify(appId, userId, proof), assertion: null }
    const user = await accounts.get(appId, userId)
    if (user.passwordHash !== '') throw new AppError('invalid_parameter', 'password is required')
    if (proof.assertion === '') throw new AppError('invalid_parameter', 'assertion is required')
    const assertion = await this.accept(user, proof.assertion)
    await database.read((db) => this.#requireOwner(db, assertion, userId))
    return { user, assertion }
  }

  /**
   * Checks a proof again for its locked user, whose credentials or identity may have ended since.
   * @throws AppError password_incorrect, assertion_refused
   */
  async confirm(tx: Tx, { user: before, assertion }: CheckedProof, user: User): Promise<void> {
    if (before.credentialEpoch !== user.credentialEpoch) throw new AppError('password_incorrect')
    if (assertion === null) return
    await this.use(tx, assertion, user)
    await this.#requireOwner(tx, assertion, user.userId)
  }

  /**
   * Checks again that an assertion is from after the last revocation of a locked user, and remembers
   * it for the next one.
   * @throws AppError assertion_refused
   */
  async use(tx: Tx, assertion: AcceptedAssertion, user: User): Promise<void> {
    this.#requireNew(assertion, user)
    await this.options.users.noteAssertion(tx, user, assertion.claims.issuedAt)
  }

  /**
   * Accepts an assertion for a user.
   * @throws AppError assertion_refused, also after a revocation of the user's logins
   */
  async accept(
    user: Pick<User, 'appId' | 'assertionsAfter'>,
    text: string,
  ): Promise<AcceptedAssertion> {
    const accepted = await this.options.assertions.accept(user.appId, text)
    this.#requireNew(accepted, user)
    return accepted
  }

  #requireNew(
    { issuer, claims }: AcceptedAssertion,
    { appId, assertionsAfter }: Pick<User, 'appId' | 'assertionsAfter'>,
  ): void {
    if (claims.issuedAt <= assertionsAfter) this.options.assertions.refuse(appId, issuer, 'revoked')
  }

  async #requireOwner(
    db: Queryable,
    { issuer, claims }: AcceptedAssertion,
    userId: Int64,
  ): Promise<void> {
    const { assertions, identities } = this.options
    const subject = { appId: issuer.appId, issuer: issuer.issuer, subject: claims.subject }
    if ((await identities.findUser(db, subject)) !== userId)
      assertions.refuse(issuer.appId, issuer, 'wrong_user')
  }
}
