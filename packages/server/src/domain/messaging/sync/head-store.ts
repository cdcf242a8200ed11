import type { Int64 } from '@hermod/protocol'
import type { Database, Prepared, Queryable } from '../../../db/database.js'
import { type NotNull, sql } from '../../../db/kysely.js'
import type { UserKey } from '../../users/user-model.js'
import type { ReadableLog } from '../conversations/readable-log.js'
import { broadcastUserId } from '../model/conversation-model.js'
import type { ReaderKey } from '../readers/reader-positions.js'
import {
  forEachKind,
  type LogSource,
  latestBytes,
  latestMessageId,
  logOfReader,
  logsOfUser,
  peerDeliveredSeq,
  peerId,
  peerReadSeq,
  readerKeyOf,
  withOthers,
} from '../readers/reader-sql.js'
import { unreadInLog } from '../readers/unread-sql.js'
import type { GroupHead, StoredHead } from './head-model.js'

type HeadRow = Omit<StoredHead, 'log' | 'group' | 'latestMessageId' | 'newest'> & {
  readonly removedMessageId: number
  /** null = the log is empty. */
  readonly newestMessageId: number | null
  /** null = the message at the last position is gone. */
  readonly newestBytes: number | null
}

/** A place in the list of all logs of a user. */
export interface ListPlace {
  /** The newest message that the logs of a peer ever held. */
  readonly place: number
  readonly peerId: Int64
}

/** A group, or a peer with the logs that the user has with it. */
export interface ListedPeer extends ListPlace {
  readonly isGroup: number
  readonly hasDirect: number
  readonly hasStream: number
}

/** Reads heads of logs and lists all logs of a user. */
export class HeadStore {
  readonly #head
  readonly #groupHead: Prepared<ReaderKey, HeadRow & GroupHead>
  readonly #list
  readonly #groups: Prepared<UserKey, { readonly groupId: Int64 }>

  constructor(database: Database) {
    this.#head = forEachKind((logOf) =>
      database.prepared<ReaderKey, HeadRow>((db, param) => selectHead(logOf(db, param))),
    )
    this.#groupHead = database.prepared((db, param) => groupHeadOf(logOfReader(db, param)))
    this.#list = database.preparedPage<UserKey & ListPlace, ListedPeer>((db, param, limit) => {
      const isStream = sql<boolean>`l.low_id = ${sql.lit(broadcastUserId)}`
      const logs = logsOfUser(db, param, true).select([
        peerId.as('peer_id'),
        'l.last_msg_id as newest',
        'l.is_group',
        sql<number>`case when l.is_group = 0 and not ${isStream} then 1 else 0 end`.as(
          'has_direct',
        ),
        sql<number>`case when ${isStream} then 1 else 0 end`.as('has_stream'),
      ])
      const place = sql<number>`max(newest)`
      return db
        .selectFrom(logs.as('c'))
        .select(['peer_id as peerId', place.as('place')])
        .select([
          sql<number>`max(is_group)`.as('isGroup'),
          sql<number>`max(has_direct)`.as('hasDirect'),
          sql<number>`max(has_stream)`.as('hasStream'),
        ])
        .groupBy('peer_id')
        .having(
          sql<boolean>`${place} < ${param('place')} or (${place} = ${param('place')} and peer_id < ${param('peerId')})`,
        )
        .orderBy('place', 'desc')
        .orderBy('peerId', 'desc')
        .limit(limit)
    })
    this.#groups = database.prepared((db, param) =>
      db
        .selectFrom('group_members')
        .select('group_id as groupId')
        .where('app_id', '=', param('appId'))
        .where('user_id', '=', param('userId')),
    )
  }

  /** Reads a head by one statement. @returns null for a log that has not begun */
  async find(db: Queryable, log: ReadableLog): Promise<StoredHead | null> {
    if (!log.isGroup) {
      const row = await this.#head.of(log).first(db, readerKeyOf(log))
      return row && toHead(log, row, null)
    }
    const found = await this.#groupHead.first(db, readerKeyOf(log))
    if (!found) return null
    const { status, version, type, joinedMessageId, muteMode, pushMode, ...row } = found
    return toHead(log, row, { status, version, type, joinedMessageId, muteMode, pushMode })
  }

  /**
   * Lists the peers and groups of a user, those with the newest message first. Groups and
   * conversations without messages, and those that the user has deleted, are listed too.
   * @param page.after the place of the last one of the page before
   */
  async list(
    db: Queryable,
    { appId, userId }: UserKey,
    { after, limit }: { readonly after: ListPlace; readonly limit: number },
  ): Promise<ListedPeer[]> {
    return this.#list.all(db, { appId, userId, place: after.place, peerId: after.peerId, limit })
  }

  /** Lists the groups of a user, dissolved ones included. */
  async listGroups(db: Queryable, { appId, userId }: UserKey): Promise<ReadonlySet<Int64>> {
    const rows = await this.#groups.all(db, { appId, userId })
    return new Set(rows.map(({ groupId }) => groupId))
  }
}

function toHead(
  log: ReadableLog,
  { removedMessageId, newestMessageId, newestBytes, ...row }: HeadRow,
  group: GroupHead | null,
): StoredHead {
  const hiddenMessageId = Math.max(row.hiddenMessageId, removedMessageId)
  const newest = newestMessageId ?? 0
  const latestMessageId = newest > hiddenMessageId ? newest : 0
  return {
    ...row,
    unread: Number(row.unread),
    hiddenMessageId,
    latestMessageId,
    newest: newestBytes === null ? null : { messageId: newest, seq: row.seq, bytes: newestBytes },
    log,
    group,
  }
}

/** Selects the head of the log `l`. */
function selectHead(log: ReturnType<LogSource>) {
  return withOthers(log).select([
    'l.seq',
    'l.alterations',
    'l.changes_kept_from as keptFrom',
    'l.removed_msg_id as removedMessageId',
    unreadInLog.as('unread'),
    'l.read_seq as readSeq',
    'l.delivered_seq as deliveredSeq',
    peerReadSeq.as('peerReadSeq'),
    peerDeliveredSeq.as('peerDeliveredSeq'),
    'l.hidden_msg_id as hiddenMessageId',
    latestMessageId.as('newestMessageId'),
    latestBytes.as('newestBytes'),
  ])
}

/** Selects the head of a group's log `l`, with the membership `m` of the reader. */
function groupHeadOf(log: ReturnType<LogSource>) {
  return selectHead(log)
    .innerJoin('group_members as m', (join) =>
      join
        .onRef('m.app_id', '=', 'l.app_id')
        .onRef('m.group_id', '=', 'l.low_id')
        .onRef('m.user_id', '=', 'l.user_id'),
    )
    .select([
      'l.start_msg_id as joinedMessageId',
      'g.status',
      'g.version',
      'g.type',
      'm.msg_mute_mode as muteMode',
      'm.msg_push_mode as pushMode',
    ])
    .$narrowType<{ status: NotNull; version: NotNull; type: NotNull }>()
}
