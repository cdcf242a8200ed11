import { conversationHandlers } from '../api/messages/conversations.js'
import { sendingHandlers } from '../api/messages/sending.js'
import { applicationHandlers } from '../api/operator/applications.js'
import { integrityHandlers } from '../api/operator/integrity.js'
import { tokenHandlers } from '../api/tokens/tokens.js'
import { userAdministrationHandlers } from '../api/users/administration.js'
import { profileHandlers } from '../api/users/profile.js'
import { registrationHandlers } from '../api/users/registration.js'
import type { Handler } from '../pipeline/call.js'
import type { Services } from './services.js'

/** The code behind every operation that is built. */
export function createHandlers(services: Services): readonly Handler[] {
  return [
    tokenHandlers,
    registrationHandlers,
    profileHandlers,
    userAdministrationHandlers,
    sendingHandlers,
    conversationHandlers,
    applicationHandlers,
    integrityHandlers,
  ].flatMap((create) => create(services))
}

/** For the reference, which needs no running service: handlers touch their services only when they are called. */
export const builtOperationIds: ReadonlySet<string> = new Set(createHandlers({} as Services).map(({ operation }) => operation.id))
