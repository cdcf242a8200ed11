import { linkIdentity, listIdentities, unlinkIdentity } from '@hermod/protocol'
import type { IdentityService } from '../../domain/identity/identities/identity-service.js'
import { data, type Handler, handle, whenDone } from '../../pipeline/call.js'

export function identityHandlers({
  identities,
}: {
  readonly identities: IdentityService
}): Handler[] {
  return [
    handle(listIdentities, async (_, { principal }) => {
      const found = await identities.list(principal)
      return data(
        found.map(({ issuer, subject, linkedAt }) => ({ issuer, subject, linked_at: linkedAt })),
      )
    }),
    handle(linkIdentity, ({ issuer, subject }, { principal }) => {
      const { appId, userId, tokenOwnerId: actorId } = principal
      return whenDone(identities.link({ appId, issuer, subject, userId, actorId }))
    }),
    handle(unlinkIdentity, ({ issuer, subject, password = '' }, { principal, address }) => {
      const { appId, userId, tokenOwnerId: actorId } = principal
      const proof =
        principal.kind === 'user' ? { password, address, tokenHash: principal.tokenHash } : null
      return whenDone(identities.unlink({ appId, issuer, subject, userId, actorId }, proof))
    }),
  ]
}
