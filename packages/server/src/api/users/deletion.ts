import { deleteUser } from '@hermod/protocol'
import { type Handler, handle, whenDone } from '../../pipeline/call.js'
import type { HandlerServices } from '../services.js'

export function deletionHandlers({ deletions }: Pick<HandlerServices, 'deletions'>): Handler[] {
  return [
    handle(deleteUser, ({ password = '' }, { principal, address }) => {
      const { appId, userId, tokenOwnerId: actorId, isAdminToken } = principal
      const proof = isAdminToken ? null : { password, address }
      return whenDone(deletions.delete({ appId, userId, actorId, proof }))
    }),
  ]
}
