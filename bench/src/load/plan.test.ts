import { expect, test } from 'vitest'
import { type LoadPlan, type RequestSource, requestSource, type SendPlan } from './plan.js'

const users = [5, 16, 27].map((id) => ({ id, token: `hmu_${id}` }))
const plan: SendPlan = {
  kind: 'send',
  appId: 'app',
  users,
  offsets: [[1], [1, 2]],
  firstTransaction: 1000,
}

function take(source: RequestSource, count: number): string[] {
  return Array.from({ length: count }, () => source() ?? 'none')
}

function bodyOf(request: string) {
  const [head = '', body = ''] = request.split('\r\n\r\n')
  expect(head).toContain(`content-length: ${Buffer.byteLength(body)}`)
  return JSON.parse(body)
}

test('users send in turn to the users at the offsets of the round', () => {
  const requests = take(requestSource(plan), 7)
  expect(requests.map((request) => /access-token: (\w+)/.exec(request)?.[1])).toEqual([
    'hmu_5',
    'hmu_16',
    'hmu_27',
    'hmu_5',
    'hmu_16',
    'hmu_27',
    'hmu_5',
  ])
  expect(requests.map((request) => bodyOf(request).targets)).toEqual([
    [16],
    [27],
    [5],
    [16, 27],
    [27, 5],
    [5, 16],
    [16],
  ])
})

test('users send in turn to a group', () => {
  const requests = take(requestSource({ ...plan, kind: 'groupSend', groupId: 77, requests: 4 }), 5)
  expect(requests.slice(0, 4).map((request) => /access-token: (\w+)/.exec(request)?.[1])).toEqual([
    'hmu_5',
    'hmu_16',
    'hmu_27',
    'hmu_5',
  ])
  expect(requests.slice(0, 4).map(bodyOf)).toEqual(
    [1000, 1001, 1002, 1003].map((transaction_id) =>
      expect.objectContaining({ type: 2, targets: [77], transaction_id }),
    ),
  )
  expect(requests[4]).toBe('none')
})

test('every request has a transaction_id of its own', () => {
  const ids = take(requestSource(plan), 50).map((request) => bodyOf(request).transaction_id)
  expect(ids).toEqual(Array.from({ length: 50 }, (_, index) => 1000 + index))
})

test('a plan with a number of requests ends', () => {
  expect(take(requestSource({ ...plan, requests: 2 }), 3)[2]).toBe('none')
})

test('a cycle starts again', () => {
  expect(take(requestSource({ kind: 'cycle', requests: ['a', 'b'] }), 5)).toEqual([
    'a',
    'b',
    'a',
    'b',
    'a',
  ])
})

const startPlan: LoadPlan = {
  kind: 'start',
  appId: 'app',
  users,
  recipientIds: [101, 102, 103, 104, 105],
  firstTransaction: 1000,
}

test('every message of a start plan is for a pair of its own, until all pairs are used up', () => {
  const pairs = new Set<string>()
  const runs = [4, 1, 7, 3].map((count) => {
    const next = requestSource(startPlan, pairs.size)
    for (const request of take(next, count))
      pairs.add(`${/access-token: (\w+)/.exec(request)?.[1]} ${bodyOf(request).targets}`)
    return pairs.size
  })
  expect(runs).toEqual([4, 5, 12, 15])
  expect(requestSource(startPlan, 15)()).toBeNull()
})

test('the senders of a round of a start plan have different recipients', () => {
  const targets = take(requestSource(startPlan), 6).map((request) => bodyOf(request).targets)
  expect(targets).toEqual([[101], [102], [103], [102], [103], [104]])
})

test('plans go on after the requests that were taken', () => {
  const plans: LoadPlan[] = [
    plan,
    startPlan,
    { ...plan, kind: 'groupSend', groupId: 77 },
    { kind: 'cycle', requests: ['a', 'b', 'c'] },
  ]
  for (const one of plans) {
    const whole = take(requestSource(one), 10)
    expect(take(requestSource(one, 7), 3), one.kind).toEqual(whole.slice(7))
  }
})

test('random sends go to contacts, each target once, and are the same in the next run', () => {
  const many = Array.from({ length: 100 }, (_, index) => ({
    id: index,
    token: 'hma_1',
    isOnBehalf: true,
  }))
  const random = {
    ...plan,
    kind: 'randomSend',
    users: many,
    offsets: [3, 40, 77, 98],
    targetsPerRequest: 3,
  } as const
  const requests = take(requestSource(random), 300)
  expect(take(requestSource(random), 300)).toEqual(requests)
  const senders = requests.map((request) => Number(/user_id: (\d+)/.exec(request)?.[1]))
  expect(new Set(senders).size).toBeGreaterThan(80)
  for (const [index, request] of requests.entries()) {
    const { targets } = bodyOf(request)
    const sender = senders[index] ?? Number.NaN
    const contacts = [3, 40, 77, 98].map((offset) => (sender + offset) % 100)
    expect(new Set(targets).size).toBe(3)
    expect(contacts).toEqual(expect.arrayContaining(targets))
  }
})
