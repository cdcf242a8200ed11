import type { Int64 } from '@hermod/protocol'
import type { Database, Queryable } from '../../../db/database.js'
import type { GroupKey } from '../../groups/core/group-model.js'
import type { UserKey } from '../../users/user-model.js'
import type { AudienceStore, FoundDevice } from '../audience/audience-store.js'
import type { PushedMessage } from '../content/pushed-message.js'
import type { PushPreferenceStore } from '../preferences/push-preference-store.js'
import type { StoredPushTask } from '../tasks/task-model.js'

interface AudienceCheckOptions {
  readonly database: Database
  readonly audiences: AudienceStore
  readonly preferences: PushPreferenceStore
  readonly members: {
    /** @returns null for those who are not in the group */
    find(db: Queryable, group: GroupKey, userId: Int64): Promise<unknown>
  }
}

/** The membership of a user in an audience. */
export interface Membership {
  readonly isIn: boolean
  /** Only these of the user's devices; null: all. */
  readonly deviceSns: readonly number[] | null
}

/** Looks for a user in audiences, as they are at present. */
export class AudienceCheck {
  constructor(private readonly options: AudienceCheckOptions) {}

  async check(
    { appId, content: { audience } }: StoredPushTask,
    userId: Int64,
  ): Promise<Membership> {
    const { database, audiences } = this.options
    switch (audience.kind) {
      case 'all':
        return ofWholeUser(true)
      case 'user_id':
        return ofWholeUser(audience.values.includes(userId))
      case 'tag':
        return ofWholeUser(await this.#hasTag({ appId, userId }, audience.values))
      case 'message':
        return ofWholeUser(await this.#isTold(appId, audience.message, userId))
      case 'alias':
        return some(
          await database.read((db) => audiences.findByAlias(db, appId, audience.values)),
          userId,
        )
      case 'push_token':
        return some(
          await database.read((db) => audiences.findByPushToken(db, appId, audience.values)),
          userId,
        )
    }
  }

  async #hasTag(user: UserKey, tags: readonly string[]): Promise<boolean> {
    const { database, preferences } = this.options
    const own = new Set(await database.read((db) => preferences.listTags(db, user)))
    return tags.some((tag) => own.has(tag))
  }

  async #isTold(
    appId: string,
    { kind, targetId, senderId }: PushedMessage,
    userId: Int64,
  ): Promise<boolean> {
    if (userId === senderId) return false
    if (kind === 'broadcast') return true
    if (kind === 'direct') return userId === targetId
    const { database, members } = this.options
    const group = { appId, groupId: targetId }
    return (await database.read((db) => members.find(db, group, userId))) !== null
  }
}

function ofWholeUser(isIn: boolean): Membership {
  return { isIn, deviceSns: null }
}

function some(found: readonly FoundDevice[], userId: Int64): Membership {
  const own = found.filter((each) => each.userId === userId)
  const deviceSns = own.flatMap(({ deviceSn }) => deviceSn ?? [])
  return { isIn: own.length > 0, deviceSns: deviceSns.length < own.length ? null : deviceSns }
}
