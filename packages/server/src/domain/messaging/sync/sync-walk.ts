import type { Int64 } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import { EventLoopBudget } from '../../../lib/concurrency/event-loop-budget.js'
import type { MessageReader } from '../../../outbox/consumer.js'
import type { OutboxReader } from '../../../outbox/outbox-reader.js'
import type { Place } from '../../../outbox/pos.js'
import type { RecentOutbox } from '../../../outbox/rows/recent-rows.js'
import {
  type ConcernedReader,
  concernOf,
  concerns,
  isReader,
  type RowConcern,
} from '../../../outbox/rows/row-concern.js'
import type { UserKey } from '../../users/user-model.js'
import { type Conversation, groupConversation } from '../model/conversation-model.js'
import { logKey } from './head-model.js'

export interface SyncWalkOptions {
  readonly database: Database
  readonly store: Pick<OutboxReader, 'listAfter'>
  readonly messages: Pick<MessageReader, 'logs'>
  /** Rows in memory, which cost no statement. */
  readonly recent: RecentOutbox
}

/** A log that rows of the outbox concern. */
export interface WalkedLog {
  readonly log: Conversation
  /** The number of the first change after the client's place; 0 = not known, null = there is none. */
  readonly firstChange: number | null
}

/** The part of the outbox that a page covers. */
export interface Walked {
  readonly logs: readonly WalkedLog[]
  /** The last row of the page. */
  readonly place: Place
  readonly hasMore: boolean
  /** Rows that were not in memory. */
  readonly rowsRead: number
}

interface Start {
  readonly after: Place
  /** The newest row when the call began. */
  readonly head: Place
  /** The page ends before a row that would add logs beyond this number. */
  readonly maxLogs: number
  readonly groups: ReadonlySet<Int64>
}

/** Rows of one read. */
const rowsPerStep = 1_000

/** Finds the logs of a user that the rows of the outbox after a place concern. */
export class SyncWalk {
  readonly #budget = new EventLoopBudget({ perTurn: 1 })

  constructor(private readonly options: SyncWalkOptions) {}

  /** Tests whether all rows after a position are in memory. */
  isInMemory(appId: string, position: number): boolean {
    return this.options.recent.after(appId, position) !== null
  }

  /** @returns null when rows of the walk are not stored any more */
  async run({ appId, userId }: UserKey, start: Start): Promise<Walked | null> {
    const { after, head, groups, maxLogs } = start
    const reader = { userId, isMemberOf: (groupId: Int64) => groups.has(groupId) }
    const logs = new Map<string, WalkedLog>()
    let place = after
    let rowsRead = 0
    const page = (hasMore: boolean) => ({ logs: [...logs.values()], place, hasMore, rowsRead })
    while (place.position < head.position) {
      const inMemory = this.options.recent.after(appId, place.position)
      // Delivery, which fills the memory, may be behind the outbox.
      const rows = inMemory?.length ? inMemory : await this.#read(appId, place.position)
      if (rows !== inMemory) rowsRead += rows.length
      if (rows[0]?.position !== place.position + 1) return null
      for (const row of rows) {
        // Changes of the user after the head may be missing.
        if (row.position > head.position) break
        const found = concerns(row, reader) ? logsOf(appId, row, reader) : []
        const added = found.filter(({ log }) => !logs.has(logKey(log)))
        const isFull = added.length > 0 && logs.size + added.length > maxLogs
        if (isFull && logs.size > 0) return page(true)
        for (const each of found) note(logs, each)
        place = { epoch: head.epoch, position: row.position, time: row.createdAt }
      }
    }
    return page(false)
  }

  async #read(appId: string, position: number): Promise<RowConcern[]> {
    const { database, store, messages } = this.options
    await this.#budget.begin()
    const rows = await database.read((db) => store.listAfter(db, appId, position, rowsPerStep))
    return rows.map((row) => concernOf(row, messages))
  }
}

interface FoundLog {
  readonly log: Conversation
  /** The first number, as in `RowConcern`. */
  readonly change: number | null
}

/** The logs of a row whose heads may have changed for the reader. */
function logsOf(appId: string, row: RowConcern, reader: ConcernedReader): FoundLog[] {
  const isNamed = row.userIds.includes(reader.userId)
  const logs = row.logs
    .filter((log) => isNamed || isReader(log, reader))
    .map(({ change, ...key }) => ({ log: { appId, ...key }, change }))
  const groups = row.groupIds
    .filter((groupId) => isNamed || reader.isMemberOf(groupId))
    // A user who is named may have joined, and then needs the newest messages.
    .map((groupId) => ({ log: groupConversation(appId, groupId), change: isNamed ? 0 : null }))
  return [...logs, ...groups]
}

function note(logs: Map<string, WalkedLog>, { log, change }: FoundLog): void {
  const key = logKey(log)
  const known = logs.get(key)
  // Rows of a log are in the order of its changes.
  const first = known?.firstChange ?? change
  logs.set(key, { log, firstChange: first })
}
