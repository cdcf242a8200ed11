import { describe, expect, it } from 'vitest'
import { bigint, text } from './columns.js'
import { positionsOf, rowMaker, rowOf } from './rows.js'

const columns = { app_id: 'text', seq: 'bigint', msg_id: 'bigint' } as const

describe('rowOf', () => {
  it('gives the values in the order of the columns', () => {
    const row = rowOf(columns, (seq: number) => ({ app_id: 'a', seq, msg_id: seq * 10 }))
    expect([row(1), row(2)]).toEqual([
      ['a', 1, 10],
      ['a', 2, 20],
    ])
  })

  it('gives the same rows when the values come in another order', () => {
    const row = rowOf(columns, (seq: number) => ({ msg_id: seq * 10, seq, app_id: 'a' }))
    expect([row(1), row(2)]).toEqual([
      ['a', 1, 10],
      ['a', 2, 20],
    ])
  })

  it('leaves out values that are no column', () => {
    const row = rowOf(columns, (seq: number) => ({ app_id: 'a', seq, msg_id: 10, rest: 'more' }))
    expect(row(1)).toEqual(['a', 1, 10])
  })
})

describe('rowOf without a function', () => {
  it('makes rows of values with the names in code', () => {
    const row = rowOf({ app_id: text, seq: bigint, msg_id: bigint })
    const value = { seq: 1, msgId: 10, appId: 'a' }
    expect([row(value), row({ ...value, seq: 2 })]).toEqual([
      ['a', 1, 10],
      ['a', 2, 10],
    ])
  })
})

describe('positionsOf', () => {
  it('tells where each column stands', () => {
    expect(positionsOf(columns)).toEqual({ app_id: 0, seq: 1, msg_id: 2 })
  })
})

describe('rowMaker', () => {
  it('makes rows of their values', () => {
    const values = [1, 'two', null, 4n, new Uint8Array([5])]
    expect(rowMaker(['n', 'some text', 'a"b', 'd\n', 'é'])(values)).toEqual({
      n: 1,
      'some text': 'two',
      'a"b': null,
      'd\n': 4n,
      é: new Uint8Array([5]),
    })
    expect(rowMaker(['n', 'a', 'b'], 1)([1, 2, 3])).toEqual({ a: 2, b: 3 })
    expect(rowMaker([])([])).toEqual({})
    expect(rowMaker(['a', 'b', 'a'])([1, 2, 3]), 'the last one of a name').toEqual({ a: 3, b: 2 })
  })

  it('is made once for each list of names', () => {
    expect(rowMaker(['a', 'b'])).toBe(rowMaker(['a', 'b']))
    expect(rowMaker(['a', 'b'], 1)).not.toBe(rowMaker(['a', 'b']))
    for (let n = 0; n < 1_500; n++) expect(rowMaker([`c${n}`])([n])).toEqual({ [`c${n}`]: n })
  })
})
