import { describe, expect, it } from 'vitest'
import { editDistance, nearest } from './nearest.js'

describe('editDistance', () => {
  it.each([
    ['', '', 0],
    ['', 'abc', 3],
    ['abc', '', 3],
    ['kitten', 'sitting', 3],
    ['PROT', 'PORT', 1],
    ['same', 'same', 0],
  ])('counts the edits from %j to %j', (from, to, edits) => {
    expect(editDistance(from, to)).toBe(edits)
  })
})

describe('nearest', () => {
  it('finds the name with the smallest distance', () => {
    expect(nearest('HERMOD_PROT', ['HERMOD_HOST', 'HERMOD_PORT', 'HERMOD_CONFIG'])).toBe(
      'HERMOD_PORT',
    )
  })

  it('takes the first of equally near names', () => {
    expect(nearest('ab', ['ax', 'bb'])).toBe('ax')
  })
})
