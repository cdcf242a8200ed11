import type { Bus } from '../bus/bus.js'
import { cacheInvalidation } from '../bus/cache-invalidation.js'
import type { Database } from '../db/database.js'
import { adminTokenCache, appCache } from '../domain/apps/app-caches.js'
import type { AdminToken, App } from '../domain/apps/app-model.js'
import type { Relation } from '../domain/contacts/message-rules.js'
import { relationCache } from '../domain/contacts/relation-cache.js'
import { groupCache, memberCache } from '../domain/groups/core/group-cache.js'
import type { Group, Member } from '../domain/groups/core/group-model.js'
import { tokenCache } from '../domain/login/token-cache.js'
import type { UserToken } from '../domain/login/token-store.js'
import type { UserState } from '../domain/users/user-model.js'
import { userStateCache } from '../domain/users/user-state-cache.js'
import { type CacheDefinition, InvalidatedCache } from '../lib/invalidated-cache.js'

export type Caches = ReturnType<typeof createCaches>

/** Everything that is remembered of the database, each told by the bus what has changed. */
export function createCaches({
  database,
  bus,
}: {
  readonly database: Database
  readonly bus: Bus
}) {
  function create<Fact extends object>() {
    return <Key>(definition: CacheDefinition<Key>): InvalidatedCache<Key, Fact> => {
      database.cacheCheck?.register(definition)
      return new InvalidatedCache<Key, Fact>(definition, cacheInvalidation(bus, definition.name))
    }
  }
  return {
    adminTokens: create<AdminToken>()(adminTokenCache),
    apps: create<App>()(appCache),
    groups: create<Group>()(groupCache),
    members: create<Member>()(memberCache),
    relations: create<Relation>()(relationCache),
    tokens: create<UserToken>()(tokenCache),
    userStates: create<UserState>()(userStateCache),
  }
}
