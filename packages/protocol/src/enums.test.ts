import { describe, expect, it } from 'vitest'
import * as enums from './enums.js'

const enumerations = Object.entries<unknown>(enums).filter(
  (entry): entry is [string, enums.Enumeration] =>
    entry[0] !== 'pushChannelProducts' && typeof entry[1] === 'object' && !Array.isArray(entry[1]),
)

describe('an enumeration', () => {
  it('gives the number of a name, and the meaning of a number', () => {
    expect(enums.groupType.chatroom).toBe(2)
    expect(enums.meaningsOf(enums.groupType)[2]).toBe('chatroom')
  })

  it('lists its numbers and nothing else', () => {
    expect(Object.values(enums.memberRole)).toEqual([0, 1, 2])
  })

  it.each(enumerations)('%s names every number once and has a meaning for each', (_, values) => {
    const numbers = Object.values(values)
    expect(new Set(numbers).size).toBe(numbers.length)
    expect(Object.keys(enums.meaningsOf(values)).map(Number)).toEqual(
      numbers.toSorted((a, b) => a - b),
    )
  })
})
