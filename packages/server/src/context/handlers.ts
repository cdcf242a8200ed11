import { alertHandlers } from '../api/alerts/operator.js'
import { appFlagHandlers } from '../api/apps/flags.js'
import { appHandlers } from '../api/apps/operator.js'
import { backupHandlers } from '../api/backup/operator.js'
import { contactHandlers } from '../api/contacts/contacts.js'
import { contactRequestHandlers } from '../api/contacts/requests.js'
import { deviceHandlers } from '../api/devices/devices.js'
import { erasureHandlers } from '../api/erasure/operator.js'
import { fileHandlers } from '../api/files/files.js'
import { operatorFileHandlers } from '../api/files/operator.js'
import { announcementHandlers } from '../api/groups/announcements.js'
import { sharedFileHandlers } from '../api/groups/files.js'
import { groupHandlers } from '../api/groups/groups.js'
import { groupInvitationHandlers } from '../api/groups/invitations.js'
import { joinRequestHandlers } from '../api/groups/join-requests.js'
import { groupMemberHandlers } from '../api/groups/members.js'
import { groupModerationHandlers } from '../api/groups/moderation.js'
import { groupQrHandlers } from '../api/groups/qr.js'
import { groupSettingsHandlers } from '../api/groups/settings.js'
import { identityHandlers } from '../api/identity/identities.js'
import { issuerHandlers } from '../api/identity/issuers.js'
import { issueHandlers } from '../api/identity/tokens.js'
import { importHandlers } from '../api/imports/operator.js'
import { integrityHandlers } from '../api/integrity/check.js'
import { longJobHandlers } from '../api/long-jobs/operator.js'
import { passwordHandlers } from '../api/login/passwords.js'
import { tokenHandlers } from '../api/login/tokens.js'
import { conversationHandlers } from '../api/messaging/conversations.js'
import { MessageAnswers } from '../api/messaging/message-answers.js'
import { pinHandlers } from '../api/messaging/pins.js'
import { pinnedMessageHandlers } from '../api/messaging/pinned-messages.js'
import { reactionHandlers } from '../api/messaging/reactions.js'
import { recallHandlers } from '../api/messaging/recall.js'
import { streamHandlers } from '../api/messaging/streams.js'
import { sendingHandlers } from '../api/messaging/sending.js'
import { syncHandlers } from '../api/messaging/sync.js'
import { nodeHandlers } from '../api/nodes/operator.js'
import { pushCertificateHandlers } from '../api/push/certificates.js'
import { operatorPushHandlers } from '../api/push/operator.js'
import { operatorTaskHandlers } from '../api/push/operator-tasks.js'
import { pushPreferenceHandlers } from '../api/push/preferences.js'
import { pushReportHandlers } from '../api/push/reports.js'
import { pushTaskHandlers } from '../api/push/tasks.js'
import { realtimeHandlers } from '../api/realtime/realtime.js'
import { restoreHandlers } from '../api/restore/operator.js'
import { secretHandlers } from '../api/secrets/operator.js'
import { serviceStateHandlers } from '../api/service-state/operator.js'
import { sessionHandlers } from '../api/sessions/sessions.js'
import { userAdministrationHandlers } from '../api/users/administration.js'
import { deletionHandlers } from '../api/users/deletion.js'
import { nameHandlers } from '../api/users/names.js'
import { operatorUserHandlers } from '../api/users/operator.js'
import { profileHandlers } from '../api/users/profile.js'
import { registrationHandlers } from '../api/users/registration.js'
import { settingsHandlers } from '../api/users/settings.js'
import { webhookHandlers } from '../api/webhooks/endpoints.js'
import { eventLogHandlers } from '../api/webhooks/log.js'
import type { Handler } from '../pipeline/call.js'
import type { Services } from './services.js'

/** The handlers of all operations that are built. */
export function createHandlers(services: Services): readonly Handler[] {
  const { apps } = services.apps
  const messageAnswers = new MessageAnswers(services.messaging)
  return [
    ...webhookHandlers(services.webhooks),
    eventLogHandlers({ apps, ...services.eventLog }),
    tokenHandlers(services.login),
    issueHandlers(services.identity),
    identityHandlers(services.identity),
    issuerHandlers(services.identity),
    registrationHandlers(services.users),
    profileHandlers(services.users),
    nameHandlers(services.users),
    settingsHandlers(services.users),
    passwordHandlers(services.login),
    deletionHandlers(services.users),
    appFlagHandlers(services.apps),
    userAdministrationHandlers(services.users),
    deviceHandlers({ ...services.devices, ...services.presence }),
    realtimeHandlers({
      ...services.messaging,
      ...services.presence,
      ...services.push,
    }),
    pushPreferenceHandlers(services.push),
    pushCertificateHandlers(services.push),
    pushTaskHandlers(services.push),
    pushReportHandlers(services.push),
    pinHandlers(services.messaging),
    contactHandlers(services.contacts),
    contactRequestHandlers(services.contacts),
    groupHandlers(services.groups),
    groupSettingsHandlers(services.groups),
    joinRequestHandlers(services.groups),
    groupInvitationHandlers(services.groups),
    groupQrHandlers(services.groups),
    groupMemberHandlers(services.groups),
    groupModerationHandlers(services.groups),
    announcementHandlers(services.groups),
    sharedFileHandlers(services.groups),
    fileHandlers(services.files),
    sendingHandlers(services.messaging),
    recallHandlers(services.messaging),
    reactionHandlers(services.messaging),
    pinnedMessageHandlers({ ...services.messaging, messageAnswers }),
    streamHandlers(services.messaging),
    conversationHandlers({ ...services.messaging, messageAnswers }),
    syncHandlers({ ...services.messaging, messageAnswers }),
    alertHandlers(services.alerts),
    appHandlers(services.apps),
    backupHandlers(services.backup),
    importHandlers(services.imports),
    integrityHandlers({ ...services.integrity, ...services.serviceState, ...services.alerts }),
    longJobHandlers(services.longJobs),
    nodeHandlers(services.nodes),
    restoreHandlers(services.restore),
    secretHandlers(services.secrets),
    serviceStateHandlers(services.serviceState),
    sessionHandlers(services.sessions),
    operatorPushHandlers(services.push),
    operatorUserHandlers(services.users),
    erasureHandlers({ ...services.erasure, ...services.users }),
    operatorTaskHandlers({ apps, ...services.push }),
    operatorFileHandlers({ apps, ...services.files }),
  ].flat()
}

/**
 * For the generated reference, which needs no running service: handlers use their services only
 * when called.
 */
const noServices = new Proxy({} as Services, { get: () => ({}) })

export const builtOperationIds: ReadonlySet<string> = new Set(
  createHandlers(noServices).map(({ operation }) => operation.id),
)
