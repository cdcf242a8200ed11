import { disableUsers, enableUsers, findUsers, listUsers, type ParamsOf } from '@hermod/protocol'
import type { AccountService } from '../../domain/users/account-service.js'
import type { LookUp, LookUpService } from '../../domain/users/look-up-service.js'
import { data, type Handler, handle, whenDone } from '../../pipeline/call.js'

export function userAdministrationHandlers({
  accounts,
  lookUps,
}: {
  readonly accounts: AccountService
  readonly lookUps: LookUpService
}): Handler[] {
  return [
    handle(listUsers, async ({ cursor, page_num: number, page_size: size }, { principal }) => {
      const { users, nextCursor } = await accounts.list(principal.appId, { cursor, number, size })
      return {
        data: users.map(({ userId, username, status }) => ({ user_id: userId, username, status })),
        extras: nextCursor === null ? {} : { cursor: nextCursor },
      }
    }),
    handle(findUsers, async (params, { principal }) => {
      const found = await lookUps.find(principal.appId, lookUpOf(params))
      return data(
        found.map(({ userId, isBot, ...user }) => ({ user_id: userId, is_bot: isBot, ...user })),
      )
    }),
    handle(disableUsers, ({ list }, { principal }) =>
      whenDone(accounts.setEnabled(principal.appId, list, false)),
    ),
    handle(enableUsers, ({ list }, { principal }) =>
      whenDone(accounts.setEnabled(principal.appId, list, true)),
    ),
  ]
}

/** The definition requires exactly one kind of names. */
function lookUpOf({
  user_ids: userIds,
  names: usernames,
  issuer = '',
  subjects = [],
}: ParamsOf<typeof findUsers>): LookUp {
  if (userIds !== undefined) return { userIds }
  return usernames === undefined ? { issuer, subjects } : { usernames }
}
