import {
  addGroupAdmins,
  exchangeToken,
  findContacts,
  getProfile,
  type Operation,
  sendMessage,
} from '@hermod/protocol'
import { describe, expect, it } from 'vitest'
import { answerCost, bodyCost, type CallCost, compileCost } from './call-cost.js'

function costOf(operation: unknown): CallCost {
  const cost = compileCost(operation as Operation)
  if (cost === null) throw new Error('every call costs the same')
  return cost
}

const ids = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

describe('the cost of a call', () => {
  it('is one token where no list is sent', () => {
    expect(compileCost(getProfile as Operation)).toBeNull()
  })

  it.each([
    [1, 0, 0, 0],
    [1, 4_096, 0, 0],
    [1, 4_097, 0, 1],
    [1, 65_536, 0, 15],
    [500, 10, 499, 0],
    [500, 65_536, 499, 7_500],
  ])(
    'of a send to %i targets with %i bytes is %i more, and %i for the bytes',
    (targets, length, entries, bytes) => {
      const cost = costOf(sendMessage)
      const params = { targets: ids(targets), content: 'x'.repeat(length) }
      expect([cost.entries(params), cost.bytes(params)]).toEqual([entries, bytes])
    },
  )

  it('of parsing a body is a token for 4 KiB', () => {
    expect([0, 4_095, 4_096, 1_048_576].map((bytes) => bodyCost(bytes))).toEqual([0, 0, 1, 256])
    expect(costOf(addGroupAdmins).parsedBytes({ user_list: ids(2) }, 10_000)).toBe(10_000)
  })

  it('of an assertion is a token for 1 KiB', () => {
    const { bodyBytesPerToken } = exchangeToken
    expect([1_023, 1_024, 8_191].map((bytes) => bodyCost(bytes, bodyBytesPerToken))).toEqual([
      0, 1, 7,
    ])
  })

  it('of parsing a message is that of its copies, unless the body holds more than the message', () => {
    const params = { targets: ids(500), content: '\u4e2d'.repeat(20_000), ext: 'x' }
    const { parsedBytes } = costOf(sendMessage)
    expect(bodyCost(parsedBytes(params, JSON.stringify(params).length * 3))).toBe(0)
    expect(bodyCost(parsedBytes({ targets: [1], content: 'x' }, 1_048_576))).toBe(255)
  })

  it('counts the bytes of all texts of a message as they are stored', () => {
    const texts = {
      content: '字'.repeat(1_000),
      ext: 'x'.repeat(1_096),
      config: '',
      attachment: '',
    }
    const { bytes } = costOf(sendMessage)
    expect(bytes({ targets: ids(3), ...texts })).toBe(0)
    expect(bytes({ targets: ids(3), ...texts, attachment: 'x' })).toBe(3)
  })

  it('of a look-up is a token for each hundred entries, and a large one is told apart', () => {
    const cost = costOf(findContacts)
    const of = (count: number) => {
      const params = { list: ids(count) }
      return [cost.entries(params), cost.bytes(params), cost.isLarge(params)]
    }
    expect([0, 99, 100, 1_000, 1_001, 10_000].map(of)).toEqual([
      [0, 0, false],
      [0, 0, false],
      [1, 0, false],
      [10, 0, false],
      [10, 0, true],
      [100, 0, true],
    ])
  })

  it('of a list that is worked off is a token for each entry', () => {
    const cost = costOf(addGroupAdmins)
    const of = (count: number) => cost.entries({ group_id: 1, user_list: ids(count) })
    expect([1, 2, 500].map(of)).toEqual([0, 1, 499])
    expect(cost.isLarge({ user_list: ids(500) })).toBe(false)
  })

  it('of an answer is a token for each 16 KiB', () => {
    expect([0, 16_383, 16_384, 1_048_576].map((size) => answerCost('x'.repeat(size)))).toEqual([
      0, 0, 1, 64,
    ])
    expect(answerCost('\u4e2d'.repeat(16_384))).toBe(3)
    expect(answerCost({ data: [1] })).toBe(0)
  })
})
