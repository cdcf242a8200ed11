import type { Int64 } from '@hermod/protocol'
import type { Tx } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import type { Event } from '../../../outbox/event-model.js'
import type { EventService } from '../../../outbox/event-service.js'
import type { UserKey } from '../../users/user-model.js'
import type { GroupCache } from '../core/group-cache.js'
import { type Group, groupEvent, groupStatus, groupType } from '../core/group-model.js'
import type { GroupStore } from '../core/group-store.js'
import type { OpenAdmissions } from '../admission/open-admissions.js'
import type { MemberStore } from './member-store.js'

export interface GroupSuccessionOptions {
  readonly groups: GroupStore
  readonly members: MemberStore
  readonly admissions: OpenAdmissions
  readonly events: EventService
  readonly cache: GroupCache
  readonly clock: Clock
}

/** A group that a user is withdrawn from. */
export interface Withdrawal {
  readonly groupId: Int64
  /** Whose place in the group has changed. */
  readonly userIds: readonly Int64[]
}

/** What becomes of the groups of a user who is deleted (decision D5). */
export class GroupSuccession {
  constructor(private readonly options: GroupSuccessionOptions) {}

  /**
   * Takes a user, whose row the transaction has locked, out of all groups: what the user owned passes to the longest-serving admin, else
   * member, and what is empty then is dissolved. The rows of the user are left to be deleted in the same transaction.
   * @returns what {@link forget} is to be told once it is committed
   */
  async withdraw(tx: Tx, user: UserKey, actorId: Int64): Promise<Withdrawal[]> {
    const { groups, members, admissions, clock } = this.options
    const { appId } = user
    const now = clock.now()
    const locked = await groups.lockAllOf(tx, user)
    if (locked.length === 0) return []
    const joined = await members.listAllGroups(tx, user)
    const owned = locked.filter(
      ({ ownerId, status }) => ownerId === user.userId && status === groupStatus.normal,
    )
    const ownedIds = owned.map(({ groupId }) => groupId)
    const heirs = await groups.passOn(tx, user, ownedIds, now)
    await members.appointOwners(tx, appId, [...heirs.keys()])
    const emptied = new Set(ownedIds.filter((groupId) => !heirs.has(groupId)))
    const groupIds = [...emptied]
    await admissions.settleAll(tx, appId, groupIds, { status: 'rejected', now })
    await groups.dissolve(tx, appId, groupIds, now)
    await groups.countOut(tx, user, now)
    const left = locked.filter(
      ({ groupId, status }) => joined.has(groupId) && status === groupStatus.normal,
    )
    const told = left.flatMap((group) =>
      notices(group, {
        user,
        actorId,
        heirId: heirs.get(group.groupId),
        isDissolved: emptied.has(group.groupId),
      }),
    )
    await this.options.events.appendAll(tx, told)
    return locked.map(({ groupId }) => {
      const heirId = heirs.get(groupId)
      return { groupId, userIds: heirId === undefined ? [user.userId] : [user.userId, heirId] }
    })
  }

  /** Has the withdrawals be felt at once. */
  forget(appId: string, withdrawals: readonly Withdrawal[]): void {
    for (const { groupId, userIds } of withdrawals)
      this.options.cache.forget({ appId, groupId }, userIds)
  }
}

function notices(
  group: Group,
  {
    user: { userId },
    actorId,
    heirId,
    isDissolved,
  }: { user: UserKey; actorId: Int64; heirId: Int64 | undefined; isDissolved: boolean },
): Event[] {
  const notice = (
    kind: 'left' | 'absence' | 'owner_assigned' | 'destroyed',
    userIds: readonly Int64[],
  ) => groupEvent(group, kind, actorId, userIds)
  return [
    notice('left', [userId]),
    ...(group.type === groupType.chatroom ? [notice('absence', [userId])] : []),
    ...(heirId === undefined ? [] : [notice('owner_assigned', [heirId])]),
    ...(isDissolved ? [notice('destroyed', [])] : []),
  ]
}
