import fc from 'fast-check'
import { expect, it } from 'vitest'
import { broadcastStream, directConversation, groupConversation } from './conversation-model.js'
import { decodeRanges, encodeRanges } from './message-ranges.js'

const id = fc.integer({ min: 1, max: 2 ** 52 })
const conversation = fc.oneof(
  fc.tuple(fc.oneof(id, fc.constant(0)), id).map(([a, b]) => directConversation('app', a, b)),
  id.map((userId) => directConversation('app', userId, userId)),
  id.map((groupId) => groupConversation('app', groupId)),
  fc.oneof(id, fc.constant(0)).map((senderId) => broadcastStream('app', senderId)),
)
const range = fc
  .record({
    conversation,
    firstId: id,
    span: fc.nat(100_000),
    count: fc.integer({ min: 2, max: 256 }),
    firstSeq: fc.integer({ min: 1, max: 2 ** 52 }),
    alterations: fc.oneof(fc.constant(0), fc.nat()),
  })
  .map(({ span, count, alterations, ...rest }) => ({
    ...rest,
    lastId: rest.firstId + span,
    count: span === 0 ? 1 : count,
    firstChange: rest.firstSeq + alterations,
  }))

it('ranges of messages are read as they were written', () => {
  fc.assert(
    fc.property(fc.array(range, { minLength: 1 }), (ranges) => {
      expect(decodeRanges('app', encodeRanges(ranges))).toEqual(ranges)
    }),
  )
})

it('a row of ranges stays short enough to lie within a page of the database', () => {
  const ranges = Array.from({ length: 27 }, (_, index) => ({
    conversation: directConversation('app', 2 ** 53 - 2, 2 ** 53 - 1),
    firstId: 2 ** 53 - 1 - index,
    lastId: 2 ** 53 - 1 - index,
    count: 1,
    firstSeq: 1_000_000,
    firstChange: 1_000_035,
  }))
  expect(encodeRanges(ranges).length).toBeLessThan(950)
})
