import type { Int64 } from '@hermod/protocol'
import type { Consumer, DeliveredEvent } from '../../outbox/consumer.js'
import type { PresenceService } from './presence-service.js'

/** Follows contacts and blocks, which decide who sees the states of users. */
export class PresenceConsumer implements Consumer {
  readonly name = 'presence'
  readonly isDurable = false

  constructor(private readonly presence: PresenceService) {}

  async wants(appId: string): Promise<boolean> {
    return this.presence.isFollowedIn(appId)
  }

  async handle(events: readonly DeliveredEvent[]): Promise<void> {
    for (const { appId, kind, payload } of events) {
      if (!kind.startsWith('contact.')) continue
      const { actor_id, user_ids } = payload as {
        readonly actor_id: Int64
        readonly user_ids: readonly Int64[]
      }
      for (const userId of user_ids)
        if (userId !== actor_id) await this.presence.relationChanged(appId, actor_id, userId)
    }
  }

  async missed(appId: string): Promise<void> {
    await this.presence.relationsChanged(appId)
  }
}
