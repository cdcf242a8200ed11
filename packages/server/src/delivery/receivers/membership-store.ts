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

/** A user with one membership; all of its columns are null for a user without any. */
interface ReaderRow {
  readonly broadcasts_after: number
  readonly status: number
  readonly deleted_at: number | null
  readonly group_id: Int64 | null
  readonly role: number | null
  readonly msg_mute_mode: number | null
  /** null: the member has no reader */
  readonly start_msg_id: number | null
  readonly history_visible: number | null
  readonly member_count: number | null
}

/** Reads memberships of connecting users. */
export class MembershipStore {
  readonly #reader: Prepared<UserParams, ReaderRow>

  constructor(database: Database) {
    this.#reader = database.prepared((db, param) =>
      db
        .selectFrom('users as u')
        .leftJoin('group_members as m', (join) =>
          join.onRef('m.app_id', '=', 'u.app_id').onRef('m.user_id', '=', 'u.user_id'),
        )
        .leftJoin('groups as g', (join) =>
          join.onRef('g.app_id', '=', 'm.app_id').onRef('g.group_id', '=', 'm.group_id'),
        )
        .select(['u.broadcasts_after', 'u.status', 'u.deleted_at'])
        .select(['m.group_id', 'm.role', 'm.msg_mute_mode'])
        .select(['g.history_visible', 'g.member_count'])
        // For each membership: PostgreSQL would compare each with each reader in an app that its
        // statistics do not have yet.
        .select((query) =>
          query
            .selectFrom('readers as p')
            .select('p.start_msg_id')
            .whereRef('p.app_id', '=', 'm.app_id')
            .whereRef('p.user_id', '=', 'm.user_id')
            .whereRef('p.low_id', '=', 'm.group_id')
            .whereRef('p.high_id', '=', 'm.group_id')
            .as('start_msg_id'),
        )
        .where('u.app_id', '=', param('appId'))
        .where('u.user_id', '=', param('userId')),
    )
  }

  async load(db: Queryable, appId: string, userId: Int64): Promise<LoadedReader> {
    const rows = await this.#reader.all(db, { appId, userId })
    const [user] = rows
    return {
      memberships: rows.flatMap(membershipOf),
      broadcastsAfter: user?.broadcasts_after ?? 0,
      barredAs: user ? barredAs(user) : null,
    }
  }
}

function membershipOf(row: ReaderRow): LoadedMembership | [] {
  const { group_id: groupId, start_msg_id: joinedMessageId } = row
  if (groupId === null || joinedMessageId === null) return []
  return {
    groupId,
    role: row.role ?? 0,
    muteMode: row.msg_mute_mode ?? 0,
    joinedMessageId,
    isHistoryVisible: row.history_visible === 1,
    memberCount: row.member_count ?? 0,
  }
}

function barredAs({ status, deleted_at: deletedAt }: ReaderRow): LoadedReader['barredAs'] {
  if (deletedAt !== null) return 'user_deleted'
  return status === userStatus.normal ? null : 'user_disabled'
}
