import { expect, it } from 'vitest'
import { badgeChange } from './badge.js'

it('a number sets the badge, a number after + adds to it, nothing adds one', () => {
  expect(['7', '0', '+3', ''].map(badgeChange)).toEqual([
    { mode: 'set', count: 7 },
    { mode: 'set', count: 0 },
    { mode: 'add', count: 3 },
    { mode: 'add', count: 1 },
  ])
})
