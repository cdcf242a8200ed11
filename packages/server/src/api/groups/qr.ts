import {
  type AppCaller,
  type Int64,
  joinByQrCode,
  joinByQrText,
  signGroupQrCode,
  signGroupQrText,
} from '@hermod/protocol'
import type { GroupQrService } from '../../domain/groups/admission/group-qr-service.js'
import type { AccountService } from '../../domain/users/account-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'
import { groupCaller, groupUser } from './group-caller.js'

interface Services {
  readonly accounts: AccountService
  readonly groupQrCodes: GroupQrService
}

export function groupQrHandlers({ accounts, groupQrCodes }: Services): Handler[] {
  const sign = async (groupId: Int64, caller: AppCaller) =>
    groupQrCodes.sign(await groupCaller(accounts, caller, groupId), groupId)
  const joiners = [joinByQrCode, joinByQrText].map((operation) =>
    handle(operation, async ({ qr_info: text }, { caller }) =>
      data({ group_id: await groupQrCodes.join(await groupUser(accounts, caller), text) }),
    ),
  )
  return [
    handle(signGroupQrCode, async ({ group_id: groupId }, { caller }) => {
      const { text, createdAt, expiresAt } = await sign(groupId, caller)
      return data({ qr_info: text, create_at: createdAt, expire_at: expiresAt })
    }),
    handle(signGroupQrText, async ({ group_id: groupId }, { caller }) => {
      const { text, expiresAt } = await sign(groupId, caller)
      return data({ qr_info: text, expired: expiresAt })
    }),
    ...joiners,
  ]
}
