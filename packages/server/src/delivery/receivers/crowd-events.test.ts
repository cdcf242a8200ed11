import { describe, expect, it } from 'vitest'
import { type CollectedCrowd, type CrowdEvent, CrowdEvents } from './crowd-events.js'

function setUp() {
  const sent: CollectedCrowd[] = []
  const timers: (() => void)[] = []
  const released: string[] = []
  const crowds = new CrowdEvents({
    send: (collected) => sent.push(collected),
    after: (_, run) => timers.push(run),
  })
  return {
    ...{ sent, released, timers, crowds },
    add(
      kind: CrowdEvent['kind'],
      group_id: number,
      user_ids: number[],
      actor_id = 7,
      more: object = {},
    ) {
      const payload = { group_id, user_ids, actor_id, version: 3, ...more }
      crowds.add({ kind, appId: 'shop', payload } as CrowdEvent, () => released.push(kind))
    },
  }
}

const group = (group_id: number) => ({ group_id, version: 3, since_version: 2 })
const numbers = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => from + index)

describe('events of a crowd', () => {
  it('events of a crowd become one of each kind and group when their time is over, which releases the watermark once it is written', () => {
    const { sent, released, timers, add } = setUp()
    add('group.joined', 1, [11])
    add('group.joined', 1, [12, 13], 8)
    add('group.left', 1, [11])
    add('group.joined', 2, [14])
    expect([sent, released, timers.length]).toEqual([[], [], 1])
    timers.shift()?.()
    expect(sent.map(({ kind, data }) => [kind, data])).toEqual([
      ['group.joined', { ...group(1), user_ids: [11, 12, 13], actor_id: 0, count: 3 }],
      ['group.left', { ...group(1), user_ids: [11], actor_id: 7, count: 1 }],
      ['group.joined', { ...group(2), user_ids: [14], actor_id: 7, count: 1 }],
    ])
    expect(released).toEqual([])
    for (const { ended } of sent) ended()
    expect(released).toHaveLength(4)
    add('group.left', 1, [12])
    expect(timers).toHaveLength(1)
  })

  it('the events of a second are one step from the version before them, with the newest number of members', () => {
    const { sent, crowds, add } = setUp()
    add('group.joined', 1, [11], 7, { version: 5, member_count: 300, join_time: 1 })
    add('group.left', 1, [12], 7, { version: 6, member_count: 299 })
    add('group.joined', 1, [13], 7, { version: 7, member_count: 300, join_time: 2 })
    crowds.flush(1)
    const step = { since_version: 4, version: 7, member_count: 300 }
    expect(sent.map(({ data }) => data)).toMatchObject([step, step])
    expect(sent[0]?.data).not.toHaveProperty('join_time')
    add('group.joined', 1, [14], 7, { version: 8, member_count: 301, join_time: 3 })
    crowds.flush(1)
    expect(sent[2]?.data).toMatchObject({ since_version: 7, version: 8, join_time: 3 })
  })

  it('an event of a crowd has a count in place of more than 100 names', () => {
    const { sent, crowds, add } = setUp()
    add('group.presence', 1, numbers(1, 60))
    add('group.presence', 1, numbers(41, 61))
    crowds.flush(1)
    crowds.flush(1)
    expect(sent).toMatchObject([{ data: { user_ids: [], count: 101 } }])
    expect(sent[0]?.lastUserIds).toHaveLength(61)
  })

  it('a user who comes and goes within the second ends it, so that the last event has the present state', () => {
    const { sent, timers, add } = setUp()
    add('group.joined', 1, [11])
    add('group.presence', 1, [11])
    add('group.absence', 1, [12])
    expect(sent).toEqual([])
    add('group.left', 1, [11])
    add('group.absence', 1, [11])
    add('group.joined', 1, [11])
    timers.shift()?.()
    expect(sent.map(({ kind, data }) => [kind, (data as { user_ids: unknown }).user_ids])).toEqual([
      ['group.joined', [11]],
      ['group.presence', [11]],
      ['group.absence', [12]],
      ['group.left', [11]],
      ['group.absence', [11]],
      ['group.joined', [11]],
    ])
  })
})
