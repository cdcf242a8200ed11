import { describe, expect, it } from 'vitest'
import { SealedTextError, SecretBox, sealedKeyId } from './secret-box.js'
import { keyId, purposeKey, SecretKeys } from './secret-keys.js'

const oldKey = Buffer.from('the first secret key of the service')
const newKey = Buffer.from('the second secret key of the service')
const context = { column: 'apps.registration_secret', row: 'shop' }
const box = new SecretBox(new SecretKeys(oldKey))
const sealed = box.seal('between us', context)

describe('a sealed text', () => {
  it('opens in its row, for any content', () => {
    for (const text of ['between us', '', 'ключ 🔑', 'x'.repeat(10_000)])
      expect(box.open(box.seal(text, context), context)).toBe(text)
  })

  it('is opened by every later version', () => {
    const stored = 'hs1:7oa82gtg:azWEFr0iDC6RhjRf:iG5BUUR6DeF2OS_GGys2dy52rZ3JCFg4wZI'
    expect(box.open(stored, context)).toBe('between us')
  })

  it('names its key and shows nothing of its content', () => {
    expect(sealed).toMatch(/^hs1:[\w-]{8}:[\w-]{16}:[\w-]+$/)
    expect(sealedKeyId(sealed)).toBe(keyId(oldKey))
    expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.toContain('between us')
  })

  it('differs each time', () => {
    const made = Array.from({ length: 100 }, () => box.seal('between us', context))
    expect(new Set(made).size).toBe(100)
  })

  it('does not open when any letter of it is another one, or it is cut or longer', () => {
    const changed = Array.from(
      sealed,
      (letter, index) =>
        sealed.slice(0, index) + (letter === 'A' ? 'B' : 'A') + sealed.slice(index + 1),
    )
    const cut = Array.from(sealed, (_, length) => sealed.slice(0, length))
    for (const each of [...changed, ...cut, `${sealed}A`, `${sealed}AAAA`, `${sealed}=`])
      expect(() => box.open(each, context), each).toThrow(SealedTextError)
  })

  it('does not open in another row', () => {
    for (const change of [{ row: 'shop2' }, { row: '' }, { column: 'apps.name' }])
      expect(() => box.open(sealed, { ...context, ...change })).toThrow(/another row/)
  })

  it('does not open with another key, and the failure names the key that is missing', () => {
    const stranger = new SecretBox(new SecretKeys(newKey))
    expect(() => stranger.open(sealed, context)).toThrow(`key ${keyId(oldKey)}, which is not known`)
    const renamed = sealed.replace(keyId(oldKey), keyId(newKey))
    expect(() => stranger.open(renamed, context)).toThrow(SealedTextError)
  })

  it('is distinguished from a text that is not encrypted', () => {
    expect(sealedKeyId('between us')).toBeNull()
    expect(() => box.open('between us', context)).toThrow('not encrypted')
  })
})

describe('a rotation of the key', () => {
  it('opens what either key made, makes new texts with the new one, and ends with the old one', () => {
    const keys = new SecretKeys(oldKey)
    const rotating = new SecretBox(keys)
    keys.replace(newKey, oldKey)
    expect(rotating.open(sealed, context)).toBe('between us')
    expect(rotating.isCurrent(sealed)).toBe(false)
    const resealed = rotating.reseal(sealed, context)
    expect(rotating.isCurrent(resealed)).toBe(true)
    keys.replace(newKey, null)
    expect(rotating.open(resealed, context)).toBe('between us')
    expect(() => rotating.open(sealed, context)).toThrow(SealedTextError)
  })
})

describe('the keys of a purpose', () => {
  it('differ from those of another purpose, of another secret key, and from the secret key', () => {
    const purposes = ['stored secrets', 'group QR texts', 'file credentials'] as const
    const derived = [oldKey, newKey].flatMap((key) => purposes.map((each) => purposeKey(key, each)))
    const all = [...derived, oldKey, newKey].map((key) => key.toString('hex'))
    expect(new Set(all).size).toBe(8)
  })

  it('are accepted from both secret keys while the previous one is there, the current one first', () => {
    const keys = new SecretKeys(oldKey)
    const codes = keys.for('group QR texts')
    expect(codes.accepted).toEqual([purposeKey(oldKey, 'group QR texts')])
    keys.replace(newKey, oldKey)
    expect(codes.current).toEqual(purposeKey(newKey, 'group QR texts'))
    expect(codes.accepted).toEqual([codes.current, purposeKey(oldKey, 'group QR texts')])
  })
})
