import { describe, expect, it } from 'vitest'
import { parseListedFile } from './listed-file.js'
import { TransferError } from './transfer-error.js'

const file = { key: 'app/ab/cd', size: 3, content_type: '', sha256: 'a'.repeat(64) }
const parse = (changed: object) => parseListedFile(JSON.stringify({ ...file, ...changed }), 7)

describe('a line of the list of files', () => {
  it('is read as it was written', () => {
    expect(parse({})).toEqual(file)
    expect(parse({ sha256: '' })).toEqual({ ...file, sha256: '' })
  })

  it.each([
    '..',
    '../secret.key',
    'app/../../secret.key',
    'app/..',
    '/etc/passwd',
    'app//ab',
    './app',
    'app/',
    '',
    'app\\..\\ab',
    'app/%2e%2e/ab',
    'app/\0',
    '.incoming/ab',
    'a'.repeat(201),
  ])('with the key %j is refused, since keys lead nowhere else', (key) => {
    expect(() => parse({ key })).toThrow(TransferError)
    expect(() => parse({ key })).toThrow('line 7 of files.ndjson of the export has a bad field key')
  })

  it.each([
    ['key', 1],
    ['size', -1],
    ['content_type', null],
    ['sha256', 'ab'],
  ])('with a bad %s is refused by the name of the field', (field, value) => {
    expect(() => parse({ [field]: value })).toThrow(`bad field ${field}`)
  })
})
