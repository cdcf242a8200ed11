import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RecentRows } from './recent-rows.js'
import { type UserWithGroups, keysOfRow, hasLog, type RowKeys } from './row-keys.js'

function aRow(position: number, userIds: readonly number[] = [1]): RowKeys {
  return { position, createdAt: position, logs: [], groupIds: [], userIds, isPrivate: true }
}

function aReader(userId: number, ...groupIds: readonly number[]): UserWithGroups {
  return { userId, groupIds: new Set(groupIds) }
}

function filled(count: number, options = {}): RecentRows {
  const rows = new RecentRows(0, options)
  for (let position = 1; position <= count; position++) rows.add(aRow(position))
  return rows
}

/** The positions of the rows of user 1. */
function positionsAfter(rows: RecentRows, position: number): number[] {
  return rows.concerning(position, aReader(1)).map((row) => row.position)
}

/** Tests by the row alone whether it concerns the reader. */
function concerns({ userIds, groupIds, logs, isPrivate }: RowKeys, reader: UserWithGroups) {
  if (userIds.includes(reader.userId)) return true
  if (isPrivate) return false
  return logs.some((log) => hasLog(log, reader)) || groupIds.some((id) => reader.groupIds.has(id))
}

const ids = fc.integer({ min: 1, max: 6 })
const fewIds = fc.array(ids, { maxLength: 3 })
const logs = fc.oneof(
  fc.record({ lowId: ids, highId: ids, isGroup: fc.constant(false) }),
  fc.record({ lowId: fc.constant(-1), highId: ids, isGroup: fc.constant(false) }),
  ids.map((id) => ({ lowId: id, highId: id, isGroup: true })),
)
const rowKeys = fc.record({
  logs: fc.array(
    logs.map((log) => ({ ...log, change: 1 })),
    { maxLength: 2 },
  ),
  groupIds: fewIds,
  userIds: fewIds,
  isPrivate: fc.boolean(),
})

describe('recent rows', () => {
  it('returns the rows after a position, and none after the last one', () => {
    const rows = filled(5)
    expect(positionsAfter(rows, 2)).toEqual([3, 4, 5])
    expect(positionsAfter(rows, 0)).toEqual([1, 2, 3, 4, 5])
    expect(positionsAfter(rows, 5)).toEqual([])
    expect(rows.at(4)?.createdAt).toBe(4)
    expect(rows.at(6)).toBeUndefined()
  })

  it('holds the newest rows up to its bounds, and is not complete after older ones', () => {
    const rows = filled(25, { maxRows: 10 })
    expect(positionsAfter(rows, 18).at(-1)).toBe(25)
    expect([10, 18].map((position) => rows.isCompleteAfter(position))).toEqual([false, true])
    const large = new RecentRows(0, { maxBytes: 16_384 })
    const users = Array.from({ length: 200 }, (_, index) => index)
    for (let position = 1; position <= 5; position++) large.add(aRow(position, users))
    expect(positionsAfter(large, 4)).toEqual([5])
    expect(large.isCompleteAfter(0)).toBe(false)
  })

  it('starts again where a row does not follow the last one', () => {
    const rows = filled(3)
    rows.add(aRow(9))
    expect(rows.isCompleteAfter(3)).toBe(false)
    expect(positionsAfter(rows, 0)).toEqual([9])
  })

  it('finds the rows of a reader exactly as a walk over all rows', () => {
    const cases = [fc.array(rowKeys, { maxLength: 60 }), ids, fewIds, fc.nat({ max: 60 })] as const
    fc.assert(
      fc.property(...cases, (all, userId, groupIds, after) => {
        const reader = aReader(userId, ...groupIds)
        const rows = new RecentRows(0, { maxRows: 20 })
        for (const [index, keys] of all.entries())
          rows.add({ position: index + 1, createdAt: 0, ...keys })
        const walked: RowKeys[] = []
        for (let position = after + 1; position <= rows.newest; position++) {
          const row = rows.at(position)
          if (row && concerns(row, reader)) walked.push(row)
        }
        expect(rows.concerning(after, reader)).toEqual(walked)
        expect(rows.concernsAfter(after, reader)).toBe(walked.length > 0)
      }),
    )
  })
})

describe('keys of a row', () => {
  const messages = { logs: () => [{ lowId: 1, highId: 2, isGroup: false, change: 1 }] }
  const concernsReader = (row: RowKeys, ...reader: readonly [number, ...number[]]) => {
    const rows = new RecentRows(0)
    rows.add(row)
    return rows.concernsAfter(0, aReader(...reader))
  }
  const rowOf = (kind: 'message.stored' | 'message.read' | 'contact.blocked', payload: object) =>
    keysOfRow({ position: 1, createdAt: 1, kind, payload: JSON.stringify(payload) }, messages)
  const mark = (low_id: number, high_id: number, is_group: boolean, user_ids: number[]) =>
    rowOf('message.read', {
      actor_id: 1,
      user_ids,
      conversation: { low_id, high_id, is_group },
      msg_id: 9,
    })

  it('a stored message concerns the readers of its log', () => {
    const row = rowOf('message.stored', {})
    expect([1, 2, 3].map((userId) => concernsReader(row, userId))).toEqual([true, true, false])
  })

  it('a mark concerns both parties of a direct conversation, in a group and in broadcasts the reader', () => {
    const direct = mark(1, 2, false, [1])
    expect([1, 2, 3].map((userId) => concernsReader(direct, userId))).toEqual([true, true, false])
    const group = mark(7, 7, true, [1])
    expect([1, 2].map((userId) => concernsReader(group, userId, 7))).toEqual([true, false])
    const broadcast = mark(-1, 5, false, [1])
    expect([1, 2].map((userId) => concernsReader(broadcast, userId))).toEqual([true, false])
  })

  it('a block concerns the blocking user alone', () => {
    const row = rowOf('contact.blocked', { actor_id: 1, user_ids: [2] })
    expect([1, 2].map((userId) => concernsReader(row, userId))).toEqual([true, false])
  })

  it('a group event concerns the members and the users that it names', () => {
    const row = keysOfRow(
      {
        position: 1,
        createdAt: 1,
        kind: 'group.kicked',
        payload: JSON.stringify({ actor_id: 1, user_ids: [2], group_id: 7 }),
      },
      messages,
    )
    expect(concernsReader(row, 2)).toBe(true)
    expect(concernsReader(row, 3, 7)).toBe(true)
    expect(concernsReader(row, 3)).toBe(false)
  })
})
