import {
  array,
  boolean,
  freeObject,
  int64,
  object,
  operation,
  optional,
  text,
} from '@hermod/protocol'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EventLoopBudget } from '../lib/concurrency/event-loop-budget.js'
import { stringifyJson } from '../lib/json.js'
import { answerEncoder, compileEncoder } from './encode.js'

const entry = object({
  id: int64(),
  name: text('name'),
  flag: boolean(),
  note: optional(text('note')),
  free: freeObject(),
})
const list = operation({
  id: 'test.list',
  methods: ['GET'],
  path: '/test/list',
  tag: 'Test',
  summary: 'Lists.',
  callers: 'anyone',
  scopes: [],
  data: array(entry),
  extras: { cursor: optional(text('cursor')), total: int64() },
})
const encode = compileEncoder(list)

/** Members in any order: what a client reads. */
const read = (json: string): unknown => JSON.parse(json)

describe('the envelope of a success', () => {
  it('says what JSON.stringify would say of any answer', () => {
    const strings = fc.string({ unit: 'binary', maxLength: 80 })
    const entries = fc.record(
      {
        id: fc.maxSafeInteger(),
        name: strings,
        flag: fc.boolean(),
        note: strings,
        free: fc.dictionary(strings, fc.jsonValue(), { noNullPrototype: true }),
      },
      { requiredKeys: ['id', 'name', 'flag', 'free'], noNullPrototype: true },
    )
    fc.assert(
      fc.property(fc.array(entries), strings, fc.maxSafeInteger(), (data, cursor, total) => {
        const expected = stringifyJson({ code: 200, data, message: null, cursor, total })
        expect(read(encode({ data, extras: { cursor, total } }))).toEqual(read(expected))
      }),
    )
  })

  it('leaves out members that are absent', () => {
    const answer = encode({
      data: [{ id: 1, name: '', flag: false, free: {} }],
      extras: { total: 1 },
    })
    expect(read(answer)).toEqual({
      code: 200,
      data: [{ id: 1, name: '', flag: false, free: {} }],
      message: null,
      total: 1,
    })
  })

  it('writes integers beyond 2^53 exactly', () => {
    const answer = encode({
      data: [{ id: 2n ** 63n - 1n, name: '', flag: true, free: {} }],
      extras: { total: 0 },
    })
    expect(answer).toContain('"id":9223372036854775807')
  })

  it('keeps lone surrogates from making the text invalid', () => {
    const answer = encode({
      data: [{ id: 1, name: 'a\ud800b', flag: true, free: {} }],
      extras: { total: 0 },
    })
    expect(answer.isWellFormed()).toBe(true)
  })
})

describe('a long list', () => {
  const entries = (count: number) =>
    Array.from({ length: count }, (_, id) => ({
      id,
      name: `]["data":[]${id}`,
      flag: true,
      free: {},
    }))
  const extras = { cursor: '"data":[]', total: 7 }
  const encodeAnswer = answerEncoder(list, new EventLoopBudget({ perTurn: 1 }))

  it.each([0, 1, 250, 251, 500, 777])('of %i entries is written as any other', async (count) => {
    const payload = { data: entries(count), extras }
    expect(await encodeAnswer(payload)).toBe(encode(payload))
  })

  it('is written in chunks, and a short one at once', () => {
    expect(typeof encodeAnswer({ data: entries(250), extras })).toBe('string')
    expect(encodeAnswer({ data: entries(251), extras })).toBeInstanceOf(Promise)
  })
})
