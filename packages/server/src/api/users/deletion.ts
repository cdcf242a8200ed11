import { deleteUser } from '@hermod/protocol'
import type { DeletionService } from '../../domain/users/deletion/deletion-service.js'
import { type Handler, handle, whenDone } from '../../pipeline/call.js'

export function deletionHandlers({
  deletions,
}: {
  readonly deletions: DeletionService
}): Handler[] {
  return [
    handle(deleteUser, ({ password = '', assertion = '' }, { principal, address }) => {
      const { appId, userId, tokenOwnerId: actorId } = principal
      const proof =
        principal.kind === 'user'
          ? { password, assertion, address, tokenHash: principal.tokenHash }
          : null
      return whenDone(deletions.delete({ appId, userId, actorId, proof }))
    }),
  ]
}
