import { describe, expect, it } from 'vitest'
import { type ErrorEntry, errorCatalogue } from './errors.js'

const entries = Object.entries<ErrorEntry>(errorCatalogue)

describe('the error catalogue', () => {
  it('never uses a code twice, nor that of success', () => {
    const codes = entries.map(([, { code }]) => code)
    expect(codes.filter((code, index) => codes.indexOf(code) !== index || code === 200)).toEqual([])
  })

  it('names errors in snake case and explains each', () => {
    for (const [name, { text, meaning }] of entries) {
      expect(name).toMatch(/^[a-z]+(_[a-z]+)*$/)
      expect(text, name).not.toBe('')
      expect(meaning, name).not.toBe('')
    }
  })

  it('gives every failure an HTTP status of its class', () => {
    for (const [name, { http }] of entries) expect(http >= 400 && http < 600, name).toBe(true)
  })
})
