import { describe, expect, it } from 'vitest'
import { purposeKey } from '../../../lib/secrets/secret-keys.js'
import { groupQrText, readGroupQrText } from './group-qr.js'

const secretKey = Buffer.from('a secret key of the service, long enough')
const keyOf = (master: Buffer) => purposeKey(master, 'group QR texts')
const key = keyOf(secretKey)
const qr = { appId: 'test', groupId: 2 ** 52, signerId: 7, expiresAt: 1_700_000_000_000 }
const text = groupQrText(key, qr)

/** Another letter in this place. */
function changed(index: number): string {
  return text.slice(0, index) + (text[index] === 'A' ? 'B' : 'A') + text.slice(index + 1)
}

describe('the text of a QR code', () => {
  it('says what it was made of', () => {
    expect(readGroupQrText([key], text)).toEqual(qr)
    expect(readGroupQrText([keyOf(Buffer.from(secretKey))], text)).toEqual(qr)
  })

  it('fits into an address as it is', () => {
    expect(text).toBe(encodeURIComponent(text))
    expect(text.length).toBeLessThan(200)
  })

  it('is nothing when any letter of it is another one', () => {
    const forged = Array.from(text, (_, index) => changed(index))
    expect(new Set(forged).size).toBe(text.length)
    expect(forged.filter((each) => readGroupQrText([key], each) !== null)).toEqual([])
  })

  it('is nothing when it is cut or has more to it', () => {
    const payload = text.slice(0, -43)
    const mac = text.slice(-43)
    const cut = Array.from(text, (_, length) => text.slice(0, length))
    const others = [
      ...cut,
      `${text}A`,
      `${text}.`,
      ` ${text}`,
      `${text}\n`,
      `A${text}`,
      `${payload}.${mac}`,
      mac,
      `A${mac}`,
      payload,
      `${text}=`,
    ]
    expect(others.filter((each) => readGroupQrText([key], each) !== null)).toEqual([])
  })

  it('is nothing under another key, also that of the service itself', () => {
    expect(readGroupQrText([keyOf(Buffer.from(`${secretKey}!`))], text)).toBeNull()
    expect(readGroupQrText([key], groupQrText(secretKey, qr))).toBeNull()
  })
  it('is accepted under any of several keys', () => {
    const next = keyOf(Buffer.from('the next secret key of the service'))
    expect(readGroupQrText([next, key], text)).toEqual(qr)
    expect(readGroupQrText([key, next], text)).toEqual(qr)
    expect(readGroupQrText([next], text)).toBeNull()
    expect(readGroupQrText([], text)).toBeNull()
  })
})
