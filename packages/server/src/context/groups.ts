import type { Bus } from '../bus/bus.js'
import { factChannel } from '../bus/fact-channel.js'
import type { Database } from '../db/database.js'
import type { UserLocker } from '../domain/accounts/locked-users.js'
import type { ApplicationService } from '../domain/applications/application-service.js'
import type { EventService } from '../domain/events/event-service.js'
import { AnnouncementService } from '../domain/groups/announcement-service.js'
import { AnnouncementStore } from '../domain/groups/announcement-store.js'
import { BlockStore } from '../domain/groups/block-store.js'
import { GroupAccess } from '../domain/groups/group-access.js'
import { GroupApplicationService } from '../domain/groups/group-application-service.js'
import { GroupApplicationStore } from '../domain/groups/group-application-store.js'
import { GroupDoor } from '../domain/groups/group-door.js'
import { GroupFacts } from '../domain/groups/group-facts.js'
import { GroupInvitationService } from '../domain/groups/group-invitation-service.js'
import { GroupInviter } from '../domain/groups/group-inviter.js'
import { GroupMemberService } from '../domain/groups/group-member-service.js'
import { GroupMessageRules } from '../domain/groups/group-message-rules.js'
import { GroupModerationService } from '../domain/groups/group-moderation-service.js'
import { GroupQrService } from '../domain/groups/group-qr-service.js'
import { GroupService } from '../domain/groups/group-service.js'
import { GroupSettingsService } from '../domain/groups/group-settings-service.js'
import { GroupStore } from '../domain/groups/group-store.js'
import { GroupSuccession } from '../domain/groups/group-succession.js'
import { InvitationStore } from '../domain/groups/invitation-store.js'
import { MemberListStore } from '../domain/groups/member-list-store.js'
import { MemberStore } from '../domain/groups/member-store.js'
import { SharedFileService } from '../domain/groups/shared-file-service.js'
import { SharedFileStore } from '../domain/groups/shared-file-store.js'
import { SuccessionStore } from '../domain/groups/succession-store.js'
import type { Clock } from '../lib/clock.js'
import type { IdGenerator } from '../lib/ids.js'

interface Shared {
  readonly database: Database
  readonly bus: Bus
  readonly users: UserLocker
  readonly applications: ApplicationService
  readonly events: EventService
  readonly ids: IdGenerator
  readonly clock: Clock
  readonly secretKey: Buffer
}

export interface GroupServices {
  readonly announcements: AnnouncementService
  readonly groupAccess: GroupAccess
  readonly groupApplications: GroupApplicationService
  readonly groupFacts: GroupFacts
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
  const { database, bus } = shared
  const groups = new GroupStore(database)
  const members = new MemberStore(database)
  const invitations = new InvitationStore()
  const channels = {
    groups: factChannel(bus, 'groups'),
    members: factChannel(bus, 'group-members'),
  }
  const facts = new GroupFacts({ database, groups, members, channels })
  const access = new GroupAccess({ ...shared, groups, members, facts })
  const door = new GroupDoor({ ...shared, groups, members })
  const inviter = new GroupInviter({ ...shared, invitations, door })
  const blocks = new BlockStore()
  const parts = { ...shared, groups, members, blocks, invitations, facts, access, door, inviter }
  const groupInvitations = new GroupInvitationService(parts)
  const groupApplications = new GroupApplicationService({
    ...parts,
    applications: new GroupApplicationStore(),
    invitations: groupInvitations,
  })
  return {
    announcements: new AnnouncementService({ ...parts, announcements: new AnnouncementStore() }),
    groupAccess: access,
    groupApplications,
    groupFacts: facts,
    groupMessageRules: new GroupMessageRules(parts),
    groupInvitations,
    groupMembers: new GroupMemberService({ ...parts, lists: new MemberListStore() }),
    groupModeration: new GroupModerationService(parts),
    groupQrCodes: new GroupQrService(parts),
    groupSettings: new GroupSettingsService(parts),
    groups: new GroupService(parts),
    groupSuccession: new GroupSuccession({
      ...shared,
      facts,
      store: new SuccessionStore(database),
    }),
    sharedFiles: new SharedFileService({ ...parts, files: new SharedFileStore() }),
  }
}
