import type { Bus } from '../bus/bus.js'
import { cacheInvalidation } from '../bus/cache-invalidation.js'
import type { Database } from '../db/database.js'
import type { AppService } from '../domain/apps/app-service.js'
import { GroupInviter } from '../domain/groups/admission/group-inviter.js'
import { GroupQrService } from '../domain/groups/admission/group-qr-service.js'
import { GroupInvitationService } from '../domain/groups/admission/invitation-service.js'
import type { InvitationStore } from '../domain/groups/admission/invitation-store.js'
import { JoinRequestService } from '../domain/groups/admission/join-request-service.js'
import type { JoinRequestStore } from '../domain/groups/admission/join-request-store.js'
import { OpenAdmissions } from '../domain/groups/admission/open-admissions.js'
import { AnnouncementService } from '../domain/groups/content/announcement-service.js'
import { AnnouncementStore } from '../domain/groups/content/announcement-store.js'
import { SharedFileService } from '../domain/groups/content/shared-file-service.js'
import { SharedFileStore } from '../domain/groups/content/shared-file-store.js'
import { GroupAccess } from '../domain/groups/core/group-access.js'
import { GroupCache } from '../domain/groups/core/group-cache.js'
import { GroupMessageRules } from '../domain/groups/core/group-message-rules.js'
import { GroupService } from '../domain/groups/core/group-service.js'
import { GroupSettingsService } from '../domain/groups/core/group-settings-service.js'
import { GroupStore } from '../domain/groups/core/group-store.js'
import type { GroupConversations } from '../domain/groups/membership/group-conversations.js'
import { GroupMemberService } from '../domain/groups/membership/group-member-service.js'
import { GroupSuccession } from '../domain/groups/membership/group-succession.js'
import { MemberListStore } from '../domain/groups/membership/member-list-store.js'
import type { MemberStore } from '../domain/groups/membership/member-store.js'
import {
  MembershipService,
  type MembershipServiceOptions,
} from '../domain/groups/membership/membership-service.js'
import type { RemovalStore } from '../domain/groups/membership/removal-store.js'
import type { BlockStore } from '../domain/groups/moderation/block-store.js'
import { GroupModerationService } from '../domain/groups/moderation/group-moderation-service.js'
import type { UserLocker } from '../domain/users/locked-users.js'
import type { Clock } from '../lib/clock.js'
import type { IdGenerator } from '../lib/ids.js'
import type { SecretKeys } from '../lib/secret-keys.js'
import type { EventService } from '../outbox/event-service.js'

interface Shared {
  readonly database: Database
  readonly bus: Bus
  readonly users: UserLocker
  readonly members: MemberStore
  readonly removals: RemovalStore
  readonly blocks: BlockStore
  readonly invitations: InvitationStore
  readonly joinRequests: JoinRequestStore
  readonly conversations: GroupConversations
  readonly pins: MembershipServiceOptions['pins']
  readonly apps: AppService
  readonly events: EventService
  readonly ids: IdGenerator
  readonly clock: Clock
  readonly secretKeys: SecretKeys
}

export interface GroupServices {
  readonly announcements: AnnouncementService
  readonly groupAccess: GroupAccess
  readonly joinRequests: JoinRequestService
  readonly groupCache: GroupCache
  readonly groupMessageRules: GroupMessageRules
  readonly groupInvitations: GroupInvitationService
  readonly groupMembers: GroupMemberService
  readonly groupModeration: GroupModerationService
  readonly groupQrCodes: GroupQrService
  readonly groupSettings: GroupSettingsService
  readonly groups: GroupService
  readonly groupSuccession: GroupSuccession
  readonly sharedFiles: SharedFileService
}

export function createGroupServices(shared: Shared): GroupServices {
  const { database, bus, members, invitations } = shared
  const groups = new GroupStore(database)
  const admissions = new OpenAdmissions(shared)
  const channels = {
    groups: cacheInvalidation(bus, 'groups'),
    members: cacheInvalidation(bus, 'group-members'),
  }
  const cache = new GroupCache({ database, groups, members, channels })
  const access = new GroupAccess({ ...shared, groups, cache })
  const memberships = new MembershipService({ ...shared, groups, admissions })
  const inviter = new GroupInviter({ ...shared, invitations, memberships })
  const parts = {
    ...shared,
    groups,
    admissions,
    cache,
    access,
    memberships,
    inviter,
  }
  const groupInvitations = new GroupInvitationService(parts)
  const joinRequests = new JoinRequestService({
    ...parts,
    invitations: groupInvitations,
  })
  return {
    announcements: new AnnouncementService({ ...parts, announcements: new AnnouncementStore() }),
    groupAccess: access,
    joinRequests,
    groupCache: cache,
    groupMessageRules: new GroupMessageRules(parts),
    groupInvitations,
    groupMembers: new GroupMemberService({ ...parts, lists: new MemberListStore() }),
    groupModeration: new GroupModerationService(parts),
    groupQrCodes: new GroupQrService(parts),
    groupSettings: new GroupSettingsService(parts),
    groups: new GroupService(parts),
    groupSuccession: new GroupSuccession(parts),
    sharedFiles: new SharedFileService({ ...parts, files: new SharedFileStore() }),
  }
}
