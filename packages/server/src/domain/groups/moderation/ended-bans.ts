import type { Database } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import type { GroupKey } from '../core/group-model.js'
import type { GroupStore } from '../core/group-store.js'
import type { MemberListStore } from '../membership/member-list-store.js'
import type { MemberStore } from '../membership/member-store.js'

export interface EndedBansOptions {
  readonly database: Database
  readonly groups: GroupStore
  readonly members: MemberStore
  readonly lists: MemberListStore
  readonly clock: Clock
}

const bansPerStep = 500
const stepsPerRun = 100
/** The clock of no node is further behind, so that a ban which is cleared runs on none of them. */
const clockToleranceMs = 60_000

/**
 * Clears bans of members that have ended. It changes nothing that a user can see: a ban that has ended is none, cleared or not. But the
 * total of the banned members takes those that are not cleared out of the count, and they are to stay few.
 */
export class EndedBans {
  constructor(private readonly options: EndedBansOptions) {}

  async clear(signal: AbortSignal): Promise<void> {
    const { database, lists, clock } = this.options
    for (let step = 0; step < stepsPerRun && !signal.aborted; step++) {
      const endedBy = clock.now() - clockToleranceMs
      const groups = await database.read((db) => lists.listWithEndedBans(db, endedBy, bansPerStep))
      if (groups.length === 0) return
      for (const group of groups) if (!signal.aborted) await this.#clearOf(group, endedBy)
    }
  }

  /** Under the lock of the group, as every change of what it counts. */
  async #clearOf(key: GroupKey, endedBy: number): Promise<void> {
    const { database, groups, members, lists } = this.options
    await database.transaction(async (tx) => {
      const group = await groups.lockForUpdate(tx, key)
      if (!group) return
      const userIds = await lists.listBanEnded(tx, group, endedBy, bansPerStep)
      if (userIds.length === 0) return
      await members.update(tx, group, userIds, { ban_expires_at: 0 })
      await groups.touch(tx, group, [], endedBy, { bans: -userIds.length })
    })
  }
}
