import { groupStatus, groupType, type Int64, memberRole } from '@hermod/protocol'
import type { Event } from '@hermod/protocol/events'
import type { Tx } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import type { UserKey } from '../../users/user-model.js'
import type { OpenAdmissions } from '../admission/open-admissions.js'
import type { GroupEvents } from '../core/group-events.js'
import { type Group, groupEvent, nextUpdate } from '../core/group-model.js'
import type { GroupStore } from '../core/group-store.js'
import type { MemberStore } from './member-store.js'

export interface OwnershipTransferOptions {
  readonly groups: GroupStore
  readonly members: MemberStore
  readonly admissions: OpenAdmissions
  readonly events: GroupEvents
  readonly clock: Clock
}

/** Transfers or dissolves the groups of a deleted user (rule D5). */
export class OwnershipTransfer {
  constructor(private readonly options: OwnershipTransferOptions) {}

  /**
   * Removes a user, locked by the transaction, from all groups. Owned groups pass to the
   * longest-serving admin, else member; groups without members are dissolved. The same transaction
   * deletes the rows of the user.
   */
  async withdraw(tx: Tx, user: UserKey, actorId: Int64): Promise<void> {
    const { groups, members, admissions, clock } = this.options
    const { appId } = user
    const now = clock.now()
    const locked = await groups.lockForRemoval(tx, user)
    if (locked.length === 0) return
    const joined = await members.listAllGroups(tx, user)
    const owned = locked.filter(
      ({ ownerId, status }) => ownerId === user.userId && status === groupStatus.normal,
    )
    const ownedIds = owned.map(({ groupId }) => groupId)
    const heirs = await groups.transferOwnership(tx, user, ownedIds, now)
    await members.appointOwners(tx, appId, heirs)
    const emptied = new Set(ownedIds.filter((groupId) => !heirs.has(groupId)))
    const groupIds = [...emptied]
    await admissions.closeAll(tx, appId, groupIds, now)
    await groups.dissolve(tx, appId, groupIds, now)
    await groups.removeFromCounts(tx, user, now)
    const left = locked.filter(
      ({ groupId, status }) => joined.has(groupId) && status === groupStatus.normal,
    )
    for (const group of left) {
      const events = transferEvents(group, {
        user,
        actorId,
        heirId: heirs.get(group.groupId),
        isDissolved: emptied.has(group.groupId),
        now,
      })
      this.options.events.append(tx, group, ...events)
    }
  }
}

function transferEvents(
  group: Group,
  {
    user: { userId },
    actorId,
    heirId,
    isDissolved,
    now,
  }: {
    user: UserKey
    actorId: Int64
    heirId: Int64 | undefined
    isDissolved: boolean
    now: number
  },
): Event[] {
  const updated_at = nextUpdate(group, now)
  const member_count = group.memberCount - 1
  return [
    groupEvent(group, 'left', actorId, [userId], { member_count }),
    ...(group.type === groupType.chatroom ? [groupEvent(group, 'absence', actorId, [userId])] : []),
    ...(heirId === undefined
      ? []
      : [
          groupEvent(group, 'owner_assigned', actorId, [heirId], {
            former_owner_id: userId,
            role: memberRole.owner,
            expired_time: 0,
            updated_at,
          }),
        ]),
    ...(isDissolved ? [groupEvent(group, 'destroyed', actorId, [], { updated_at })] : []),
  ]
}
