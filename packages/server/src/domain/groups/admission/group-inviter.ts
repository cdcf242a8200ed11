import type { Int64 } from '@hermod/protocol'
import type { Tx } from '../../../db/database.js'
import { runsOutAt } from '../../../lib/clock.js'
import type { Outbox } from '../../../outbox/outbox.js'
import { readAppSettings } from '../../apps/app-settings.js'
import { acceptedOf, type ItemOutcome } from '../../item-outcome.js'
import type { LockedGroupContext } from '../core/group-access.js'
import { groupEvent } from '../core/group-model.js'
import type { MembershipService } from '../membership/membership-service.js'
import type { InvitationStore } from './invitation-store.js'

export interface GroupInviterOptions {
  readonly invitations: InvitationStore
  readonly memberships: MembershipService
  readonly outbox: Outbox
}

/** Invites users to a locked group. */
export class GroupInviter {
  constructor(private readonly options: GroupInviterOptions) {}

  /**
   * Invites the users with group_confirm on and adds the others at once (rule F4).
   * @param userIds distinct; locked by the context
   * @returns as {@link MembershipService.add}; null also for invited users
   */
  async invite(
    tx: Tx,
    context: LockedGroupContext,
    userIds: readonly Int64[],
    reason: string,
  ): Promise<ItemOutcome[]> {
    const { invitations, memberships, outbox } = this.options
    const { group, caller, role, now } = context
    // An admin may bring back a user who was kicked too often; an ordinary member may not.
    const how = { isOwnWill: role === 'member' }
    const cautious = await invitations.findCautious(tx, group.appId, userIds)
    const asked = userIds.filter((userId) => cautious.has(userId))
    const checked = await memberships.check(tx, context, asked, how)
    const invited = acceptedOf(asked, checked)
    const { group_application_days: days } = await readAppSettings(tx, group.appId)
    await invitations.put(tx, group, invited, {
      inviterId: caller.actorId,
      reason,
      createdAt: now,
      expiresAt: runsOutAt(now, days),
    })
    if (invited.length > 0)
      outbox.append(tx, groupEvent(group, 'invited', caller.actorId, invited, { reason }))
    const trusting = userIds.filter((userId) => !cautious.has(userId))
    const added = await memberships.add(tx, context, trusting, how)
    const [nextChecked, nextAdded] = [checked.values(), added.values()]
    return userIds.map(
      (userId) => (cautious.has(userId) ? nextChecked : nextAdded).next().value ?? null,
    )
  }
}
