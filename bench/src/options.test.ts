import { expect, test } from 'vitest'
import { parseOptions, UsageError } from './options.js'

test('without options everything is measured, on this build alone', () => {
  const options = parseOptions([])
  expect(options).toMatchObject({ against: null, only: null, seconds: 8, rounds: 2 })
  expect(options?.chosen.flat().map(({ name }) => name)).toContain('group-join')
})

test('scenarios are chosen by the name of their set', () => {
  const chosen = parseOptions(['--scenario', 'group-send,history'])?.chosen
  expect(chosen?.map((set) => set.map(({ name }) => name))).toEqual([
    ['history'],
    ['group-send-small', 'group-send-large'],
  ])
})

test('another build is named by its folder', () => {
  expect(parseOptions(['--against', '../other'])?.against).toBe('../other')
})

test('what the options do not allow is refused', () => {
  for (const args of [
    ['--scenario', 'nothing'],
    ['--only', 'oracle'],
    ['--seconds', '0'],
    ['--seconds', '1.5'],
    ['--against'],
    ['--unknown'],
  ])
    expect(() => parseOptions(args), args.join(' ')).toThrow(UsageError)
})
