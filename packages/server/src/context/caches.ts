import type { Bus } from '../bus/bus.js'
import { cacheInvalidation } from '../bus/cache-invalidation.js'
import type { Database } from '../db/database.js'
import { adminTokenCache, appCache } from '../domain/apps/app-caches.js'
import { relationCache } from '../domain/contacts/relation-cache.js'
import { groupCache, memberCache } from '../domain/groups/core/group-cache.js'
import { issuerCache } from '../domain/identity/issuers/issuer-cache.js'
import { tokenCache } from '../domain/login/token-cache.js'
import { broadcastSenderCache } from '../domain/messaging/conversations/broadcast-senders.js'
import {
  certificateCache,
  certificateOwnerCache,
} from '../domain/push/certificates/certificate-caches.js'
import { userStateCache } from '../domain/users/user-state-cache.js'
import { type CacheDefinition, InvalidatedCache } from '../lib/invalidated-cache.js'

export type Caches = ReturnType<typeof createCaches>

/** All caches of the database; the bus brings the invalidations. */
export function createCaches({
  database,
  bus,
}: {
  readonly database: Database
  readonly bus: Bus
}) {
  const isShared = database.dialect.name !== 'sqlite'
  function create<Key, Value extends object>(definition: CacheDefinition<Key, Value>) {
    database.cacheCheck?.register(definition)
    return new InvalidatedCache(definition, cacheInvalidation(bus, definition.name), { isShared })
  }
  return {
    adminTokens: create(adminTokenCache),
    apps: create(appCache),
    broadcastSenders: create(broadcastSenderCache),
    certificateOwners: create(certificateOwnerCache),
    certificates: create(certificateCache),
    groups: create(groupCache),
    identityIssuers: create(issuerCache),
    members: create(memberCache),
    relations: create(relationCache),
    tokens: create(tokenCache),
    userStates: create(userStateCache),
  }
}
