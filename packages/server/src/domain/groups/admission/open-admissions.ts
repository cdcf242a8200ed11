import type { Tx } from '../../../db/database.js'
import { chunksOf } from '../../../lib/chunks.js'
import type { Settlement } from './group-admission.js'
import type { InvitationStore } from './invitation-store.js'
import type { JoinRequestStore } from './join-request-store.js'

export interface OpenAdmissionsOptions {
  readonly invitations: InvitationStore
  readonly joinRequests: JoinRequestStore
}

const groupsPerStatement = 500

/** What is open between groups and users: join requests and invitations. */
export class OpenAdmissions {
  constructor(private readonly options: OpenAdmissionsOptions) {}

  /** Ends it. */
  async settle(tx: Tx, settlement: Settlement): Promise<void> {
    const { invitations, joinRequests } = this.options
    if (settlement.userIds?.length === 0) return
    for (const groupIds of chunksOf(settlement.groupIds, groupsPerStatement)) {
      await joinRequests.settle(tx, { ...settlement, groupIds })
      await invitations.settle(tx, { ...settlement, groupIds })
    }
  }
}
