import { disableUsers, enableUsers, listUsers } from '@hermod/protocol'
import { data, type Handler, handle, whenDone } from '../../pipeline/call.js'
import type { HandlerServices } from '../services.js'

export function userAdministrationHandlers({
  accounts,
}: Pick<HandlerServices, 'accounts'>): Handler[] {
  return [
    handle(listUsers, async ({ page_num: number, page_size: size }, { principal }) => {
      const users = await accounts.list(principal.appId, { number, size })
      return data(
        users.map(({ userId, username, status }) => ({ user_id: userId, username, status })),
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
