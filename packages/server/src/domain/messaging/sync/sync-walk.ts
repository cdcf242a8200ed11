import type { Int64 } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import { EventLoopBudget } from '../../../lib/concurrency/event-loop-budget.js'
import type { MessageReader } from '../../../outbox/consumer.js'
import { appOutbox, pageAfter } from '../../../outbox/outbox-page.js'
import type { OutboxReader } from '../../../outbox/outbox-reader.js'
import type { OutboxPosition } from '../../../outbox/pos.js'
import { type RecentOutbox, RecentRows } from '../../../outbox/rows/recent-rows.js'
import {
  hasLog,
  keysOfRow,
  type RowKeys,
  type UserWithGroups,
} from '../../../outbox/rows/row-keys.js'
import type { UserKey } from '../../users/user-model.js'
import { type Conversation, groupConversation } from '../model/conversation-model.js'
import { logKey } from './head-model.js'

export interface SyncWalkOptions {
  readonly database: Database
  readonly store: Pick<OutboxReader, 'head' | 'listAfter'>
  readonly messages: Pick<MessageReader, 'logs'>
  /** Rows in memory, which cost no statement. */
  readonly recent: RecentOutbox
}

/** A log that rows of the outbox concern. */
export interface WalkedLog {
  readonly log: Conversation
  /** The number of the first change after the client's position; 0 = not known, null = there is none. */
  readonly firstChange: number | null
}

/** The part of the outbox that a page covers. */
export interface Walked {
  readonly logs: readonly WalkedLog[]
  /** The last row of the page. */
  readonly pos: OutboxPosition
  readonly hasMore: boolean
  /**
   * Rows that the walk looked at: those read from the database, and those in memory that concern
   * the user.
   */
  readonly rows: number
}

interface WalkStart {
  readonly after: OutboxPosition
  /** The newest row when the call began. */
  readonly head: OutboxPosition
  /** The page ends before a row that would add logs beyond this number. */
  readonly maxLogs: number
  readonly groups: ReadonlySet<Int64>
}

/** Rows of one read. */
const rowsPerStep = 1_000

const unbounded = Number.POSITIVE_INFINITY

/** Finds the logs of a user that the rows of the outbox after a position concern. */
export class SyncWalk {
  readonly #budget = new EventLoopBudget({ perTurn: 1 })

  constructor(private readonly options: SyncWalkOptions) {}

  /** Tests whether all rows after a position are in memory. */
  isInMemory(appId: string, position: number): boolean {
    return this.options.recent.recentRows(appId)?.isCompleteAfter(position) ?? false
  }

  /** @returns null when rows of the walk are not stored any more */
  async run({ appId, userId }: UserKey, start: WalkStart): Promise<Walked | null> {
    const { after, head, groups, maxLogs } = start
    const reader = { userId, groupIds: groups }
    const logs = new Map<string, WalkedLog>()
    let pos = after
    let rowCount = 0
    const page = (hasMore: boolean) => ({
      logs: [...logs.values()],
      pos,
      hasMore,
      rows: rowCount,
    })
    while (pos.position < head.position) {
      const next = pos.position + 1
      const recent = this.options.recent.recentRows(appId)
      // Delivery, which fills the memory, may be behind the outbox.
      const isRecent = recent?.at(next) !== undefined
      const rows = isRecent ? recent : await this.#read(appId, pos.position, head.position)
      if (rows === null) return null
      const moveTo = (position: number) => {
        const row = rows.at(position)
        if (row) pos = { epoch: head.epoch, position, time: row.createdAt }
      }
      // Rows of changes of the user after the head may be missing.
      const end = Math.min(rows.newest, head.position)
      const concerning = rows.concerning(pos.position, reader)
      rowCount += rows === recent ? concerning.length : rows.newest - pos.position
      for (const row of concerning) {
        if (row.position > end) break
        const found = logsOf(appId, row, reader)
        const added = found.filter(({ log }) => !logs.has(logKey(log)))
        if (added.length > 0 && logs.size > 0 && logs.size + added.length > maxLogs) {
          if (row.position > next) moveTo(row.position - 1)
          return page(true)
        }
        for (const each of found) note(logs, each)
      }
      moveTo(end)
    }
    return page(false)
  }

  /** @returns null when rows after the position are purged */
  async #read(appId: string, position: number, head: number): Promise<RecentRows | null> {
    const { database, store, messages } = this.options
    await this.#budget.begin()
    const outbox = appOutbox(database, store, appId)
    const { rows, missed } = await pageAfter(outbox, position, rowsPerStep, head)
    if (missed) return null
    const held = new RecentRows(position, { maxRows: unbounded, maxBytes: unbounded })
    for (const row of rows) held.add(keysOfRow(row, messages))
    return held
  }
}

interface FoundLog {
  readonly log: Conversation
  /** The first number, as in `RowKeys`. */
  readonly change: number | null
}

/** The logs of a row whose heads may have changed for the reader. */
function logsOf(appId: string, row: RowKeys, reader: UserWithGroups): FoundLog[] {
  const isNamed = row.userIds.includes(reader.userId)
  const logs = row.logs
    .filter((log) => isNamed || hasLog(log, reader))
    .map(({ change, ...key }) => ({ log: { appId, ...key }, change }))
  const groups = row.groupIds
    .filter((groupId) => isNamed || reader.groupIds.has(groupId))
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
