import { describe, expect, it } from 'vitest'
import { derive, isMacOf, macOf, newKey, unwrap, wrap } from './backup-keys.js'

describe('a wrapped key', () => {
  const [wrapping, key] = [newKey(), newKey()]
  const wrapped = wrap(wrapping, key, 'data key')

  it('opens under its key for its purpose alone', () => {
    expect(unwrap(wrapping, wrapped, 'data key')).toEqual(key)
    expect(unwrap(wrapping, wrapped, 'files key 0123')).toBeNull()
    expect(unwrap(newKey(), wrapped, 'data key')).toBeNull()
  })

  it('does not open when any digit of it is another one', () => {
    for (let at = 0; at < wrapped.length; at++) {
      const digit = wrapped[at] === '0' ? '1' : '0'
      const changed = wrapped.slice(0, at) + digit + wrapped.slice(at + 1)
      expect(unwrap(wrapping, changed, 'data key'), changed).toBeNull()
    }
  })
})

describe('the key of a passphrase', () => {
  it('is that of scrypt, in every later version', async () => {
    const kdf = { name: 'scrypt', n: 2 ** 17, r: 8, p: 1, salt: '00'.repeat(16) } as const
    const key = await derive('correct horse battery', kdf)
    expect(key.toString('hex')).toBe(
      '7a9f8a50aa62bcf279f15c9e2ad2b6e5f92c03bb4ba16136a77d08be98ba64ea',
    )
  })
})

describe('the code of a manifest', () => {
  it('is that of its text and key', () => {
    const key = newKey()
    expect(isMacOf(macOf('text', key), 'text', key)).toBe(true)
    expect(isMacOf(macOf('text', key), 'texts', key)).toBe(false)
    expect(isMacOf(macOf('text', key), 'text', newKey())).toBe(false)
  })
})
