import { applicationFlagHandlers } from '../api/applications/flags.js'
import { contactApplicationHandlers } from '../api/contacts/applications.js'
import { contactHandlers } from '../api/contacts/contacts.js'
import { announcementHandlers } from '../api/groups/announcements.js'
import { groupApplicationHandlers } from '../api/groups/applications.js'
import { sharedFileHandlers } from '../api/groups/files.js'
import { groupHandlers } from '../api/groups/groups.js'
import { groupInvitationHandlers } from '../api/groups/invitations.js'
import { groupMemberHandlers } from '../api/groups/members.js'
import { groupModerationHandlers } from '../api/groups/moderation.js'
import { groupQrHandlers } from '../api/groups/qr.js'
import { groupSettingsHandlers } from '../api/groups/settings.js'
import { conversationHandlers } from '../api/messages/conversations.js'
import { recallHandlers } from '../api/messages/recall.js'
import { sendingHandlers } from '../api/messages/sending.js'
import { applicationHandlers } from '../api/operator/applications.js'
import { integrityHandlers } from '../api/operator/integrity.js'
import { operatorUserHandlers } from '../api/operator/users.js'
import { tokenHandlers } from '../api/tokens/tokens.js'
import { userAdministrationHandlers } from '../api/users/administration.js'
import { deletionHandlers } from '../api/users/deletion.js'
import { deviceHandlers } from '../api/users/devices.js'
import { nameHandlers } from '../api/users/names.js'
import { passwordHandlers } from '../api/users/passwords.js'
import { pinHandlers } from '../api/users/pins.js'
import { profileHandlers } from '../api/users/profile.js'
import { pushPreferenceHandlers } from '../api/users/push-preferences.js'
import { registrationHandlers } from '../api/users/registration.js'
import { settingsHandlers } from '../api/users/settings.js'
import type { Handler } from '../pipeline/call.js'
import type { Services } from './services.js'

/** The code behind every operation that is built. */
export function createHandlers(services: Services): readonly Handler[] {
  return [
    tokenHandlers,
    registrationHandlers,
    profileHandlers,
    nameHandlers,
    settingsHandlers,
    passwordHandlers,
    deletionHandlers,
    applicationFlagHandlers,
    userAdministrationHandlers,
    deviceHandlers,
    pushPreferenceHandlers,
    pinHandlers,
    contactHandlers,
    contactApplicationHandlers,
    groupHandlers,
    groupSettingsHandlers,
    groupApplicationHandlers,
    groupInvitationHandlers,
    groupQrHandlers,
    groupMemberHandlers,
    groupModerationHandlers,
    announcementHandlers,
    sharedFileHandlers,
    sendingHandlers,
    recallHandlers,
    conversationHandlers,
    applicationHandlers,
    integrityHandlers,
    operatorUserHandlers,
  ].flatMap((create) => create(services))
}

/** For the reference, which needs no running service: handlers touch their services only when they are called. */
export const builtOperationIds: ReadonlySet<string> = new Set(
  createHandlers({} as Services).map(({ operation }) => operation.id),
)
