import type { AppService } from '../domain/apps/app-service.js'
import type { ContactRequestService } from '../domain/contacts/contact-request-service.js'
import type { ContactService } from '../domain/contacts/contact-service.js'
import type { MessageRules } from '../domain/contacts/message-rules.js'
import type { DeviceAccessService } from '../domain/devices/device-access-service.js'
import type { DeviceService } from '../domain/devices/device-service.js'
import type { PresenceService } from '../domain/devices/presence-service.js'
import type { OperatorFileService } from '../domain/files/operator-file-service.js'
import type { DownloadService } from '../domain/files/transfer/download-service.js'
import type { TicketService } from '../domain/files/transfer/ticket-service.js'
import type { UploadService } from '../domain/files/transfer/upload-service.js'
import type { GroupQrService } from '../domain/groups/admission/group-qr-service.js'
import type { GroupInvitationService } from '../domain/groups/admission/invitation-service.js'
import type { JoinRequestService } from '../domain/groups/admission/join-request-service.js'
import type { AnnouncementService } from '../domain/groups/content/announcement-service.js'
import type { SharedFileService } from '../domain/groups/content/shared-file-service.js'
import type { GroupService } from '../domain/groups/core/group-service.js'
import type { GroupSettingsService } from '../domain/groups/core/group-settings-service.js'
import type { GroupMemberService } from '../domain/groups/membership/group-member-service.js'
import type { GroupModerationService } from '../domain/groups/moderation/group-moderation-service.js'
import type { IntegrityService } from '../domain/integrity/integrity-service.js'
import type { PasswordService } from '../domain/login/password-service.js'
import type { TokenService } from '../domain/login/token-service.js'
import type { PinService } from '../domain/messaging/conversations/pin-service.js'
import type { MessageOperations } from '../domain/messaging/operations/message-operations.js'
import type { ConversationService } from '../domain/messaging/reading/conversation-service.js'
import type { BroadcastService } from '../domain/messaging/sending/broadcast-service.js'
import type { MessageService } from '../domain/messaging/sending/message-service.js'
import type { CertificateAdminService } from '../domain/push/certificates/certificate-admin-service.js'
import type { CertificateService } from '../domain/push/certificates/certificate-service.js'
import type { PushPreferenceService } from '../domain/push/preferences/push-preference-service.js'
import type { ReportService } from '../domain/push/receipts/report-service.js'
import type { OperatorTaskService } from '../domain/push/tasks/operator-task-service.js'
import type { PushTaskService } from '../domain/push/tasks/push-task-service.js'
import type { TraceService } from '../domain/push/trace/trace-service.js'
import type { AccountService } from '../domain/users/account-service.js'
import type { DeletionService } from '../domain/users/deletion/deletion-service.js'
import type { UserImportService } from '../domain/users/import/user-import-service.js'
import type { OperatorUserService } from '../domain/users/operator-user-service.js'
import type { ProfileService } from '../domain/users/profile-service.js'
import type { RegistrationService } from '../domain/users/registration/registration-service.js'
import type { SettingsService } from '../domain/users/settings/settings-service.js'

/** All services that handlers call; each file of handlers picks its own. */
export interface HandlerServices {
  readonly accounts: AccountService
  readonly announcements: AnnouncementService
  readonly apps: AppService
  readonly broadcasts: BroadcastService
  readonly certificateAdmin: CertificateAdminService
  readonly contactRequests: ContactRequestService
  readonly contacts: ContactService
  readonly conversations: ConversationService
  readonly deletions: DeletionService
  readonly deviceAccess: DeviceAccessService
  readonly devices: DeviceService
  readonly downloads: DownloadService
  readonly fileTickets: TicketService
  readonly groupInvitations: GroupInvitationService
  readonly groupMembers: GroupMemberService
  readonly groupModeration: GroupModerationService
  readonly groupQrCodes: GroupQrService
  readonly groupSettings: GroupSettingsService
  readonly groups: GroupService
  readonly integrity: IntegrityService
  readonly joinRequests: JoinRequestService
  readonly messageOperations: MessageOperations
  readonly messageRules: MessageRules
  readonly messages: MessageService
  readonly operatorFiles: OperatorFileService
  readonly operatorTasks: OperatorTaskService
  readonly operatorUsers: OperatorUserService
  readonly passwords: PasswordService
  readonly pins: PinService
  readonly presence: PresenceService
  readonly profiles: ProfileService
  readonly pushCertificates: CertificateService
  readonly pushPreferences: PushPreferenceService
  readonly pushTasks: PushTaskService
  readonly pushReports: ReportService
  readonly registrations: RegistrationService
  readonly settings: SettingsService
  readonly sharedFiles: SharedFileService
  readonly tokens: TokenService
  readonly traces: TraceService
  readonly uploads: UploadService
  readonly userImports: UserImportService
}
