import { AppError, applyApproval, type Int64 } from '@hermod/protocol'
import type { Database, Tx } from '../../../db/database.js'
import { runsOutAt } from '../../../lib/clock.js'
import { readAppSettings } from '../../apps/app-settings.js'
import { requireNoRefusal } from '../../item-outcome.js'
import type { PageRequest } from '../../paging.js'
import type { GroupAccess, GroupCaller, LockedGroupContext } from '../core/group-access.js'
import type { GroupEvents } from '../core/group-events.js'
import { groupEvent } from '../core/group-model.js'
import type { GroupPage } from '../core/group-page.js'
import type { GroupStore } from '../core/group-store.js'
import type { MembershipService } from '../membership/membership-service.js'
import { admissionPage, isAdmissionOpen, storePage } from './group-admission.js'
import type { GroupInvitationService } from './invitation-service.js'
import type { OpenAdmissions } from './open-admissions.js'
import type { JoinRequest, JoinRequestStore } from './join-request-store.js'

interface JoinRequestServiceOptions {
  readonly database: Database
  readonly groups: GroupStore
  readonly joinRequests: JoinRequestStore
  readonly admissions: Pick<OpenAdmissions, 'managersOf'>
  readonly access: GroupAccess
  readonly memberships: MembershipService
  readonly invitations: GroupInvitationService
  readonly events: GroupEvents
}

/** Handles join requests and their answers. */
export class JoinRequestService {
  constructor(private readonly options: JoinRequestServiceOptions) {}

  /**
   * Adds the user at once if invited or if the group needs no approval; otherwise stores a join
   * request.
   * @throws AppError group_not_found, join_requests_closed, and the refusals of
   * MembershipService.add
   */
  async apply(
    caller: GroupCaller & { readonly userId: Int64 },
    groupId: Int64,
    reason: string,
  ): Promise<void> {
    const { access, memberships, invitations } = this.options
    const { userId } = caller
    await access.change(caller, groupId, 'join', { userIds: [userId] }, async (tx, context) => {
      if (await invitations.acceptOpen(tx, context, userId)) return
      const how = { isOwnWill: true }
      if (context.group.applyApproval === applyApproval.agree)
        return requireNoRefusal(await memberships.add(tx, context, [userId], how))
      requireNoRefusal(await memberships.check(tx, context, [userId], how))
      if (context.group.applyApproval === applyApproval.reject)
        throw new AppError('join_requests_closed')
      await this.#ask(tx, context, userId, reason)
    })
  }

  /**
   * Accepts or rejects an applicant. An applicant who cannot be added remains one.
   * @throws AppError group_not_found, group_admin_required, join_request_not_open, and the refusals
   * of MembershipService.add
   */
  async handle(
    caller: GroupCaller,
    groupId: Int64,
    applicantId: Int64,
    isApproved: boolean,
  ): Promise<void> {
    const { access, joinRequests, admissions, memberships, events } = this.options
    await access.change(caller, groupId, 'add', { userIds: [applicantId] }, async (tx, context) => {
      const { group, now } = context
      const joinRequest = await joinRequests.find(tx, group, applicantId)
      if (!joinRequest || !isAdmissionOpen(joinRequest, now))
        throw new AppError('join_request_not_open')
      if (isApproved)
        requireNoRefusal(await memberships.add(tx, context, [applicantId], { isOwnWill: false }))
      else await joinRequests.answer(tx, group, [applicantId], { status: 'rejected', now })
      const kind = isApproved ? 'request_accepted' : 'request_declined'
      const also = await admissions.managersOf(tx, group)
      events.append(tx, group, { ...groupEvent(group, kind, caller.actorId, [applicantId]), also })
    })
  }

  /**
   * Lists the join requests to those of the groups that the caller may manage, newest first,
   * including answered ones.
   * @param page.limit default 100, maximum 500
   */
  async list(
    caller: GroupCaller,
    groupIds: readonly Int64[],
    page: PageRequest,
  ): Promise<GroupPage<JoinRequest>> {
    const { database, access, joinRequests } = this.options
    const { appId } = caller
    const asked = storePage(page, 2)
    const managed = (await access.readMany(caller, groupIds, 'add')).map(({ group }) => group)
    const managedIds = managed.map(({ groupId }) => groupId)
    const [found, version] = await database.read((db) =>
      Promise.all([
        joinRequests.list(db, appId, managedIds, asked),
        joinRequests.lastChange(db, appId, managedIds),
      ]),
    )
    const total = managed.reduce((sum, { joinRequestCount }) => sum + joinRequestCount, 0)
    return admissionPage(
      found,
      asked,
      { total, version },
      ({ createdAt, groupId, applicantId }) => [createdAt, groupId, applicantId],
    )
  }

  async #ask(
    tx: Tx,
    { group, caller, now }: LockedGroupContext,
    applicantId: Int64,
    reason: string,
  ): Promise<void> {
    const { groups, joinRequests, admissions, events } = this.options
    const { group_application_days: days } = await readAppSettings(tx, group.appId)
    const before = await joinRequests.find(tx, group, applicantId)
    await joinRequests.put(tx, group, {
      applicantId,
      reason,
      createdAt: now,
      expiresAt: runsOutAt(now, days),
    })
    if (!before) await groups.touch(tx, group, [], now, { joinRequests: 1 })
    // A repeated request has another reason and end, which the lists of the managers show.
    const also = await admissions.managersOf(tx, group)
    events.append(tx, group, {
      ...groupEvent(group, 'applied', caller.actorId, [applicantId], { reason }),
      also,
    })
  }
}
