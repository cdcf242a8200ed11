import {
  AppError,
  createUser,
  deleteUserByOperator,
  disableUser,
  enableUser,
  exportUsers,
  type ImportedUser,
  type Item,
  importUsers,
  type ParamsOf,
  resetUserPassword,
  userStatus,
} from '@hermod/protocol'
import type { ItemOutcome } from '../../domain/item-outcome.js'
import type {
  ImportedAs,
  Profile,
  UserToImport,
} from '../../domain/users/import/user-import-model.js'
import type { UserImportService } from '../../domain/users/import/user-import-service.js'
import type { OperatorUserService } from '../../domain/users/operator-user-service.js'
import { definedOnly } from '../../lib/defined-only.js'
import { data, type Handler, handle } from '../../pipeline/call.js'
import { itemResults, usernameOf } from '../item-list.js'

type ImportItem = ParamsOf<typeof importUsers>['users'][number]
type ImportEntry = ImportItem extends Item<infer Value> ? Value : never

export function operatorUserHandlers({
  operatorUsers,
  userImports,
}: {
  readonly operatorUsers: OperatorUserService
  readonly userImports: UserImportService
}): Handler[] {
  return [
    handle(createUser, async ({ app_id, username, password, ...profile }) => {
      const created = await userImports.create(
        app_id,
        definedOnly({ username, password, profile }) as UserToImport,
      )
      return data({ user_id: created.userId, username, password: created.password })
    }),
    handle(importUsers, async ({ app_id, users, update = false }) => {
      const results = await itemResults(users, {
        toEntry: toNewUser,
        work: (entries) => userImports.import(app_id, entries, update),
        toResult: toImported,
      })
      return data(results)
    }),
    handle(
      exportUsers,
      async ({ app_id, cursor = '', limit, include_hashes: withHashes = false }) => {
        const { users, nextCursor } = await userImports.export(app_id, { cursor, limit })
        const exported = users.map(({ password_hash, mobile, email, is_bot, ...user }) => ({
          ...user,
          is_bot: is_bot === 1,
          has_password: password_hash !== '',
          mobile: mobile ?? '',
          email: email ?? '',
          ...(withHashes ? { password_hash } : {}),
        }))
        return data({ users: exported, next_cursor: nextCursor })
      },
    ),
    handle(disableUser, async ({ app_id, ...which }) => {
      const { userId, username } = await operatorUsers.setEnabled(app_id, which, false)
      return data({ user_id: userId, username, status: userStatus.disabled })
    }),
    handle(enableUser, async ({ app_id, ...which }) => {
      const { userId, username } = await operatorUsers.setEnabled(app_id, which, true)
      return data({ user_id: userId, username, status: userStatus.normal })
    }),
    handle(deleteUserByOperator, async ({ app_id, ...which }) => {
      const { userId, isDeletedNow } = await operatorUsers.delete(app_id, which)
      return data({ user_id: userId, deleted: isDeletedNow })
    }),
    handle(resetUserPassword, async ({ app_id, password: given, ...which }) => {
      const { user, password } = await operatorUsers.resetPassword(app_id, which, given)
      return data({ user_id: user.userId, username: user.username, password })
    }),
  ]
}

function toNewUser({
  username,
  password,
  password_hash,
  status,
  created_at,
  is_bot: isBot,
  identities,
  user_id: _,
  has_password: __,
  ...profile
}: ImportEntry): UserToImport {
  const createdAt = created_at === undefined ? undefined : Number(created_at)
  return definedOnly({
    username,
    password,
    passwordHash: password_hash,
    status,
    createdAt,
    isBot,
    identities,
    profile: profile as Profile,
  }) as UserToImport
}

function toImported(outcome: ItemOutcome<ImportedAs>, item: ImportItem): ImportedUser {
  const username = usernameOf(item)
  return outcome instanceof AppError
    ? { username, result: 'failed', reason: outcome.message }
    : { username, result: outcome.result, user_id: outcome.userId }
}
