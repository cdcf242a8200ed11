import { AppError, deleteUser } from '@hermod/protocol'
import { type Handler, handle, whenDone } from '../../pipeline/call.js'
import type { HandlerServices } from '../services.js'

export function deletionHandlers({ deletions }: Pick<HandlerServices, 'deletions'>): Handler[] {
  return [
    handle(deleteUser, async ({ password = '' }, { principal, address }) => {
      const { appId, userId, tokenOwnerId: actorId } = principal
      const isOwn = principal.kind === 'user'
      if (isOwn && password === '') throw new AppError('invalid_parameter', 'password is required')
      const proof = isOwn ? { password, address } : null
      return whenDone(deletions.delete({ appId, userId, actorId, proof }))
    }),
  ]
}
