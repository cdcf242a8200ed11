import { expect, it } from 'vitest'
import type { DeliveredEvent } from '../outbox/consumer.js'
import { OutboxFollower } from './outbox-follower.js'

const keysOf = (position: number) => ({
  position,
  createdAt: 0,
  logs: [],
  groupIds: [],
  userIds: [],
  isPrivate: false,
})
const event = { kind: 'message.stored', payload: {} } as unknown as DeliveredEvent

it('reads no rows that are handed over, and those before them', async () => {
  const begun: number[] = []
  const read: number[] = []
  const turns: (() => void)[] = []
  const follower = new OutboxFollower({
    outbox: {
      head: async () => 0,
      listAfter: async (after: number) => {
        read.push(after)
        const rows = [1, 2, 3].filter((position) => position > after)
        return rows.map((position) => ({
          ...{ position, kind: 'message.stored', payload: '', createdAt: 0 },
        }))
      },
      eventsOf: async () => [event],
      keysOfRow: ({ position }) => keysOf(position),
    },
    timers: { nextTurn: (run) => void turns.push(run), after: (_, run) => void turns.push(run) },
    now: () => 0,
    begin: ({ position }) => begun.push(position),
    missed: () => {},
    failed: (error) => {
      throw error
    },
    room: () => null,
  })
  const settle = async () => {
    for (let round = 0; round < 20; round++) {
      for (const run of turns.splice(0)) run()
      await Promise.resolve()
    }
  }
  await follower.start()
  read.length = 0
  follower.handOver(1, [event])
  follower.wake(1)
  await settle()
  expect([begun, read]).toEqual([[1], []])
  follower.handOver(3, [event])
  follower.wake(3)
  await settle()
  expect(begun).toEqual([1, 2, 3])
  expect(read[0]).toBe(1)
  const reads = read.length
  follower.wake(3)
  await settle()
  expect(read.length).toBe(reads)
})
