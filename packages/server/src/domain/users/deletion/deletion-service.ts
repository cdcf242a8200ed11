import type { Int64 } from '@hermod/protocol'
import { actorEvent } from '@hermod/protocol/events'
import type { Database, Tx } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import type { Outbox } from '../../../outbox/outbox.js'
import type { OwnershipTransfer } from '../../groups/membership/ownership-transfer.js'
import type { CheckedProof, UserProof, UserProofs } from '../../identity/proofs/user-proofs.js'
import type { LoginQueue } from '../../login/login-queue.js'
import type { TokenService } from '../../login/token-service.js'
import type { AccountService } from '../account-service.js'
import type { UserCountStore } from '../registration/user-count-store.js'
import type { UserKey } from '../user-model.js'
import type { UserStore } from '../user-store.js'
import type { ContactRemovalService } from './contact-removal-service.js'
import type { TextErasureService } from './text-erasure-service.js'
import type { UserRows } from './user-erasure.js'

interface DeletionServiceOptions {
  readonly database: Database
  readonly accounts: AccountService
  readonly proofs: Pick<UserProofs, 'confirm' | 'verify'>
  readonly tokens: TokenService
  readonly changing: LoginQueue
  readonly conversations: {
    /** Ends the conversations of the user; they accept no more messages. */
    close(tx: Tx, user: UserKey): Promise<void>
    /** Ends the broadcasts of the user. */
    closeBroadcasts(tx: Tx, user: UserKey): Promise<void>
  }
  readonly ownership: OwnershipTransfer
  /** Every store that erases rows of a user, in lock order. */
  readonly personal: readonly UserRows[]
  readonly users: UserStore
  readonly counts: UserCountStore
  readonly outbox: Outbox
  readonly textErasures: TextErasureService
  readonly contactRemovals: ContactRemovalService
  readonly reactions: {
    /** Orders the removal of the reactions of a user. */
    orderRemoval(tx: Tx, user: UserKey): Promise<void>
  }
  readonly clock: Clock
}

/** Parameters of a deletion. */
export interface Deletion {
  readonly appId: string
  readonly userId: Int64
  /** The user, or the system for an administrator. */
  readonly actorId: Int64
  /** null: no proof is required. */
  readonly proof: UserProof | null
}

/** Deletes users (rule D5). */
export class DeletionService {
  constructor(private readonly options: DeletionServiceOptions) {}

  /**
   * @throws AppError invalid_parameter for a missing proof, password_incorrect, assertion_refused,
   * too_many_requests, user_not_found, user_deleted, unavailable
   */
  async delete(deletion: Deletion): Promise<void> {
    const { database, proofs, changing } = this.options
    const { appId, userId, proof } = deletion
    const verified = proof === null ? null : await proofs.verify(appId, userId, proof)
    const erase = (tx: Tx) => this.#erase(tx, deletion, verified)
    await changing.run({ purpose: 'login', appId, address: proof?.address ?? null }, () =>
      database.transaction(erase),
    )
  }

  async #erase(
    tx: Tx,
    { appId, userId, actorId }: Deletion,
    verified: CheckedProof | null,
  ): Promise<void> {
    const { accounts, proofs, tokens, ownership, personal, users } = this.options
    const { conversations, counts, outbox, textErasures, contactRemovals, reactions, clock } =
      this.options
    const key = { appId, userId }
    // Batches of sends lock conversations before users, so conversations close first, and a second
    // time for those that have begun since.
    await conversations.close(tx, key)
    await users.lockInOrder(tx, userId)
    const user = await accounts.lockForUpdate(tx, appId, userId)
    await conversations.close(tx, key)
    if (verified !== null) await proofs.confirm(tx, verified, user)
    await ownership.withdraw(tx, key, actorId)
    await tokens.revokeOfUsers(tx, { appId, userIds: [userId], at: clock.now() })
    await contactRemovals.order(tx, key)
    for (const store of personal) await store.eraseUser(tx, key, clock.now())
    await textErasures.order(tx, key)
    await reactions.orderRemoval(tx, key)
    // In the order of broadcasts: the count first, then the sender's broadcasts.
    await counts.add(tx, appId, -1)
    await conversations.closeBroadcasts(tx, key)
    outbox.append(tx, actorEvent('user.removed', { appId, actorId, userIds: [userId] }))
  }
}
