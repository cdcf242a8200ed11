import type { Int64 } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import { type CacheInvalidation, InvalidatedCache } from '../../../lib/invalidated-cache.js'
import type { MemberStore } from '../membership/member-store.js'
import type { Group, GroupKey, Member } from './group-model.js'
import type { GroupStore } from './group-store.js'

export interface GroupCacheOptions {
  readonly database: Database
  readonly groups: GroupStore
  readonly members: MemberStore
  readonly channels: { readonly groups: CacheInvalidation; readonly members: CacheInvalidation }
}

const factAgeMs = 1_000

/** What sends and history ask of groups on every call, at most a second old. */
export class GroupCache {
  readonly #options: GroupCacheOptions
  readonly #groups: InvalidatedCache<Group>
  readonly #members: InvalidatedCache<Member>

  constructor(options: GroupCacheOptions) {
    this.#options = options
    this.#groups = new InvalidatedCache({
      maxEntries: 20_000,
      maxAgeMs: factAgeMs,
      channel: options.channels.groups,
    })
    this.#members = new InvalidatedCache({
      maxEntries: 100_000,
      maxAgeMs: factAgeMs,
      channel: options.channels.members,
    })
  }

  /** The group, when it is at hand without asking the database. */
  knownGroup(group: GroupKey): Group | undefined {
    return this.#groups.get(groupKey(group))
  }

  /** Also finds dissolved groups; null when no such group ever existed. */
  async findGroup(group: GroupKey): Promise<Group | null> {
    const { database, groups } = this.#options
    const key = groupKey(group)
    return (
      this.#groups.get(key) ??
      this.#groups.load(key, () => database.read((db) => groups.find(db, group)))
    )
  }

  /** Also finds those who were members when the group was dissolved. */
  async findMember(group: GroupKey, userId: Int64): Promise<Member | null> {
    const { database, members } = this.#options
    const key = memberKey(group, userId)
    return (
      this.#members.get(key) ??
      this.#members.load(key, () => database.read((db) => members.find(db, group, userId)))
    )
  }

  /** To be called when the group, or what it holds about the users, has changed, once that is committed. */
  forget(group: GroupKey, userIds: Iterable<Int64> = []): void {
    this.#groups.forget(groupKey(group))
    for (const userId of userIds) this.#members.forget(memberKey(group, userId))
  }
}

function groupKey({ appId, groupId }: GroupKey): string {
  return `${appId}/${groupId}`
}

function memberKey(group: GroupKey, userId: Int64): string {
  return `${groupKey(group)}/${userId}`
}
