import { ContactPresenceRules } from '../../../domain/presence/contact-presence-rules.js'
import { PresenceConsumer } from '../../../domain/presence/presence-consumer.js'
import { PresenceService } from '../../../domain/presence/presence-service.js'
import type { Domain } from '../../domain.js'
import type { Infrastructure } from '../../infrastructure.js'

export interface PresenceServices {
  readonly presence: PresenceService
}

export function createPresence({
  database,
  stores,
  sessions,
  delivery,
}: Infrastructure): Domain<PresenceServices> {
  const presence = new PresenceService({
    sessions,
    rules: new ContactPresenceRules({ database, store: stores.contacts }),
    transient: delivery,
  })
  return { services: { presence }, consumers: [new PresenceConsumer(presence)] }
}
