import type { Int64 } from '@hermod/protocol'
import type { Database, Queryable } from '../../../db/database.js'
import { sql } from '../../../db/kysely.js'
import { boundedCache } from '../../../lib/limits/bounded-cache.js'
import { systemUserId } from '../../users/system-user.js'

/** The kind of the other end of a conversation. */
export type PeerKind = 'user' | 'group'

interface PeerKey {
  readonly appId: string
  readonly peerId: Int64
}

const maxKnown = 100_000

/**
 * Tells IDs of users from IDs of groups, which never collide (rule K4). The kind of an ID never
 * changes, so it is read once.
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

  /** Finds deleted users and dissolved groups too; null when the ID was never given. */
  async find(db: Queryable, appId: string, peerId: Int64): Promise<PeerKind | null> {
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
