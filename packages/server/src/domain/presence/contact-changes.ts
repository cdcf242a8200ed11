import type { Int64 } from '@hermod/protocol'
import type { DeliveryListener } from '../../delivery/delivery.js'
import type { DeliveredEvent } from '../../outbox/consumer.js'
import type { PresenceService } from './presence-service.js'

/** Follows contacts and blocks, which decide who sees the states of users. */
export class ContactChangeListener implements DeliveryListener {
  constructor(
    private readonly presence: Pick<PresenceService, 'relationChanged' | 'relationsChanged'>,
  ) {}

  begun(appId: string, events: readonly DeliveredEvent[]): void {
    for (const { kind, payload } of events) {
      if (!kind.startsWith('contact.')) continue
      const { actor_id, user_ids } = payload as {
        readonly actor_id: Int64
        readonly user_ids: readonly Int64[]
      }
      for (const userId of user_ids)
        if (userId !== actor_id) void this.presence.relationChanged(appId, actor_id, userId)
    }
  }

  missed(appId: string): void {
    void this.presence.relationsChanged(appId)
  }
}
