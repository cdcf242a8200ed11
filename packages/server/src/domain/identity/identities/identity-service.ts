import { AppError } from '@hermod/protocol'
import type { Database, Tx } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import type { Outbox } from '../../../outbox/outbox.js'
import type { AccountService } from '../../users/account-service.js'
import type { User, UserKey } from '../../users/user-model.js'
import type { CheckedProof, UserProof, UserProofs } from '../proofs/user-proofs.js'
import { type IdentityChange, identityEvent, type Subject } from './identity-model.js'
import type { Identity, IdentityStore } from './identity-store.js'

interface IdentityServiceOptions {
  readonly database: Database
  readonly store: IdentityStore
  readonly accounts: Pick<AccountService, 'get' | 'lockForUpdate'>
  readonly proofs: Pick<UserProofs, 'accept' | 'confirm' | 'use' | 'verify'>
  readonly outbox: Outbox
  readonly clock: Clock
}

const maxIdentities = 10

/** Users as other systems know them (rule C9). */
export class IdentityService {
  constructor(private readonly options: IdentityServiceOptions) {}

  async list(user: UserKey): Promise<Identity[]> {
    const { database, store } = this.options
    return database.read((db) => store.list(db, user))
  }

  /**
   * Does nothing when the user has the identity already.
   * @throws AppError user_already_bound, identity_limit_reached, user_not_found, user_deleted
   */
  async link(change: IdentityChange): Promise<void> {
    await this.options.database.transaction(async (tx) => {
      await this.#lock(tx, change, null)
      await this.#link(tx, change)
    })
  }

  /**
   * Links the subject of an assertion.
   * @param proof null: no proof is required
   * @throws AppError as {@link link}, assertion_refused, invalid_parameter for a missing proof,
   * password_incorrect, too_many_requests
   */
  async linkAsserted(
    { appId, userId, actorId }: Omit<IdentityChange, 'issuer' | 'subject'>,
    assertion: string,
    proof: UserProof | null,
  ): Promise<void> {
    const { database, accounts, proofs } = this.options
    const verified = proof === null ? null : await proofs.verify(appId, userId, proof)
    const user = verified?.user ?? (await accounts.get(appId, userId))
    const accepted = await proofs.accept(user, assertion)
    const { issuer, claims } = accepted
    const change = { appId, userId, actorId, issuer: issuer.issuer, subject: claims.subject }
    await database.transaction(async (tx) => {
      const locked = await this.#lock(tx, change, verified)
      await proofs.use(tx, accepted, locked)
      await this.#link(tx, change)
    })
  }

  /** @param proof null: no proof was checked */
  async #lock(tx: Tx, { appId, userId }: UserKey, proof: CheckedProof | null): Promise<User> {
    const { accounts, proofs } = this.options
    const user = await accounts.lockForUpdate(tx, appId, userId)
    if (proof !== null) await proofs.confirm(tx, proof, user)
    return user
  }

  async #link(tx: Tx, change: IdentityChange): Promise<void> {
    const { store, outbox, clock } = this.options
    const { appId, issuer, subject, userId } = change
    const identities = await store.list(tx, { appId, userId })
    if (identities.some((known) => isSame(known, change))) return
    if (identities.length >= maxIdentities) throw new AppError('identity_limit_reached')
    const identity = { appId, issuer, subject, userId, linkedAt: clock.now() }
    if (!(await store.insert(tx, identity)))
      throw new AppError('user_already_bound', 'the identity is that of another user')
    outbox.append(tx, identityEvent('user.identity_linked', change))
  }

  /**
   * @param proof null: no proof is required
   * @throws AppError identity_not_found, last_identity, invalid_parameter for a missing proof,
   * password_incorrect, assertion_refused, too_many_requests, user_not_found, user_deleted
   */
  async unlink(change: IdentityChange, proof: UserProof | null): Promise<void> {
    const { database, proofs } = this.options
    const { appId, userId } = change
    const verified = proof === null ? null : await proofs.verify(appId, userId, proof)
    await database.transaction((tx) => this.#unlink(tx, change, verified))
  }

  async #unlink(tx: Tx, change: IdentityChange, proof: CheckedProof | null): Promise<void> {
    const { store, outbox } = this.options
    const { appId, userId } = change
    const user = await this.#lock(tx, change, proof)
    const identities = await store.list(tx, { appId, userId })
    if (!identities.some((known) => isSame(known, change))) throw new AppError('identity_not_found')
    if (identities.length === 1 && user.passwordHash === '') throw new AppError('last_identity')
    await store.delete(tx, change)
    outbox.append(tx, identityEvent('user.identity_unlinked', change))
  }
}

function isSame(a: Subject, b: Subject): boolean {
  return a.issuer === b.issuer && a.subject === b.subject
}
