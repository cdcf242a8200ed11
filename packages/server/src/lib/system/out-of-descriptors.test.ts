import { expect, it } from 'vitest'
import { isOutOfDescriptors } from './out-of-descriptors.js'

const emfile = Object.assign(new Error('EMFILE: too many open files, open'), { code: 'EMFILE' })

it('finds that the descriptors have run out, also as the cause of another error', () => {
  const errors = [
    emfile,
    Object.assign(new Error('accept'), { code: 'ENFILE' }),
    new Error('cannot find the module', { cause: new Error('', { cause: emfile }) }),
    new Error('/x.node: cannot open shared object file: Too many open files'),
  ]
  expect(errors.map(isOutOfDescriptors)).toEqual(errors.map(() => true))
})

it('leaves other errors alone', () => {
  const endless = new Error('a')
  endless.cause = endless
  const others = [endless, Object.assign(new Error('no'), { code: 'ENOENT' }), 'EMFILE', null]
  expect(others.map(isOutOfDescriptors)).toEqual(others.map(() => false))
})
