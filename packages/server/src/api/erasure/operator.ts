import {
  checkErased,
  eraseUser,
  type ErasureHold,
  exportUserData,
  type holdKinds,
  listErasures,
  listHolds,
  releaseHold,
  setHold,
} from '@hermod/protocol'
import type { DataExportService } from '../../domain/erasure/export/data-export-service.js'
import type { ErasedCheck } from '../../domain/erasure/erased-check.js'
import type { ErasureService } from '../../domain/erasure/erasure-service.js'
import type { HoldService } from '../../domain/erasure/holds/hold-service.js'
import type { OperatorUserService } from '../../domain/users/operator-user-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'

export function erasureHandlers({
  dataExports,
  erasures,
  erasedCheck,
  holds,
  operatorUsers,
}: {
  readonly dataExports: DataExportService
  readonly erasures: ErasureService
  readonly erasedCheck: ErasedCheck
  readonly holds: HoldService
  readonly operatorUsers: Pick<OperatorUserService, 'find'>
}): Handler[] {
  return [
    handle(eraseUser, async ({ app_id: appId, messages, reason, ...which }) => {
      const { userId } = await operatorUsers.find(appId, which)
      return data({ job_id: await erasures.start({ appId, userId, messages, reason }) })
    }),
    handle(listErasures, async ({ app_id, user_id }) =>
      data({ erasures: await erasures.list(app_id, user_id) }),
    ),
    handle(checkErased, async ({ app_id: appId, user_id: userId, texts = [] }) => {
      const { checked, faults } = await erasedCheck.check({ appId, userId }, texts)
      return data({
        checked,
        faults: faults.map((fault) => ({ check: 'erased_user', app_id: appId, ...fault })),
      })
    }),
    handle(exportUserData, async ({ app_id: appId, folder, ...which }) => {
      const { userId } = await operatorUsers.find(appId, which)
      return data({ job_id: await dataExports.start({ appId, userId }, folder) })
    }),
    handle(setHold, async ({ app_id: appId, name, user_id: userId, conversation, reason }) =>
      data(toHold(await holds.set({ appId, name, userId, conversation, reason }))),
    ),
    handle(releaseHold, async ({ app_id, name }) =>
      data({ holds: (await holds.release(app_id, name)).map(toHold) }),
    ),
    handle(listHolds, async ({ app_id }) =>
      data({ holds: (await holds.list(app_id)).map(toHold) }),
    ),
  ]
}

function toHold({
  appId,
  name,
  kind,
  lowId,
  highId,
  reason,
  heldAt,
}: Awaited<ReturnType<HoldService['list']>>[number]): ErasureHold {
  const isUser = kind === 'user'
  return {
    app_id: appId,
    name,
    kind: kind as (typeof holdKinds)[number],
    user_id: isUser ? lowId : 0,
    conversation: isUser ? [] : lowId === highId ? [lowId] : [lowId, highId],
    reason,
    held_at: heldAt,
  }
}
