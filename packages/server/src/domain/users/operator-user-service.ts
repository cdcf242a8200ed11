import { AppError, type Int64 } from '@hermod/protocol'
import type { Database } from '../../db/database.js'
import type { AppService } from '../apps/app-service.js'
import type { PasswordService } from '../login/password-service.js'
import type { AccountService } from './account-service.js'
import type { DeletionService } from './deletion/deletion-service.js'
import { createPassword } from './import/user-import-model.js'
import { systemUserId } from './system-user.js'
import type { User } from './user-model.js'
import type { UserStore } from './user-store.js'

interface OperatorUserServiceOptions {
  readonly database: Database
  readonly users: UserStore
  readonly accounts: AccountService
  readonly apps: AppService
  readonly deletions: DeletionService
  readonly passwords: PasswordService
}

/** Identifies one user by exactly one of the two fields. */
export interface WhichUser {
  readonly user_id?: Int64 | undefined
  readonly username?: string | undefined
}

/** Operations of the operator on one user. */
export class OperatorUserService {
  constructor(private readonly options: OperatorUserServiceOptions) {}

  /** @throws AppError app_not_found, invalid_parameter, user_not_found, user_deleted */
  async setEnabled(appId: string, which: WhichUser, isEnabled: boolean): Promise<User> {
    const user = await this.find(appId, which)
    await this.options.accounts.setEnabled(appId, [user.userId], isEnabled)
    return user
  }

  /**
   * @returns whether this call deleted the user; false: it was deleted before
   * @throws AppError app_not_found, invalid_parameter, user_not_found
   */
  async delete(appId: string, which: WhichUser): Promise<{ userId: Int64; isDeletedNow: boolean }> {
    const { userId } = await this.find(appId, which)
    try {
      await this.options.deletions.delete({ appId, userId, actorId: systemUserId, proof: null })
      return { userId, isDeletedNow: true }
    } catch (error) {
      if (error instanceof AppError && error.errorName === 'user_deleted')
        return { userId, isDeletedNow: false }
      throw error
    }
  }

  /**
   * Sets a password and ends the tokens of the user.
   * @returns the user and the generated password; '' when one was given
   * @throws AppError app_not_found, invalid_parameter, user_not_found, user_deleted
   */
  async resetPassword(
    appId: string,
    which: WhichUser,
    given: string | undefined,
  ): Promise<{ user: User; password: string }> {
    const user = await this.find(appId, which)
    const newPassword = given ?? createPassword()
    await this.options.passwords.reset({
      appId,
      userId: user.userId,
      newPassword,
      field: 'password',
    })
    return { user, password: given === undefined ? newPassword : '' }
  }

  /**
   * Finds a user; by ID also a deleted one.
   * @throws AppError app_not_found, invalid_parameter, user_not_found
   */
  async find(appId: string, { user_id: userId, username = '' }: WhichUser): Promise<User> {
    const { database, users, apps } = this.options
    await apps.get(appId)
    if ((userId === undefined) === (username === ''))
      throw new AppError('invalid_parameter', 'give either user_id or username')
    const user = await database.read((db) =>
      userId === undefined
        ? users.findBy(db, appId, 'username', username)
        : users.find(db, appId, userId),
    )
    if (!user) throw new AppError('user_not_found')
    return user
  }
}
