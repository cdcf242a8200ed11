import type { Database } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import type { GroupKey } from '../core/group-model.js'
import type { GroupStore } from '../core/group-store.js'
import type { MemberListStore } from '../membership/member-list-store.js'
import type { MemberStore } from '../membership/member-store.js'

interface EndedBansOptions {
  readonly database: Database
  readonly groups: GroupStore
  readonly members: MemberStore
  readonly lists: MemberListStore
  readonly clock: Clock
}

const bansPerStep = 500
const stepsPerRun = 100
/** Maximum difference between the clocks of nodes: a cleared ban has ended on all of them. */
const clockToleranceMs = 60_000

/**
 * Clears bans of members that have ended. This has no visible effect, since an ended ban does not
 * apply. The total of banned members subtracts ended bans, so their number is kept small.
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

  /** Clears bans under the lock of the group, as every change of its counts. */
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
