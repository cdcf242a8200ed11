import { describe, expect, it } from 'vitest'
import { positionsOf, rowOf } from './rows.js'

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

describe('positionsOf', () => {
  it('tells where each column stands', () => {
    expect(positionsOf(columns)).toEqual({ app_id: 0, seq: 1, msg_id: 2 })
  })
})
