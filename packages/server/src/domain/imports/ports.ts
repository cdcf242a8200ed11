/** The rows of other domains that imports write and read. */
import type { Int64 } from '@hermod/protocol'
import type { Queryable, Tx } from '../../db/database.js'
import type { Insertable } from '../../db/kysely.js'
import type { Schema } from '../../db/schema.js'
import type { Group, GroupKey, GroupList, Member } from '../groups/core/group-model.js'
import type { ConversationKey } from '../messaging/model/conversation-model.js'
import type { ReaderKey } from '../messaging/readers/reader-positions.js'
import type { ReaderStart, ReadRange } from '../messaging/readers/reader-statements.js'

/** Groups. */
export interface GroupRows {
  insert(tx: Tx, group: Insertable<Schema['groups']>): Promise<void>
  update(tx: Tx, group: GroupKey, changes: { readonly capacity: Int64 }): Promise<void>
  findMany(db: Queryable, appId: string, groupIds: readonly Int64[]): Promise<Map<Int64, Group>>
  lockForUpdate(tx: Tx, group: GroupKey): Promise<Group | null>
  touch(
    tx: Tx,
    group: GroupKey,
    lists: readonly GroupList[],
    now: number,
    added?: { readonly members: number },
  ): Promise<void>
}

/** Members of groups. */
export interface MemberRows {
  insert(tx: Tx, members: readonly Insertable<Schema['group_members']>[]): Promise<void>
  findMany(db: Queryable, group: GroupKey, userIds: readonly Int64[]): Promise<Map<Int64, Member>>
  countAdmins(tx: Tx, group: GroupKey): Promise<number>
  update(
    tx: Tx,
    group: GroupKey,
    userIds: readonly Int64[],
    changes: { readonly role: number },
  ): Promise<void>
}

/** Readers of conversations. */
export interface ReaderRows {
  insert(tx: Tx, readers: readonly ReaderKey[], start: ReaderStart): Promise<void>
  advanceRead(tx: Tx, ranges: readonly ReadRange[]): Promise<void>
  advanceMembers(
    tx: Tx,
    group: ConversationKey,
    range: { readonly from: number; readonly to: number },
  ): Promise<Int64[]>
}

/** Pinned messages. */
export interface PinRows {
  list(db: Queryable, conversation: ConversationKey): Promise<readonly unknown[]>
  insert(
    tx: Tx,
    conversation: ConversationKey,
    pin: { readonly messageId: number; readonly by: Int64; readonly at: number },
  ): Promise<void>
}

interface AddedReaction {
  readonly message: ConversationKey & { readonly messageId: number }
  readonly reaction: {
    readonly userId: Int64
    readonly key: string
    readonly change: number
    readonly reactedAt: number
  }
}

/** Reactions to messages. */
export interface ReactionRows {
  insertMany(tx: Tx, reactions: readonly AddedReaction[]): Promise<void>
}

/** Users. */
export interface UserRows {
  lockManyKeyShare(
    tx: Tx,
    appId: string,
    userIds: readonly Int64[],
  ): Promise<readonly { readonly userId: Int64; readonly isDeleted: boolean }[]>
}
