import { describe, expect, it } from 'vitest'
import { definedOnly } from './defined-only.js'

describe('definedOnly', () => {
  it('leaves out undefined members and nothing else', () => {
    const members = { left: undefined, nothing: null, empty: '', zero: 0, no: false, list: [] }
    expect(Object.entries(definedOnly(members))).toEqual([
      ['nothing', null],
      ['empty', ''],
      ['zero', 0],
      ['no', false],
      ['list', []],
    ])
  })
})
