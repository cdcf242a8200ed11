import { AppError, type ErrorName, type Int64 } from '@hermod/protocol'
import type { Tx } from '../../db/database.js'
import type { User } from './user-model.js'

type LockedUser = Pick<User, 'userId' | 'isDeleted' | 'isBot'>

/** Locks the rows of users until the transaction ends. */
export interface UserLocker {
  /** Locks users, including deleted ones; unknown IDs are left out. */
  lockForUpdate(tx: Tx, appId: string, userIds: readonly Int64[]): Promise<readonly LockedUser[]>
  /** Same as `lockForUpdate`, but does not wait for transactions that lock a user by key only. */
  lockNoKeyUpdate(tx: Tx, appId: string, userIds: readonly Int64[]): Promise<readonly LockedUser[]>
}

/** Locked users: their concurrent changes and deletion wait for the transaction. */
export class LockedUsers {
  private constructor(private readonly users: ReadonlyMap<Int64, LockedUser>) {}

  static async lockForUpdate(
    tx: Tx,
    locker: UserLocker,
    appId: string,
    userIds: readonly Int64[],
  ): Promise<LockedUsers> {
    return new LockedUsers(
      new Map((await locker.lockForUpdate(tx, appId, userIds)).map((user) => [user.userId, user])),
    )
  }

  /**
   * Locks users for data that leaves their own rows unchanged. Does not wait for a login on a known
   * device, which locks by key only.
   */
  static async lockNoKeyUpdate(
    tx: Tx,
    locker: UserLocker,
    appId: string,
    userIds: readonly Int64[],
  ): Promise<LockedUsers> {
    const found = userIds.length === 0 ? [] : await locker.lockNoKeyUpdate(tx, appId, userIds)
    return new LockedUsers(new Map(found.map((user) => [user.userId, user])))
  }

  /** Reason why the user cannot take part, or null. */
  refusal(userId: Int64): Extract<ErrorName, 'user_not_found' | 'user_deleted'> | null {
    const user = this.users.get(userId)
    if (!user) return 'user_not_found'
    return user.isDeleted ? 'user_deleted' : null
  }

  /** Tests whether a user is a program. */
  isBot(userId: Int64): boolean {
    return this.users.get(userId)?.isBot ?? false
  }

  /** @throws AppError user_not_found, user_deleted naming the users */
  require(...userIds: readonly Int64[]): void {
    for (const errorName of ['user_not_found', 'user_deleted'] as const) {
      const refused = userIds.filter((userId) => this.refusal(userId) === errorName)
      if (refused.length > 0)
        throw new AppError(errorName, userIds.length === 1 ? undefined : refused.join(', '))
    }
  }
}
