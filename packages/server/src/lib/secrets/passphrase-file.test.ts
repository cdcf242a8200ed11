import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readPassphraseFile } from './passphrase-file.js'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'hermod-passphrase-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

function fileOf(text: string | Buffer, mode = 0o600): string {
  const path = join(folder, 'passphrase')
  writeFileSync(path, text)
  chmodSync(path, mode)
  return path
}

describe('the file of a passphrase', () => {
  it.each(['twelve chars', 'twelve chars\n', 'twelve chars\r\n'])('%j is read', (text) => {
    expect(readPassphraseFile(fileOf(text))).toBe('twelve chars')
  })

  it.each([
    ['', 'is empty'],
    ['\n', 'is empty'],
    ['eleven char', 'has a passphrase of 11 characters, and it needs 12 at least'],
    ['one line and\nanother one', 'must have one line'],
    ['x'.repeat(1025), 'has 1025 bytes, and may have 1024'],
    // An editor shows none of these, so that somebody who types the passphrase again leaves them out.
    ['\ufefftwelve chars', 'begins with a byte order mark'],
    ['twelve chars ', 'has white space at an end of its passphrase'],
    ['\u00a0twelve chars', 'has white space at an end of its passphrase'],
    ['twelve\tchars', 'has a control character'],
  ])('%j is refused', (text, problem) => {
    expect(() => readPassphraseFile(fileOf(text))).toThrow(problem)
  })

  it('of bytes that are no text is refused, since they would become equal characters', () => {
    for (const byte of [0x80, 0xfe])
      expect(() => readPassphraseFile(fileOf(Buffer.alloc(32, byte)))).toThrow(
        'is no text in UTF-8; make a passphrase with openssl rand -base64 24',
      )
  })

  it('is read as the same text from composed and decomposed letters', () => {
    expect(readPassphraseFile(fileOf('cafe\u0301 au lait'))).toBe('caf\u00e9 au lait')
  })

  it.each([0o644, 0o640, 0o606])('of the mode %o is refused', (mode) => {
    expect(() => readPassphraseFile(fileOf('twelve chars', mode))).toThrow(
      `can be read by other users (mode ${mode.toString(8)}); give it the mode 600`,
    )
  })

  it('that is missing or a folder is refused', () => {
    expect(() => readPassphraseFile(join(folder, 'none'))).toThrow('cannot be read: ENOENT')
    expect(() => readPassphraseFile(folder)).toThrow('is no file')
  })
})
