import type { Int64 } from '@hermod/protocol'
import type { Database, Queryable } from '../../../db/database.js'
import { sql } from '../../../db/kysely.js'
import { boundedCache } from '../../../lib/limits/bounded-cache.js'
import type { MaybePromise } from '../../../lib/maybe-promise.js'
import { systemUserId } from '../../users/system-user.js'

/** Whom the ID at the other end of a conversation names. */
export type PeerKind = 'user' | 'group'

interface PeerKey {
  readonly appId: string
  readonly peerId: Int64
}

const maxKnown = 100_000

/**
 * Whether an ID is that of a user or of a group: conversations are named by either, and the two never collide (rule K4).
 * What an ID is never changes, so it is asked for once.
 */
export class PeerKinds {
  readonly #known = boundedCache<string, PeerKind>(maxKnown)
  readonly #find

  constructor(database: Database) {
    this.#find = database.prepared<PeerKey, { kind: PeerKind }>((db, param) =>
      db
        .selectFrom('groups')
        .select(sql<PeerKind>`'group'`.as('kind'))
        .where('app_id', '=', param('appId'))
        .where('group_id', '=', param('peerId'))
        .unionAll(
          db
            .selectFrom('users')
            .select(sql<PeerKind>`'user'`.as('kind'))
            .where('app_id', '=', param('appId'))
            .where('user_id', '=', param('peerId')),
        ),
    )
  }

  /** At once for an ID that is known; null when nobody ever had it. Also finds deleted users and dissolved groups. */
  find(db: Queryable, appId: string, peerId: Int64): MaybePromise<PeerKind | null> {
    if (peerId === systemUserId) return 'user'
    const key = `${appId}/${peerId}`
    return this.#known.get(key) ?? this.#read(db, key, { appId, peerId })
  }

  async #read(db: Queryable, key: string, peer: PeerKey): Promise<PeerKind | null> {
    const kind = (await this.#find.first(db, peer))?.kind ?? null
    if (kind) this.#known.set(key, kind)
    return kind
  }
}
