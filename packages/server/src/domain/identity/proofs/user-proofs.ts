import { AppError, type Int64 } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import type { PasswordProof, PasswordService } from '../../login/password-service.js'
import type { AccountService } from '../../users/account-service.js'
import type { User } from '../../users/user-model.js'
import type { AcceptedAssertion, AssertionService } from '../assertions/assertion-service.js'
import type { IdentityStore } from '../identities/identity-store.js'

/** The proof of a user's identity: a password, or an assertion where the user has none. '' = not given. */
export interface UserProof extends PasswordProof {
  readonly assertion: string
}

interface UserProofsOptions {
  readonly database: Database
  readonly accounts: Pick<AccountService, 'get'>
  readonly passwords: Pick<PasswordService, 'verify'>
  readonly assertions: AssertionService
  readonly identities: Pick<IdentityStore, 'findUser'>
}

/** Checks the proofs that users give beside their token (rule C10a). */
export class UserProofs {
  constructor(private readonly options: UserProofsOptions) {}

  /**
   * @returns the user that the proof was checked for
   * @throws AppError invalid_parameter for a missing proof, password_incorrect, assertion_refused,
   * too_many_requests, user_not_found, user_deleted
   */
  async verify(appId: string, userId: Int64, proof: UserProof): Promise<User> {
    const { accounts, assertions, passwords } = this.options
    if (proof.password !== '') return passwords.verify(appId, userId, proof)
    const user = await accounts.get(appId, userId)
    if (user.passwordHash !== '') throw new AppError('invalid_parameter', 'password is required')
    if (proof.assertion === '') throw new AppError('invalid_parameter', 'assertion is required')
    const accepted = await this.accept(user, proof.assertion)
    const owner = await this.#ownerOf(accepted)
    return owner === userId ? user : assertions.refuse(appId, accepted.issuer, 'wrong_user')
  }

  /**
   * Accepts an assertion for a user.
   * @throws AppError assertion_refused, also after a revocation of the user's logins
   */
  async accept(
    { appId, assertionsAfter }: Pick<User, 'appId' | 'assertionsAfter'>,
    text: string,
  ): Promise<AcceptedAssertion> {
    const { assertions } = this.options
    const accepted = await assertions.accept(appId, text)
    return accepted.claims.issuedAt <= assertionsAfter
      ? assertions.refuse(appId, accepted.issuer, 'revoked')
      : accepted
  }

  async #ownerOf({ issuer: { appId, issuer }, claims }: AcceptedAssertion): Promise<Int64 | null> {
    const { database, identities } = this.options
    const subject = { appId, issuer, subject: claims.subject }
    return database.read((db) => identities.findUser(db, subject))
  }
}
