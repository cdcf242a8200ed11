import { AppError, type Int64 } from '@hermod/protocol'
import type { Database, Tx } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import type { Invalidates } from '../../../lib/invalidated-cache.js'
import type { EventService } from '../../../outbox/event-service.js'
import type { GroupSuccession } from '../../groups/membership/group-succession.js'
import type { PasswordProof, PasswordService } from '../../login/password-service.js'
import type { TokenService } from '../../login/token-service.js'
import type { AccountService } from '../account-service.js'
import type { UserKey } from '../user-model.js'
import type { TextErasureService } from './text-erasure-service.js'
import { eraseUser } from './user-erasure.js'

export interface DeletionServiceOptions {
  readonly database: Database
  readonly accounts: AccountService
  readonly contacts: {
    /** What the user holds about others, and others about the user. */
    deleteOf(tx: Tx, user: UserKey): Promise<void>
  }
  readonly userStates: Invalidates<UserKey>
  readonly passwords: PasswordService
  readonly tokens: TokenService
  readonly succession: GroupSuccession
  readonly events: EventService
  readonly textErasures: TextErasureService
  readonly clock: Clock
}

export interface Deletion {
  readonly appId: string
  readonly userId: Int64
  /** The user, or the system for an administrator. */
  readonly actorId: Int64
  /** null: the caller need not prove it. */
  readonly proof: PasswordProof | null
}

/** Deletes users (decision D5). */
export class DeletionService {
  constructor(private readonly options: DeletionServiceOptions) {}

  /** @throws AppError password_incorrect, too_many_requests, user_not_found, user_deleted */
  async delete({ appId, userId, actorId, proof }: Deletion): Promise<void> {
    const { database, accounts, contacts, userStates, passwords, tokens, succession, events } =
      this.options
    const { textErasures, clock } = this.options
    const key = { appId, userId }
    const verified = proof === null ? null : await passwords.verify(appId, userId, proof)
    await database.transaction(async (tx) => {
      const user = await accounts.lock(tx, appId, userId)
      if (verified && verified.credentialEpoch !== user.credentialEpoch)
        throw new AppError('password_incorrect')
      await succession.withdraw(tx, key, actorId)
      await tokens.revokeOfUsers(tx, { appId, userIds: [userId], at: clock.now() })
      await contacts.deleteOf(tx, key)
      userStates.forget(tx, key)
      await eraseUser(tx, appId, userId, clock.now())
      await textErasures.order(tx, key)
      await events.append(tx, {
        appId,
        kind: 'user.removed',
        actorId,
        userIds: [userId],
        content: '',
      })
    })
  }
}
