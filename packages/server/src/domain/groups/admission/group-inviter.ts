import { AppError, type Int64 } from '@hermod/protocol'
import type { Tx } from '../../../db/database.js'
import { runsOutAt } from '../../../lib/clock.js'
import { readAppSettings } from '../../apps/app-settings.js'
import { acceptedOf, type ItemOutcome } from '../../item-outcome.js'
import type { LockedGroupContext } from '../core/group-access.js'
import type { GroupEvents } from '../core/group-events.js'
import { groupEvent } from '../core/group-model.js'
import type { MembershipService } from '../membership/membership-service.js'
import type { Addition, AdditionRules } from './addition-rules.js'
import type { InvitationStore } from './invitation-store.js'

interface GroupInviterOptions {
  readonly invitations: InvitationStore
  readonly rules: AdditionRules
  readonly memberships: MembershipService
  readonly events: GroupEvents
}

/** Brings users into a locked group: the only way in that is not the user's own will. */
export class GroupInviter {
  constructor(private readonly options: GroupInviterOptions) {}

  /**
   * Adds users at once, and invites those who decide themselves ({@link AdditionRules}).
   * @param userIds distinct; locked by the context
   * @param how.isInvitation the call invites, so an Admin token does not pass over group_confirm
   * @returns as {@link MembershipService.add}, or in_block_list for users who block the caller;
   * null also for invited users
   */
  async addOrInvite(
    tx: Tx,
    context: LockedGroupContext,
    userIds: readonly Int64[],
    { isInvitation, reason }: { readonly isInvitation: boolean; readonly reason: string },
  ): Promise<ItemOutcome[]> {
    const { rules, memberships } = this.options
    const { caller, role } = context
    // An admin may add a user again who was kicked too often; an ordinary member may not.
    const how = { isOwnWill: role === 'member' }
    const additions = await rules.decide(tx, caller, userIds, { isInvitation })
    const as = (addition: Addition) => userIds.filter((id) => additions.get(id) === addition)
    const asked = as('invitation')
    const blocking = as('blocked')
    const added = as('member')
    const checkedOfAsked = await memberships.check(tx, context, asked, how)
    await this.#invite(tx, context, acceptedOf(asked, checkedOfAsked), reason)
    const checkedOfBlocking = await memberships.check(tx, context, blocking, how)
    const outcomes = new Map([
      ...pairs(asked, checkedOfAsked),
      ...pairs(
        blocking,
        checkedOfBlocking.map((refusal) => refusal ?? new AppError('in_block_list')),
      ),
      ...pairs(added, await memberships.add(tx, context, added, { ...how, isAdded: true })),
    ])
    return userIds.map((userId) => outcomes.get(userId) ?? null)
  }

  async #invite(
    tx: Tx,
    { group, caller, now }: LockedGroupContext,
    userIds: readonly Int64[],
    reason: string,
  ): Promise<void> {
    const { invitations, events } = this.options
    if (userIds.length === 0) return
    const { group_application_days: days } = await readAppSettings(tx, group.appId)
    await invitations.put(tx, group, userIds, {
      inviterId: caller.actorId,
      reason,
      createdAt: now,
      expiresAt: runsOutAt(now, days),
    })
    events.append(tx, group, groupEvent(group, 'invited', caller.actorId, userIds, { reason }))
  }
}

function pairs(
  userIds: readonly Int64[],
  outcomes: readonly ItemOutcome[],
): (readonly [Int64, ItemOutcome])[] {
  return userIds.map((userId, index) => [userId, outcomes[index] ?? null])
}
