import { AppError, type Int64 } from '@hermod/protocol'
import type { Database, Tx } from '../../../db/database.js'
import { type ItemOutcome, requireNoRefusal } from '../../item-outcome.js'
import type { PageRequest } from '../../paging.js'
import type { GroupAccess, GroupCaller, LockedGroupContext } from '../core/group-access.js'
import type { GroupEvents } from '../core/group-events.js'
import { groupEvent } from '../core/group-model.js'
import type { GroupPage } from '../core/group-page.js'
import type { MembershipService } from '../membership/membership-service.js'
import { admissionPage, isAdmissionOpen, storePage } from './group-admission.js'
import type { GroupInviter } from './group-inviter.js'
import type { Invitation, InvitationStore } from './invitation-store.js'

interface GroupInvitationServiceOptions {
  readonly database: Database
  readonly invitations: InvitationStore
  readonly access: GroupAccess
  readonly memberships: MembershipService
  readonly inviter: GroupInviter
  readonly events: GroupEvents
}

/** Invites users and handles their answers. */
export class GroupInvitationService {
  constructor(private readonly options: GroupInvitationServiceOptions) {}

  /**
   * @param userIds distinct
   * @returns as {@link GroupInviter.addOrInvite}
   * @throws AppError group_not_found, member_required, group_admin_required
   */
  async invite(
    caller: GroupCaller,
    groupId: Int64,
    userIds: readonly Int64[],
    reason: string,
  ): Promise<ItemOutcome[]> {
    const { access, inviter } = this.options
    return access.change(caller, groupId, 'invite', { userIds }, (tx, context) =>
      inviter.addOrInvite(tx, context, userIds, { isInvitation: true, reason }),
    )
  }

  /**
   * Handles an answer. A user who accepts but cannot be added keeps the invitation.
   * @throws AppError group_not_found, group_invitation_not_open, and the refusals of
   * MembershipService.add
   */
  async handle(
    caller: GroupCaller & { readonly userId: Int64 },
    groupId: Int64,
    { namedUserId, isAccepted }: { readonly namedUserId: Int64; readonly isAccepted: boolean },
  ): Promise<void> {
    const { access, invitations, events } = this.options
    const { userId } = caller
    await access.change(caller, groupId, 'join', { userIds: [userId] }, async (tx, context) => {
      const { group, now } = context
      const invitation = await this.#findOpen(tx, context, userId)
      const isNamed = namedUserId === userId || namedUserId === invitation?.inviterId
      if (!invitation || !isNamed) throw new AppError('group_invitation_not_open')
      if (isAccepted) return this.#accept(tx, context, invitation)
      await invitations.answer(tx, group, [userId], { status: 'rejected', now })
      events.append(tx, group, {
        ...groupEvent(group, 'invitation_declined', caller.actorId, [invitation.inviterId]),
        also: { invitees: [userId] },
      })
    })
  }

  /**
   * Accepts the open invitation of a user who joins in another way.
   * @returns false when no invitation is open
   * @throws AppError as {@link handle}
   */
  async acceptOpen(tx: Tx, context: LockedGroupContext, userId: Int64): Promise<boolean> {
    const invitation = await this.#findOpen(tx, context, userId)
    if (invitation) await this.#accept(tx, context, invitation)
    return invitation !== null
  }

  /**
   * Lists the invitations that the user received, newest first, including answered ones.
   * @param page.limit default 100, maximum 500
   */
  async list(
    { appId, userId }: GroupCaller & { readonly userId: Int64 },
    page: PageRequest,
  ): Promise<GroupPage<Invitation>> {
    const { database, invitations } = this.options
    const asked = storePage(page, 1)
    const [found, total, version] = await database.read((db) =>
      Promise.all([
        invitations.list(db, appId, userId, asked),
        invitations.count(db, appId, userId),
        invitations.lastChange(db, appId, [userId]),
      ]),
    )
    return admissionPage(found, asked, { total, version }, ({ createdAt, groupId }) => [
      createdAt,
      groupId,
    ])
  }

  async #findOpen(
    tx: Tx,
    { group, now }: LockedGroupContext,
    userId: Int64,
  ): Promise<Invitation | null> {
    const invitation = await this.options.invitations.find(tx, group, userId)
    return invitation && isAdmissionOpen(invitation, now) ? invitation : null
  }

  async #accept(
    tx: Tx,
    context: LockedGroupContext,
    { inviteeId, inviterId }: Invitation,
  ): Promise<void> {
    const { memberships, events } = this.options
    requireNoRefusal(await memberships.add(tx, context, [inviteeId], { isOwnWill: false }))
    events.append(tx, context.group, {
      ...groupEvent(context.group, 'invitation_accepted', context.caller.actorId, [inviterId]),
      also: { invitees: [inviteeId] },
    })
  }
}
