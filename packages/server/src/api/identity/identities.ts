import { AppError, linkIdentity, listIdentities, unlinkIdentity } from '@hermod/protocol'
import type { IdentityService } from '../../domain/identity/identities/identity-service.js'
import type { UserProof } from '../../domain/identity/proofs/user-proofs.js'
import { type CallContext, data, type Handler, handle, whenDone } from '../../pipeline/call.js'

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
    handle(linkIdentity, async ({ issuer, subject, assertion, ...given }, context) => {
      const { appId, userId, tokenOwnerId: actorId } = context.principal
      const proof = proofOf(given, context)
      if (assertion !== undefined)
        return whenDone(identities.linkAsserted({ appId, userId, actorId }, assertion, proof))
      // A user could claim a subject whose person has not come yet.
      if (proof !== null)
        throw new AppError('invalid_parameter', 'assertion is required with a user token')
      // The definition requires both.
      const subjectOf = { issuer: issuer ?? '', subject: subject ?? '' }
      return whenDone(identities.link({ appId, ...subjectOf, userId, actorId }))
    }),
    handle(unlinkIdentity, ({ issuer, subject, ...given }, context) => {
      const { appId, userId, tokenOwnerId: actorId } = context.principal
      const proof = proofOf(given, context)
      return whenDone(identities.unlink({ appId, issuer, subject, userId, actorId }, proof))
    }),
  ]
}

/** Returns null for an Admin token, which needs no proof. */
function proofOf(
  { password = '', proof: assertion = '' }: { readonly password?: string; readonly proof?: string },
  { principal, address }: CallContext<'user'>,
): UserProof | null {
  return principal.kind === 'user'
    ? { password, assertion, address, tokenHash: principal.tokenHash }
    : null
}
