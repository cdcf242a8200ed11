import { expect, it } from 'vitest'
import { beginning } from './beginning.js'

it('the beginning of a text has whole characters, and not more than it may', () => {
  expect(
    ['abc', 'abcd', '🙂🙂🙂', '🙂🙂🙂🙂', 'a🙂bc🙂', ''].map((text) => beginning(text, 3)),
  ).toEqual(['abc', 'abc', '🙂🙂🙂', '🙂🙂🙂', 'a🙂b', ''])
})
