import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { written } from './calls.js'

/** Reads a literal as the language does. */
const evaluated = (text: string) => new Function(`return (${text})`)() as unknown

describe('a written value', () => {
  it('is the value again, as JSON and as TypeScript', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const plain = JSON.parse(JSON.stringify(value))
        expect(JSON.parse(written(plain, 'json'))).toEqual(plain)
        // A literal with this name sets the prototype.
        if (!JSON.stringify(plain).includes('__proto__'))
          expect(evaluated(written(plain, 'ts'))).toEqual(plain)
      }),
    )
  })

  it('has short parts on one line, and names and texts as TypeScript has them', () => {
    const value = { type: 1, targets: [1001], 'no-name': "it's", text: 'a'.repeat(60) }
    expect(written(value, 'ts')).toBe(
      `{\n  type: 1,\n  targets: [1001],\n  'no-name': 'it\\'s',\n  text: '${'a'.repeat(60)}',\n}`,
    )
    expect(written({ code: 200, data: [], message: null }, 'json')).toBe(
      '{ "code": 200, "data": [], "message": null }',
    )
  })
})
