import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { breakingChanges } from './breaking-changes.js'
import { currentDocument, readableJson, releasedDocument, releasePath } from './release-document.js'

describe('the document of the last release', () => {
  it('has no client that the present document breaks', () => {
    const released = releasedDocument()
    expect(released).not.toBeNull()
    if (released !== null) expect(breakingChanges(released, currentDocument())).toEqual([])
  })

  it('is written as it is read', () => {
    expect(readFileSync(releasePath, 'utf8')).toBe(readableJson(releasedDocument()))
  })
})

describe('readable JSON', () => {
  it('has a line for each value that fits into it', () => {
    const long = 'x'.repeat(110)
    const value = { short: [1, 2], long: { first: long, second: [long, { a: null }] } }
    const text = readableJson(value)
    expect(JSON.parse(text)).toEqual(value)
    expect(text.split('\n')).toContain('  "short": [1,2],')
    expect(text.split('\n')).toContain('      {"a":null}')
  })
})
