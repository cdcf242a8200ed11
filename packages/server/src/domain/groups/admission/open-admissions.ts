import type { Int64 } from '@hermod/protocol'
import type { Tx } from '../../../db/database.js'
import type { GroupKey } from '../core/group-model.js'
import type { Settlement } from './group-admission.js'
import type { InvitationStore } from './invitation-store.js'
import type { JoinRequestStore } from './join-request-store.js'

export interface OpenAdmissionsOptions {
  readonly invitations: InvitationStore
  readonly joinRequests: JoinRequestStore
}

/** What is open between groups and users: join requests and invitations. */
export class OpenAdmissions {
  constructor(private readonly options: OpenAdmissionsOptions) {}

  /** Ends what is open between a group and users. */
  async settle(
    tx: Tx,
    group: GroupKey,
    userIds: readonly Int64[],
    settlement: Settlement,
  ): Promise<void> {
    const { invitations, joinRequests } = this.options
    await Promise.all([
      joinRequests.settle(tx, group, userIds, settlement),
      invitations.settle(tx, group, userIds, settlement),
    ])
  }

  /** Ends what is open between a group and users without an answer. */
  async close(tx: Tx, group: GroupKey, userIds: readonly Int64[], now: number): Promise<void> {
    const { invitations, joinRequests } = this.options
    await joinRequests.close(tx, group, userIds, now)
    await invitations.close(tx, group, userIds, now)
  }

  /** As {@link close}, between groups and all users. */
  async closeAll(tx: Tx, appId: string, groupIds: readonly Int64[], now: number): Promise<void> {
    const { invitations, joinRequests } = this.options
    await joinRequests.closeAll(tx, appId, groupIds, now)
    await invitations.closeAll(tx, appId, groupIds, now)
  }
}
