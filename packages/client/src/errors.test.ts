import { closeCodes } from '@hermod/protocol/close-codes'
import { expect, it } from 'vitest'
import { closeNames } from './errors.js'

it('names every close code of the protocol in snake case', () => {
  const names = Object.entries(closeCodes).map(([name, code]) => [
    code,
    name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  ])
  expect(closeNames).toEqual(Object.fromEntries(names))
})
