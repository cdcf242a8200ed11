import { deleteUser } from '@hermod/protocol'
import type { DeletionService } from '../../domain/users/deletion/deletion-service.js'
import { type Handler, handle, whenDone } from '../../pipeline/call.js'

export function deletionHandlers({
  deletions,
}: {
  readonly deletions: DeletionService
}): Handler[] {
  return [
    handle(deleteUser, ({ password = '' }, { principal, address }) => {
      const { appId, userId, tokenOwnerId: actorId, isAdminToken } = principal
      const proof = isAdminToken ? null : { password, address }
      return whenDone(deletions.delete({ appId, userId, actorId, proof }))
    }),
  ]
}
