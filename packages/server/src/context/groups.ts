import type { Bus } from '../bus/bus.js'
import { factChannel } from '../bus/fact-channel.js'
import type { Database } from '../db/database.js'
import type { UserLocker } from '../domain/accounts/locked-users.js'
import type { ApplicationService } from '../domain/applications/application-service.js'
import type { EventService } from '../domain/events/event-service.js'
import { GroupAccess } from '../domain/groups/group-access.js'
import { GroupDoor } from '../domain/groups/group-door.js'
import { GroupFacts } from '../domain/groups/group-facts.js'
import { GroupInviter } from '../domain/groups/group-inviter.js'
import { GroupMemberService } from '../domain/groups/group-member-service.js'
import { GroupService } from '../domain/groups/group-service.js'
import { GroupStore } from '../domain/groups/group-store.js'
import { InvitationStore } from '../domain/groups/invitation-store.js'
import { MemberStore } from '../domain/groups/member-store.js'
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
}

export interface GroupServices {
  readonly groupFacts: GroupFacts
  readonly groupMembers: GroupMemberService
  readonly groups: GroupService
}

export function createGroupServices(shared: Shared): GroupServices {
  const { database, bus } = shared
  const groups = new GroupStore(database)
  const members = new MemberStore(database)
  const invitations = new InvitationStore()
  const channels = { groups: factChannel(bus, 'groups'), members: factChannel(bus, 'group-members') }
  const facts = new GroupFacts({ database, groups, members, channels })
  const access = new GroupAccess({ ...shared, groups, members, facts })
  const door = new GroupDoor({ ...shared, groups, members })
  const inviter = new GroupInviter({ ...shared, invitations, door })
  const parts = { ...shared, groups, members, invitations, facts, access, door, inviter }
  return {
    groupFacts: facts,
    groupMembers: new GroupMemberService(parts),
    groups: new GroupService(parts),
  }
}
