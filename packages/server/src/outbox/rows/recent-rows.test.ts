import { describe, expect, it } from 'vitest'
import { RecentRows } from './recent-rows.js'
import { type ConcernedReader, concernOf, concerns, type RowConcern } from './row-concern.js'

function aRow(position: number, userIds: readonly number[] = []): RowConcern {
  return { position, createdAt: position, logs: [], groupIds: [], userIds, isPrivate: true }
}

function filled(count: number, options = {}): RecentRows {
  const rows = new RecentRows(0, options)
  for (let position = 1; position <= count; position++) rows.add(aRow(position))
  return rows
}

const positions = (rows: readonly RowConcern[] | null) => rows?.map(({ position }) => position)

describe('recent rows', () => {
  it('returns the rows after a position, and none after the last one', () => {
    const rows = filled(5)
    expect(positions(rows.after(2))).toEqual([3, 4, 5])
    expect(positions(rows.after(0))).toEqual([1, 2, 3, 4, 5])
    expect(rows.after(5)).toEqual([])
    expect(rows.at(4)?.createdAt).toBe(4)
    expect(rows.at(6)).toBeUndefined()
  })

  it('holds the newest rows up to its bounds, and returns null for older ones', () => {
    const rows = filled(25, { maxRows: 10 })
    const held = positions(rows.after(24 - 8)) ?? []
    expect(held.at(-1)).toBe(25)
    expect(rows.after(10)).toBeNull()
    const large = new RecentRows(0, { maxBytes: 4_096 })
    for (let position = 1; position <= 5; position++)
      large.add(
        aRow(
          position,
          Array.from({ length: 200 }, (_, index) => index),
        ),
      )
    expect(positions(large.after(4))).toEqual([5])
    expect(large.after(0)).toBeNull()
  })

  it('starts again where a row does not follow the last one', () => {
    const rows = filled(3)
    rows.add(aRow(9))
    expect(rows.after(3)).toBeNull()
    expect(positions(rows.after(8))).toEqual([9])
  })
})

describe('concern of a row', () => {
  const messages = { logs: () => [{ lowId: 1, highId: 2, isGroup: false, change: 1 }] }
  const reader = (userId: number, ...groupIds: readonly number[]): ConcernedReader => ({
    userId,
    isMemberOf: (groupId) => groupIds.includes(Number(groupId)),
  })
  const rowOf = (kind: 'message.stored' | 'message.read' | 'contact.blocked', payload: object) =>
    concernOf({ position: 1, createdAt: 1, kind, payload: JSON.stringify(payload) }, messages)
  const mark = (low_id: number, high_id: number, is_group: boolean, user_ids: number[]) =>
    rowOf('message.read', {
      actor_id: 1,
      user_ids,
      conversation: { low_id, high_id, is_group },
      msg_id: 9,
    })

  it('a stored message concerns the readers of its log', () => {
    const row = rowOf('message.stored', {})
    expect([1, 2, 3].map((userId) => concerns(row, reader(userId)))).toEqual([true, true, false])
  })

  it('a mark concerns both parties of a direct conversation, in a group and in broadcasts the reader', () => {
    const direct = mark(1, 2, false, [1])
    expect([1, 2, 3].map((userId) => concerns(direct, reader(userId)))).toEqual([true, true, false])
    const group = mark(7, 7, true, [1])
    expect([1, 2].map((userId) => concerns(group, reader(userId, 7)))).toEqual([true, false])
    const broadcast = mark(-1, 5, false, [1])
    expect([1, 2].map((userId) => concerns(broadcast, reader(userId)))).toEqual([true, false])
  })

  it('a block concerns the blocking user alone', () => {
    const row = rowOf('contact.blocked', { actor_id: 1, user_ids: [2] })
    expect([1, 2].map((userId) => concerns(row, reader(userId)))).toEqual([true, false])
  })

  it('a group event concerns the members and the users that it names', () => {
    const row = concernOf(
      {
        position: 1,
        createdAt: 1,
        kind: 'group.kicked',
        payload: JSON.stringify({ actor_id: 1, user_ids: [2], group_id: 7 }),
      },
      messages,
    )
    expect(concerns(row, reader(2))).toBe(true)
    expect(concerns(row, reader(3, 7))).toBe(true)
    expect(concerns(row, reader(3))).toBe(false)
  })
})
