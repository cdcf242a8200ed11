import { ContactChangeListener } from '../../../domain/presence/contact-changes.js'
import { ContactPresenceRules } from '../../../domain/presence/contact-presence-rules.js'
import { PresenceService } from '../../../domain/presence/presence-service.js'
import { isDatabaseFailure } from '../../database/database-log.js'
import type { Domain } from '../../domain.js'
import type { Infrastructure } from '../../infrastructure.js'

export function createPresence({
  database,
  stores,
  directory,
  sessions,
  delivery,
  log,
}: Infrastructure) {
  const presence = new PresenceService({
    directory,
    sessions,
    rules: new ContactPresenceRules({ database, store: stores.contacts }),
    transient: delivery,
    failed(error) {
      if (!isDatabaseFailure(error))
        log.warn({ err: error }, 'presence cannot read contacts and tries again')
    },
  })
  delivery.listen(new ContactChangeListener(presence))
  return { services: { presence } } satisfies Domain
}
