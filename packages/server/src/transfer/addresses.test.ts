import { describe, expect, it } from 'vitest'
import { signedList } from '../lib/secrets/signed-list.js'
import { exportedText, importedText } from './addresses.js'

const keys = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)] as const
const fileId = '7d0c5tzmv4fhq2n8r1xk3apwbe'
const values = ['shop', fileId, 2, 7, 5, 1_800_000_000_000, 2_115_360_000_000]
const [before, after] = keys.map((key) => signedList(key, values)) as [string, string]
const path = '/file/download/chat?file_sign='

const exported = (text: string, key: Buffer = keys[0]) => exportedText(() => key, 'shop', text)
const imported = (text: string) =>
  importedText(() => keys[1], 'https://new.example/im', { appId: 'shop', text })

describe('an address of a file', () => {
  it.each([
    ['in JSON', (host: string, link: string) => `{"url":"${host}${path}${link}","size":1}`],
    ['with parameters after it', (host: string, link: string) => `${host}${path}${link}&w=9`],
    [
      'in JSON whose slashes and signs are escaped',
      (host: string, link: string) =>
        `{"url":"${host}\\/file\\/download\\/chat?file_sign\\u003d${link}"}`,
    ],
    [
      'of an avatar',
      (host: string, link: string) =>
        `${host}/file/download/avatar?object_name=${fileId}&file_sign=${link}`,
    ],
    [
      'twice, with other text',
      (host: string, link: string) =>
        `http ${host}${path}${link} hermod:base ${host}${path}${link} hermod:link:x`,
    ],
    ['without a host', (_: string, link: string) => `${path}${link}`],
  ])('%s has the host and the signature of the new installation', (_, text) => {
    const old = text('http://127.0.0.1:8080', before)
    const line = exported(old)
    expect(line).not.toContain('127.0.0.1')
    expect(line).not.toContain(before)
    const moved = text('https://new.example/im', after)
    expect(imported(line)).toBe(moved)
    expect(exported(moved, keys[1])).toBe(line)
  })

  it.each([
    ['of another key', `https://old.example${path}${after}`],
    ['of another application', `${path}${signedList(keys[0], ['other', ...values.slice(1)])}`],
    ['of another form', `${path}${signedList(keys[0], ['shop', fileId])}`],
    ['as a line has it', `hermod:base${path}hermod:link:${before.slice(0, -43)}`],
    ['as an escaped line has it', 'hermod:text:base hermod:text:text:'],
  ])('%s stays as it is', (_, text) => {
    expect(imported(exported(text))).toBe(text)
  })

  it('of a crafted line is refused', () => {
    const other = Buffer.from(JSON.stringify(['other', ...values.slice(1)])).toString('base64url')
    for (const text of ['hermod:', 'hermod:x', 'hermod:link:', `hermod:link:${other}`])
      expect(() => imported(text)).toThrow('is no address of a file of shop')
  })

  it('takes time by the length of a text, whatever is in it', () => {
    const text = `${'http://'.repeat(50_000)} ${path}${before} ${'sign=x'.repeat(50_000)}`
    const begin = performance.now()
    expect(imported(exported(text))).toContain(after)
    expect(performance.now() - begin).toBeLessThan(5_000)
  })
})
