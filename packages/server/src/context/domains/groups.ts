import type { AppService } from '../../domain/apps/app-service.js'
import { GroupInviter } from '../../domain/groups/admission/group-inviter.js'
import { GroupQrService } from '../../domain/groups/admission/group-qr-service.js'
import { GroupInvitationService } from '../../domain/groups/admission/invitation-service.js'
import { JoinRequestService } from '../../domain/groups/admission/join-request-service.js'
import { AnnouncementService } from '../../domain/groups/content/announcement-service.js'
import { SharedFileService } from '../../domain/groups/content/shared-file-service.js'
import { GroupAccess } from '../../domain/groups/core/group-access.js'
import { GroupCache } from '../../domain/groups/core/group-cache.js'
import { GroupMessageRules } from '../../domain/groups/core/group-message-rules.js'
import { GroupService } from '../../domain/groups/core/group-service.js'
import { GroupSettingsService } from '../../domain/groups/core/group-settings-service.js'
import { GroupMemberService } from '../../domain/groups/membership/group-member-service.js'
import { GroupSuccession } from '../../domain/groups/membership/group-succession.js'
import { MembershipService } from '../../domain/groups/membership/membership-service.js'
import { GroupModerationService } from '../../domain/groups/moderation/group-moderation-service.js'
import type { Foundation } from '../foundation.js'

export interface Groups {
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

export function createGroups(
  { database, caches, stores, events, ids, clock }: Foundation,
  { apps, secretKey }: { readonly apps: AppService; readonly secretKey: Buffer },
): Groups {
  const {
    announcements,
    groupBlocks: blocks,
    groupInvitations: invitations,
    groups,
    joinRequests,
    memberLists: lists,
    members,
    sharedFiles: files,
    succession,
    users,
  } = stores
  const cache = new GroupCache({
    database,
    groups,
    members,
    groupCache: caches.groups,
    memberCache: caches.members,
  })
  const access = new GroupAccess({ database, groups, members, users, clock })
  const memberships = new MembershipService({ groups, members, events })
  const inviter = new GroupInviter({ invitations, memberships, events })
  const groupInvitations = new GroupInvitationService({
    database,
    invitations,
    access,
    memberships,
    inviter,
    events,
  })
  return {
    announcements: new AnnouncementService({ access, announcements, events, ids }),
    groupAccess: access,
    groupCache: cache,
    groupInvitations,
    groupMembers: new GroupMemberService({ access, apps, members, lists, blocks, memberships }),
    groupMessageRules: new GroupMessageRules({ groups, members, cache, clock }),
    groupModeration: new GroupModerationService({
      access,
      groups,
      members,
      blocks,
      memberships,
      events,
    }),
    groupQrCodes: new GroupQrService({ apps, members, access, memberships, clock, secretKey }),
    groupSettings: new GroupSettingsService({ access, groups, members, events }),
    groupSuccession: new GroupSuccession({
      store: succession,
      groupCache: caches.groups,
      memberCache: caches.members,
      events,
      clock,
    }),
    groups: new GroupService({
      database,
      groups,
      members,
      users,
      apps,
      access,
      inviter,
      events,
      ids,
      clock,
    }),
    joinRequests: new JoinRequestService({
      database,
      joinRequests,
      access,
      memberships,
      invitations: groupInvitations,
      events,
    }),
    sharedFiles: new SharedFileService({ access, files, events, ids }),
  }
}
