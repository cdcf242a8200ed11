import type { Int64 } from '@hermod/protocol'
import type { TransientEvent } from '@hermod/protocol/events'
import type { Session } from '../sessions/session.js'

/** Sends events that are not stored. A session that is behind does not get them. */
export interface TransientDelivery {
  /** Sends the event to all sessions of the users, on all nodes. */
  toUsers(appId: string, userIds: readonly Int64[], event: TransientEvent): void
  /**
   * Sends the event to the sessions of members who receive messages of the group live, on all nodes.
   * @param exceptId the user that gets none
   */
  toGroup(
    group: { readonly appId: string; readonly groupId: Int64 },
    event: TransientEvent,
    exceptId: Int64,
  ): void
  /** @param session of this node; @returns false when it is behind, so that the event was dropped */
  toSession(session: Session, event: TransientEvent): boolean
}
