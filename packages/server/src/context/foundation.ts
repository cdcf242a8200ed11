import type { Database } from '../db/database.js'
import type { Clock } from '../lib/clock.js'
import type { Turns } from '../lib/concurrency/turns.js'
import type { IdGenerator } from '../lib/ids/ids.js'
import type { Outbox } from '../outbox/outbox.js'
import type { Caches } from './caches.js'
import type { Stores } from './stores.js'

/** What every domain is built on. */
export interface Foundation {
  readonly database: Database
  readonly caches: Caches
  readonly stores: Stores
  readonly outbox: Outbox
  readonly ids: IdGenerator
  readonly clock: Clock
  readonly turns: Turns
}
