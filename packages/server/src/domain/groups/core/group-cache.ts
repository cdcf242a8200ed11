import type { Int64 } from '@hermod/protocol'
import type { CachedTables } from '../../../db/checks/cache-check.js'
import type { Database } from '../../../db/database.js'
import type {
  CacheDefinition,
  Freshness,
  InvalidatedCache,
} from '../../../lib/invalidated-cache.js'
import type { MemberStore } from '../membership/member-store.js'
import type { Group, GroupKey, Member, MemberKey } from './group-model.js'
import type { GroupStore } from './group-store.js'

/** Groups with all columns of their rows; the version may be an older one. */
export const groupCache: CacheDefinition<GroupKey, Group> = {
  name: 'groups',
  maxEntries: 20_000,
  maxAgeMs: 1_000,
  tables: {
    groups: {
      columns: [
        'type',
        'status',
        'name',
        'avatar',
        'description',
        'ext',
        'owner_id',
        'capacity',
        'member_count',
        'block_count',
        'join_request_count',
        'apply_approval',
        'hide_member_info',
        'history_visible',
        'member_invite',
        'member_modify',
        'read_ack',
        'ban_expires_at',
        'updated_at',
        'members_changed_at',
        'bans_changed_at',
        'blocks_changed_at',
      ],
    },
  } satisfies CachedTables,
  keyOf: ({ appId, groupId }) => `${appId}/${groupId}`,
}

/** Members without their read positions. */
export const memberCache: CacheDefinition<MemberKey, Member> = {
  name: 'group-members',
  maxEntries: 100_000,
  maxAgeMs: 1_000,
  tables: {
    group_members: {
      columns: ['role', 'display_name', 'ban_expires_at', 'msg_mute_mode', 'msg_push_mode'],
    },
  } satisfies CachedTables,
  keyOf: ({ appId, groupId, userId }) => `${appId}/${groupId}/${userId}`,
}

interface GroupCacheOptions {
  readonly database: Database
  readonly groups: GroupStore
  readonly members: MemberStore
  readonly groupCache: InvalidatedCache<GroupKey, Group>
  readonly memberCache: InvalidatedCache<MemberKey, Member>
}

/**
 * Cached groups and members for sends and history. They miss changes by other nodes for at most a
 * second.
 */
export class GroupCache {
  constructor(private readonly options: GroupCacheOptions) {}

  /** Returns the group if the cache holds it. */
  knownGroup(group: GroupKey): Group | undefined {
    return this.options.groupCache.get(group)
  }

  /** Finds groups, including dissolved ones; null when the group never existed. */
  async findGroup(group: GroupKey, freshness: Freshness = 'cached'): Promise<Group | null> {
    const { database, groups, groupCache: cache } = this.options
    return cache.load(group, () => database.read((db) => groups.find(db, group)), freshness)
  }

  /** Finds members, including the members of a dissolved group at the time of its end. */
  async findMember(
    { appId, groupId }: GroupKey,
    userId: Int64,
    freshness: Freshness = 'cached',
  ): Promise<Member | null> {
    const { database, members, memberCache: cache } = this.options
    const member = { appId, groupId, userId }
    const read = () => database.read((db) => members.find(db, member, userId))
    return cache.load(member, read, freshness)
  }
}
