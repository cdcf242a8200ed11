import type { Int64 } from '@hermod/protocol'
import type { TransientEvent } from '@hermod/protocol/events'
import type { Session } from '../sessions/session.js'

/** Sends events that are not stored to sessions of this node. A session that is behind does not get them. */
export interface TransientDelivery {
  /** Sends the event to all sessions of the users. */
  toUsers(appId: string, userIds: readonly Int64[], event: TransientEvent): void
  /**
   * Sends the event to the sessions of members who receive messages of the group live.
   * @param exceptId the user that gets none
   */
  toGroup(
    group: { readonly appId: string; readonly groupId: Int64 },
    event: TransientEvent,
    exceptId: Int64,
  ): void
  /** @returns false when the session is behind, so that the event was dropped */
  toSession(session: Session, event: TransientEvent): boolean
}
