import { AppError, type Int64 } from '@hermod/protocol'
import type { Database, Tx } from '../../db/database.js'
import { runsOutAt } from '../../lib/clock.js'
import { readSettings } from '../applications/application-settings.js'
import type { EventService } from '../events/event-service.js'
import type { GroupAccess, GroupCaller, LockedScene } from './group-access.js'
import {
  admissionPage,
  applyApproval,
  isOpen,
  requireNoRefusal,
  storePage,
} from './group-admission.js'
import type { GroupApplication, GroupApplicationStore } from './group-application-store.js'
import type { GroupDoor } from './group-door.js'
import type { GroupInvitationService } from './group-invitation-service.js'
import { groupEvent } from './group-model.js'
import type { GroupPage, PageRequest } from './group-page.js'

export interface GroupApplicationServiceOptions {
  readonly database: Database
  readonly applications: GroupApplicationStore
  readonly access: GroupAccess
  readonly door: GroupDoor
  readonly invitations: GroupInvitationService
  readonly events: EventService
}

/** Asking to become a member, and answering. */
export class GroupApplicationService {
  constructor(private readonly options: GroupApplicationServiceOptions) {}

  /**
   * Who is invited is in at once, and everybody where the group takes all.
   * @throws AppError group_not_found, applications_closed, and what keeps users out, see GroupDoor.admit
   */
  async apply(
    caller: GroupCaller & { readonly userId: Int64 },
    groupId: Int64,
    reason: string,
  ): Promise<void> {
    const { access, door, invitations } = this.options
    const { userId } = caller
    await access.change(caller, groupId, 'join', { userIds: [userId] }, async (tx, scene) => {
      if (await invitations.acceptOpen(tx, scene, userId)) return
      const how = { isOwnWill: true }
      if (scene.group.applyApproval === applyApproval.all)
        return requireNoRefusal(await door.admit(tx, scene, [userId], how))
      requireNoRefusal(await door.judge(tx, scene, [userId], how))
      if (scene.group.applyApproval === applyApproval.none)
        throw new AppError('applications_closed')
      await this.#ask(tx, scene, userId, reason)
    })
  }

  /**
   * Lets an applicant in, or not. An applicant who cannot come in stays one.
   * @throws AppError group_not_found, group_admin_required, group_application_not_open, and what keeps users out, see GroupDoor.admit
   */
  async handle(
    caller: GroupCaller,
    groupId: Int64,
    applicantId: Int64,
    isApproved: boolean,
  ): Promise<void> {
    const { access, applications, door, events } = this.options
    await access.change(caller, groupId, 'admit', { userIds: [applicantId] }, async (tx, scene) => {
      const { group, now } = scene
      const application = await applications.find(tx, group, applicantId)
      if (!application || !isOpen(application, now))
        throw new AppError('group_application_not_open')
      if (isApproved)
        requireNoRefusal(await door.admit(tx, scene, [applicantId], { isOwnWill: false }))
      else await applications.reject(tx, group, applicantId, now)
      const kind = isApproved ? 'application_accepted' : 'application_declined'
      await events.append(tx, groupEvent(group, kind, caller.actorId, [applicantId]))
    })
  }

  /**
   * The applications to those of the groups that the caller may manage, newest first, handled ones included.
   * @param page.limit default 100, maximum 500
   */
  async list(
    caller: GroupCaller,
    groupIds: readonly Int64[],
    page: PageRequest,
  ): Promise<GroupPage<GroupApplication>> {
    const { database, access, applications } = this.options
    const { appId } = caller
    const asked = storePage(page, 2)
    const managed = (await access.readMany(caller, groupIds, 'admit')).map(
      ({ group }) => group.groupId,
    )
    if (managed.length === 0) return { entries: [], nextCursor: null, total: 0, version: 0 }
    const [found, totals] = await database.read((db) =>
      Promise.all([
        applications.list(db, appId, managed, asked),
        applications.totals(db, appId, managed),
      ]),
    )
    return admissionPage(found, asked, totals, ({ createdAt, groupId, applicantId }) => [
      createdAt,
      groupId,
      applicantId,
    ])
  }

  async #ask(
    tx: Tx,
    { group, caller, now }: LockedScene,
    applicantId: Int64,
    reason: string,
  ): Promise<void> {
    const { applications, events } = this.options
    const { group_application_days: days } = await readSettings(tx, group.appId)
    const before = await applications.find(tx, group, applicantId)
    await applications.put(tx, group, {
      applicantId,
      reason,
      createdAt: now,
      expiresAt: runsOutAt(now, days),
    })
    // Asking over and over is told once.
    if (!before || !isOpen(before, now))
      await events.append(tx, groupEvent(group, 'applied', caller.actorId, [], reason))
  }
}
