import type { AppService } from '../../domain/apps/app-service.js'
import { AdditionRules } from '../../domain/groups/admission/addition-rules.js'
import { GroupInviter } from '../../domain/groups/admission/group-inviter.js'
import { GroupQrService } from '../../domain/groups/admission/group-qr-service.js'
import { GroupInvitationService } from '../../domain/groups/admission/invitation-service.js'
import { JoinRequestService } from '../../domain/groups/admission/join-request-service.js'
import { OpenAdmissions } from '../../domain/groups/admission/open-admissions.js'
import { AnnouncementStore } from '../../domain/groups/content/announcement-store.js'
import { ContentErasure } from '../../domain/groups/content/content-erasure.js'
import { AnnouncementService } from '../../domain/groups/content/announcement-service.js'
import { SharedFileService } from '../../domain/groups/content/shared-file-service.js'
import { SharedFileStore } from '../../domain/groups/content/shared-file-store.js'
import { GroupAccess } from '../../domain/groups/core/group-access.js'
import { GroupCache } from '../../domain/groups/core/group-cache.js'
import { GroupEvents } from '../../domain/groups/core/group-events.js'
import { GroupMessageRules } from '../../domain/groups/core/group-message-rules.js'
import { GroupService } from '../../domain/groups/core/group-service.js'
import { GroupSettingsService } from '../../domain/groups/core/group-settings-service.js'
import { GroupMemberService } from '../../domain/groups/membership/group-member-service.js'
import { MemberListStore } from '../../domain/groups/membership/member-list-store.js'
import { MembershipService } from '../../domain/groups/membership/membership-service.js'
import { OwnershipTransfer } from '../../domain/groups/membership/ownership-transfer.js'
import { EndedBans } from '../../domain/groups/moderation/ended-bans.js'
import { GroupModerationService } from '../../domain/groups/moderation/group-moderation-service.js'
import { GroupReaders } from '../../domain/messaging/readers/group-readers.js'
import { minuteMs } from '../../lib/clock.js'
import type { SecretKeys } from '../../lib/secrets/secret-keys.js'
import type { Domain } from '../domain.js'
import type { Infrastructure } from '../infrastructure.js'

export type GroupServices = ReturnType<typeof createGroups>['services']

export function createGroups(
  { database, caches, stores, outbox, ids, clock, budget }: Infrastructure,
  { apps, secretKeys }: { readonly apps: AppService; readonly secretKeys: SecretKeys },
) {
  const {
    contacts,
    groups,
    groupBlocks: blocks,
    groupInvitations: invitations,
    joinRequests,
    members,
    pins,
    removals,
    users,
  } = stores
  const conversations = new GroupReaders(stores)
  const lists = new MemberListStore()
  const events = new GroupEvents({ groups, outbox })
  const admissions = new OpenAdmissions({ invitations, joinRequests, lists })
  const cache = new GroupCache({
    database,
    groups,
    members,
    groupCache: caches.groups,
    memberCache: caches.members,
  })
  const access = new GroupAccess({ database, groups, members, invitations, users, clock, budget })
  const memberships = new MembershipService({
    groups,
    members,
    removals,
    blocks,
    admissions,
    conversations,
    pins,
    events,
    outbox,
  })
  const rules = new AdditionRules({ invitations, members, relations: contacts })
  const inviter = new GroupInviter({ invitations, rules, memberships, events })
  const groupInvitations = new GroupInvitationService({
    database,
    invitations,
    access,
    memberships,
    inviter,
    events,
  })
  const endedBans = new EndedBans({ database, groups, members, lists, clock })
  const announcements = new AnnouncementStore()
  const sharedFiles = new SharedFileStore()
  const services = {
    announcements: new AnnouncementService({ access, announcements, events, ids }),
    contentErasure: new ContentErasure({
      database,
      groups,
      announcements,
      files: sharedFiles,
      events,
    }),
    groupAccess: access,
    groupCache: cache,
    groupInvitations,
    groupMembers: new GroupMemberService({
      access,
      apps,
      members,
      lists,
      blocks,
      memberships,
      inviter,
      budget,
      users,
    }),
    groupMessageRules: new GroupMessageRules({ groups, members, cache, clock }),
    groupModeration: new GroupModerationService({
      access,
      groups,
      members,
      blocks,
      removals,
      admissions,
      memberships,
      events,
    }),
    groupQrCodes: new GroupQrService({ apps, members, access, memberships, clock, secretKeys }),
    groupSettings: new GroupSettingsService({
      access,
      groups,
      members,
      conversations,
      events,
    }),
    ownershipTransfer: new OwnershipTransfer({ groups, members, admissions, events, clock }),
    groups: new GroupService({
      database,
      groups,
      members,
      conversations,
      users,
      apps,
      access,
      admissions,
      inviter,
      events,
      ids,
      clock,
    }),
    joinRequests: new JoinRequestService({
      database,
      groups,
      joinRequests,
      admissions,
      access,
      memberships,
      invitations: groupInvitations,
      events,
    }),
    sharedFiles: new SharedFileService({ access, files: sharedFiles, events, ids }),
  }
  return {
    services,
    maintenanceTasks: [
      { name: 'ended bans', intervalMs: minuteMs, run: (signal) => endedBans.clear(signal) },
    ],
  } satisfies Domain
}
