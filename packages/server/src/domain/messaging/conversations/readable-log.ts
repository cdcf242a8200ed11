import type { Int64 } from '@hermod/protocol'
import type { Queryable } from '../../../db/database.js'
import type { UserKey } from '../../users/user-model.js'
import {
  broadcastStream,
  type Conversation,
  isBroadcastStream,
  isParty,
} from '../model/conversation-model.js'

/** The memberships of users in groups. */
export interface Memberships {
  /** Finds the memberships of a user in these groups, by group. */
  findOwn(
    db: Queryable,
    appId: string,
    userId: Int64,
    groupIds: readonly Int64[],
  ): Promise<ReadonlyMap<Int64, unknown>>
}

class CheckedLog implements Conversation {
  // A private member: no other object has this type.
  readonly #reader: UserKey
  readonly lowId: Int64
  readonly highId: Int64
  readonly isGroup: boolean

  constructor(reader: UserKey, { lowId, highId, isGroup }: Conversation) {
    this.#reader = reader
    this.lowId = lowId
    this.highId = highId
    this.isGroup = isGroup
  }

  get appId(): string {
    return this.#reader.appId
  }

  /** The user who may read the log. */
  get userId(): Int64 {
    return this.#reader.userId
  }
}

/**
 * A log together with a user who may read it. Only {@link ReadRights} makes one, so stores that
 * take it read nothing unchecked.
 */
export type ReadableLog = CheckedLog

/** The one check of the right to read a log (decision page 049). */
export class ReadRights {
  constructor(private readonly members: Memberships) {}

  /** @returns null for logs that the user may not read, in the order of the logs */
  async check(
    db: Queryable,
    user: UserKey,
    logs: readonly Conversation[],
  ): Promise<(ReadableLog | null)[]> {
    const groupIds = logs.filter(({ isGroup }) => isGroup).map(({ lowId }) => lowId)
    const joined =
      groupIds.length === 0
        ? null
        : await this.members.findOwn(db, user.appId, user.userId, [...new Set(groupIds)])
    const mayRead = (log: Conversation) => {
      if (log.isGroup) return joined?.has(log.lowId) && log.lowId === log.highId
      return isBroadcastStream(log) || isParty(log, user.userId)
    }
    return logs.map((log) =>
      log.appId === user.appId && mayRead(log) ? new CheckedLog(user, log) : null,
    )
  }

  /** The broadcasts of a sender, which all users of the app may read. */
  streamOf(user: UserKey, senderId: Int64): ReadableLog {
    return new CheckedLog(user, broadcastStream(user.appId, senderId))
  }
}
