import type { Int64 } from '@hermod/protocol'
import type { Tx } from '../../../db/database.js'
import type { AlsoConcerned } from '../../../outbox/user-changes.js'
import type { GroupKey } from '../core/group-model.js'
import type { MemberListStore } from '../membership/member-list-store.js'
import type { AdmissionAnswer } from './group-admission.js'
import type { InvitationStore } from './invitation-store.js'
import type { JoinRequestStore } from './join-request-store.js'

interface OpenAdmissionsOptions {
  readonly invitations: InvitationStore
  readonly joinRequests: JoinRequestStore
  readonly lists: Pick<MemberListStore, 'listManagers'>
}

/** Open join requests and invitations between groups and users. */
export class OpenAdmissions {
  constructor(private readonly options: OpenAdmissionsOptions) {}

  /** Answers the open entries between a group and users. @returns the users whose lists change */
  async answer(
    tx: Tx,
    group: GroupKey,
    userIds: readonly Int64[],
    answer: AdmissionAnswer,
  ): Promise<AlsoConcerned> {
    const { invitations, joinRequests } = this.options
    const [applicants, invitees] = await Promise.all([
      joinRequests.answer(tx, group, userIds, answer),
      invitations.answer(tx, group, userIds, answer),
    ])
    return this.#concerned(tx, group, applicants, invitees)
  }

  /**
   * Ends the open entries between a group and users without an answer.
   * @returns the users whose lists change
   */
  async close(
    tx: Tx,
    group: GroupKey,
    userIds: readonly Int64[],
    now: number,
  ): Promise<AlsoConcerned> {
    const { invitations, joinRequests } = this.options
    const applicants = await joinRequests.close(tx, group, userIds, now)
    const invitees = await invitations.close(tx, group, userIds, now)
    return this.#concerned(tx, group, applicants, invitees)
  }

  /** The users who answer the join requests of a group. */
  async managersOf(tx: Tx, group: GroupKey): Promise<AlsoConcerned> {
    return { managers: await this.options.lists.listManagers(tx, group) }
  }

  async #concerned(
    tx: Tx,
    group: GroupKey,
    applicants: readonly Int64[],
    invitees: readonly Int64[],
  ): Promise<AlsoConcerned> {
    return { ...(applicants.length > 0 && (await this.managersOf(tx, group))), invitees }
  }

  /** Same as {@link close}, between groups and all users. */
  async closeAll(tx: Tx, appId: string, groupIds: readonly Int64[], now: number): Promise<void> {
    const { invitations, joinRequests } = this.options
    await joinRequests.closeAll(tx, appId, groupIds, now)
    await invitations.closeAll(tx, appId, groupIds, now)
  }
}
