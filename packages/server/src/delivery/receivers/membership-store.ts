import { type Int64, userStatus } from '@hermod/protocol'
import type { Database, Prepared, Queryable } from '../../db/database.js'

/** A membership of a user, and what of its group decides on events. */
export interface LoadedMembership {
  readonly groupId: Int64
  readonly role: number
  readonly muteMode: number
  /** This message and earlier ones are visible only with history_visible. */
  readonly joinedMessageId: number
  readonly isHistoryVisible: boolean
  readonly memberCount: number
}

/** The memberships of a user, the broadcasts for the user, and whether the user may have sessions. */
export interface LoadedReader {
  readonly memberships: readonly LoadedMembership[]
  /** Later broadcasts are for the user. */
  readonly broadcastsAfter: number
  /** null: the user may have sessions. */
  readonly barredAs: 'user_disabled' | 'user_deleted' | null
}

interface UserParams {
  readonly appId: string
  readonly userId: Int64
}

interface BroadcastReaderRow {
  readonly broadcasts_after: number
  readonly status: number
  readonly deleted_at: number | null
}

interface MembershipRow {
  readonly group_id: Int64
  readonly role: number
  readonly msg_mute_mode: number
  /** null: the member has no reader */
  readonly start_msg_id: number | null
  readonly history_visible: number
  readonly member_count: number
}

/** Reads memberships of connecting users. */
export class MembershipStore {
  readonly #memberships: Prepared<UserParams, MembershipRow>
  readonly #user: Prepared<UserParams, BroadcastReaderRow>

  constructor(database: Database) {
    this.#memberships = database.prepared((db, param) =>
      db
        // In an order, and a reader for each membership, so that PostgreSQL reads the memberships first:
        // it would compare each with each reader in an app that its statistics do not have yet.
        .selectFrom((query) =>
          query
            .selectFrom('group_members')
            .select(['app_id', 'group_id', 'user_id', 'role', 'msg_mute_mode'])
            .where('app_id', '=', param('appId'))
            .where('user_id', '=', param('userId'))
            .orderBy('group_id')
            .as('m'),
        )
        .innerJoin('groups as g', (join) =>
          join.onRef('g.app_id', '=', 'm.app_id').onRef('g.group_id', '=', 'm.group_id'),
        )
        .select(['m.group_id', 'm.role', 'm.msg_mute_mode'])
        .select(['g.history_visible', 'g.member_count'])
        .select((query) =>
          query
            .selectFrom('readers as p')
            .select('p.start_msg_id')
            .whereRef('p.app_id', '=', 'm.app_id')
            .whereRef('p.user_id', '=', 'm.user_id')
            .whereRef('p.low_id', '=', 'm.group_id')
            .whereRef('p.high_id', '=', 'm.group_id')
            .as('start_msg_id'),
        ),
    )
    this.#user = database.prepared((db, param) =>
      db
        .selectFrom('users')
        .select(['broadcasts_after', 'status', 'deleted_at'])
        .where('app_id', '=', param('appId'))
        .where('user_id', '=', param('userId')),
    )
  }

  async load(db: Queryable, appId: string, userId: Int64): Promise<LoadedReader> {
    const [user, memberships] = await Promise.all([
      this.#user.first(db, { appId, userId }),
      this.#memberships.all(db, { appId, userId }),
    ])
    return {
      memberships: memberships.flatMap(({ start_msg_id: joinedMessageId, ...row }) =>
        joinedMessageId === null
          ? []
          : {
              groupId: row.group_id,
              role: row.role,
              muteMode: row.msg_mute_mode,
              joinedMessageId,
              isHistoryVisible: row.history_visible === 1,
              memberCount: row.member_count,
            },
      ),
      broadcastsAfter: user?.broadcasts_after ?? 0,
      barredAs: user ? barredAs(user) : null,
    }
  }
}

function barredAs({ status, deleted_at: deletedAt }: BroadcastReaderRow): LoadedReader['barredAs'] {
  if (deletedAt !== null) return 'user_deleted'
  return status === userStatus.normal ? null : 'user_disabled'
}
