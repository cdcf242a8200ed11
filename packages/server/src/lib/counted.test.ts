import { expect, it } from 'vitest'
import { counted } from './counted.js'

it.each([
  [counted(0, 'file'), '0 files'],
  [counted(1, 'file'), '1 file'],
  [counted(1n, 'file'), '1 file'],
  [counted(2, 'file'), '2 files'],
  [counted(1, 'file is', 'files are'), '1 file is'],
  [counted(3, 'file is', 'files are'), '3 files are'],
])('a count has its noun in the singular for one alone: %s', (text, expected) => {
  expect(text).toBe(expected)
})
