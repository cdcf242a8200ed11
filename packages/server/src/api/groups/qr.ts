import { joinByQrCode, joinByQrText, signGroupQrCode, signGroupQrText } from '@hermod/protocol'
import type { GroupQrService } from '../../domain/groups/admission/group-qr-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'

export function groupQrHandlers({
  groupQrCodes,
}: {
  readonly groupQrCodes: GroupQrService
}): Handler[] {
  return [
    handle(signGroupQrCode, async ({ group_id: groupId }, { principal }) => {
      const { text, createdAt, expiresAt } = await groupQrCodes.sign(principal, groupId)
      return data({ qr_info: text, create_at: createdAt, expire_at: expiresAt })
    }),
    handle(signGroupQrText, async ({ group_id: groupId }, { principal }) => {
      const { text, expiresAt } = await groupQrCodes.sign(principal, groupId)
      return data({ qr_info: text, expired: expiresAt })
    }),
    handle(joinByQrCode, async ({ qr_info: text }, { principal }) =>
      data({ group_id: await groupQrCodes.join(principal, text) }),
    ),
    handle(joinByQrText, async ({ qr_info: text }, { principal }) =>
      data({ group_id: await groupQrCodes.join(principal, text) }),
    ),
  ]
}
