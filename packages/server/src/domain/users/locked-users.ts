import { AppError, type ErrorName, type Int64 } from '@hermod/protocol'
import type { Tx } from '../../db/database.js'

/** Locks the rows of users until the transaction ends. */
export interface UserLocker {
  /** Also finds deleted users; those who never existed are left out. */
  lockForUpdate(
    tx: Tx,
    appId: string,
    userIds: readonly Int64[],
  ): Promise<readonly { readonly userId: Int64; readonly isDeleted: boolean }[]>
  /** As `lockForUpdate`, but does not wait for those that lock a user by its key only. */
  lockNoKeyUpdate(
    tx: Tx,
    appId: string,
    userIds: readonly Int64[],
  ): Promise<readonly { readonly userId: Int64; readonly isDeleted: boolean }[]>
}

/** Users in a transaction that keeps other changes between them, and their deletion, waiting. */
export class LockedUsers {
  private constructor(
    private readonly users: ReadonlyMap<Int64, { readonly isDeleted: boolean }>,
  ) {}

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

  /** For what is added to users without changing their own rows: does not wait for a login on a known device, which locks their keys only. */
  static async lockNoKeyUpdate(
    tx: Tx,
    locker: UserLocker,
    appId: string,
    userIds: readonly Int64[],
  ): Promise<LockedUsers> {
    const found = userIds.length === 0 ? [] : await locker.lockNoKeyUpdate(tx, appId, userIds)
    return new LockedUsers(new Map(found.map((user) => [user.userId, user])))
  }

  /** Why the user cannot take part in anything, or null. */
  refusal(userId: Int64): Extract<ErrorName, 'user_not_found' | 'user_deleted'> | null {
    const user = this.users.get(userId)
    if (!user) return 'user_not_found'
    return user.isDeleted ? 'user_deleted' : null
  }

  /** @throws AppError user_not_found, user_deleted naming them */
  require(...userIds: readonly Int64[]): void {
    for (const errorName of ['user_not_found', 'user_deleted'] as const) {
      const refused = userIds.filter((userId) => this.refusal(userId) === errorName)
      if (refused.length > 0)
        throw new AppError(errorName, userIds.length === 1 ? undefined : refused.join(', '))
    }
  }
}
