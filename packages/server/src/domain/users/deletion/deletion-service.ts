import { AppError, type Int64 } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import type { EventService } from '../../../outbox/event-service.js'
import type { GroupSuccession } from '../../groups/membership/group-succession.js'
import type { ConversationService } from '../../messaging/reading/conversation-service.js'
import type { PasswordProof, PasswordService } from '../../login/password-service.js'
import type { TokenService } from '../../login/token-service.js'
import type { AccountService } from '../account-service.js'
import type { TextErasureService } from './text-erasure-service.js'
import { eraseUser } from './user-erasure.js'

export interface DeletionServiceOptions {
  readonly database: Database
  readonly accounts: AccountService
  readonly passwords: PasswordService
  readonly tokens: TokenService
  readonly conversations: ConversationService
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
    const { database, accounts, conversations, passwords, tokens, succession, ...options } =
      this.options
    const { events, textErasures, clock } = options
    const verified = proof === null ? null : await passwords.verify(appId, userId, proof)
    const { revoked, withdrawals } = await database.transaction(async (tx) => {
      // Batches of sends lock conversations before users, so these are closed first, and after that those that have begun meanwhile.
      await conversations.close(tx, { appId, userId })
      const user = await accounts.lock(tx, appId, userId)
      await conversations.close(tx, { appId, userId })
      if (verified && verified.credentialEpoch !== user.credentialEpoch)
        throw new AppError('password_incorrect')
      const withdrawals = await succession.withdraw(tx, { appId, userId }, actorId)
      const revoked = await tokens.revokeOfUsers(tx, { appId, userIds: [userId], at: clock.now() })
      await eraseUser(tx, appId, userId, clock.now())
      await textErasures.order(tx, appId, userId)
      await events.append(tx, {
        appId,
        kind: 'user.removed',
        actorId,
        userIds: [userId],
        content: '',
      })
      return { revoked, withdrawals }
    })
    tokens.forget(appId, revoked)
    accounts.forget(appId, userId)
    succession.forget(appId, withdrawals)
    textErasures.wake()
  }
}
