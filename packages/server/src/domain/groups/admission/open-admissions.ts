import type { Int64 } from '@hermod/protocol'
import type { Tx } from '../../../db/database.js'
import type { GroupKey } from '../core/group-model.js'
import type { AdmissionAnswer } from './group-admission.js'
import type { InvitationStore } from './invitation-store.js'
import type { JoinRequestStore } from './join-request-store.js'

export interface OpenAdmissionsOptions {
  readonly invitations: InvitationStore
  readonly joinRequests: JoinRequestStore
}

/** Open join requests and invitations between groups and users. */
export class OpenAdmissions {
  constructor(private readonly options: OpenAdmissionsOptions) {}

  /** Answers the open entries between a group and users. */
  async answer(
    tx: Tx,
    group: GroupKey,
    userIds: readonly Int64[],
    answer: AdmissionAnswer,
  ): Promise<void> {
    const { invitations, joinRequests } = this.options
    await Promise.all([
      joinRequests.answer(tx, group, userIds, answer),
      invitations.answer(tx, group, userIds, answer),
    ])
  }

  /** Ends the open entries between a group and users without an answer. */
  async close(tx: Tx, group: GroupKey, userIds: readonly Int64[], now: number): Promise<void> {
    const { invitations, joinRequests } = this.options
    await joinRequests.close(tx, group, userIds, now)
    await invitations.close(tx, group, userIds, now)
  }

  /** Same as {@link close}, between groups and all users. */
  async closeAll(tx: Tx, appId: string, groupIds: readonly Int64[], now: number): Promise<void> {
    const { invitations, joinRequests } = this.options
    await joinRequests.closeAll(tx, appId, groupIds, now)
    await invitations.closeAll(tx, appId, groupIds, now)
  }
}
