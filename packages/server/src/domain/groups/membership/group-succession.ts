import type { Int64 } from '@hermod/protocol'
import type { Tx } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import type { Event } from '../../../outbox/event-model.js'
import type { EventService } from '../../../outbox/event-service.js'
import type { UserKey } from '../../users/user-model.js'
import type { Invalidates } from '../../../lib/invalidated-cache.js'
import {
  type Group,
  type GroupKey,
  groupEvent,
  type MemberKey,
  groupStatus,
  groupType,
} from '../core/group-model.js'
import type { SuccessionStore } from './succession-store.js'

export interface GroupSuccessionOptions {
  readonly store: SuccessionStore
  readonly events: EventService
  readonly groupCache: Invalidates<GroupKey>
  readonly memberCache: Invalidates<MemberKey>
  readonly clock: Clock
}

/** What becomes of the groups of a user who is deleted (decision D5). */
export class GroupSuccession {
  constructor(private readonly options: GroupSuccessionOptions) {}

  /**
   * Takes a user, whose row the transaction has locked, out of all groups: what the user owned passes to the longest-serving admin, else
   * member, and what is empty then is dissolved. The rows of the user are left to be deleted in the same transaction.
   */
  async withdraw(tx: Tx, user: UserKey, actorId: Int64): Promise<void> {
    const { store, clock, groupCache, memberCache } = this.options
    const now = clock.now()
    const locked = await store.lockGroups(tx, user)
    if (locked.length === 0) return
    const joined = await store.listJoined(tx, user)
    const owned = locked.filter(
      ({ ownerId, status }) => ownerId === user.userId && status === groupStatus.normal,
    )
    const ownedIds = owned.map(({ groupId }) => groupId)
    const heirs = await store.passOn(tx, user, ownedIds, now)
    const emptied = new Set(ownedIds.filter((groupId) => !heirs.has(groupId)))
    await store.dissolve(tx, user.appId, [...emptied], now)
    await store.countOut(tx, user, now)
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
    for (const { appId, groupId } of locked) {
      const heirId = heirs.get(groupId)
      groupCache.forget(tx, { appId, groupId })
      memberCache.forget(tx, { appId, groupId, userId: user.userId })
      if (heirId !== undefined) memberCache.forget(tx, { appId, groupId, userId: heirId })
    }
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
