import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseJson } from '../../../lib/json.js'
import { editedTexts, mergedText } from './message-edit.js'

type Json = ReturnType<typeof JSON.parse>

const isObject = (value: Json) =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Written as the sentence of the document says it. */
function merge(base: Json, addition: Json): Json {
  if (!isObject(base) || !isObject(addition)) return addition
  const own = Object.entries(base).filter(([key]) => !Object.hasOwn(addition, key))
  const added = Object.entries(addition).map(([key, value]) => [
    key,
    Object.hasOwn(base, key) ? merge(base[key], value) : value,
  ])
  return Object.fromEntries([...own, ...added])
}

describe('mergedText', () => {
  it('merges objects key by key and recursively', () => {
    const text = '{"a":1,"b":{"x":1,"y":[1]},"c":{"d":1}}'
    expect(JSON.parse(mergedText(text, ' { "b": {"y": 2, "z": {}}, "c": 3, "e": null }'))).toEqual({
      a: 1,
      b: { x: 1, y: 2, z: {} },
      c: 3,
      e: null,
    })
  })

  it('agrees with a merge of the parsed objects, whatever they hold', () => {
    const key = fc.oneof(
      fc.constantFrom('a', 'b', '', '__proto__', 'constructor', '"', '\\', '}', ','),
      fc.string({ maxLength: 2 }),
    )
    const json = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.string(),
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('value'), { maxLength: 3 }),
        tie('object'),
      ),
      object: fc
        .array(fc.tuple(key, tie('value')), { maxLength: 4 })
        .map((members) => Object.fromEntries(members as [string, unknown][])),
    }))
    const spaces = fc.integer({ min: 0, max: 2 })
    fc.assert(
      fc.property(json.object, json.object, spaces, (a, b, indent) => {
        const merged = mergedText(JSON.stringify(a, null, indent), JSON.stringify(b, null, indent))
        const [parsedA, parsedB] = [parseJson(JSON.stringify(a)), parseJson(JSON.stringify(b))]
        expect(JSON.stringify(sorted(parseJson(merged)))).toBe(
          JSON.stringify(sorted(merge(parsedA, parsedB))),
        )
      }),
    )
  })

  it('leaves numbers as they were written, to the digit, and texts what they are', () => {
    expect(mergedText('{"n":12345678901234567890,"e":1e400,"s":"\\u0041\\/"}', '{"m":1.10}')).toBe(
      '{"n":12345678901234567890,"e":1e400,"s":"A/","m":1.10}',
    )
  })

  it('knows a key however it is escaped, and counts the last of several', () => {
    expect(mergedText('{"a":1}', '{"\\u0061":2}')).toBe('{"a":2}')
    expect(mergedText('{"a":1,"a":{"x":1}}', '{"a":{"y":2}}')).toBe('{"a":{"x":1,"y":2}}')
  })

  it.each([
    ['text', '{"a":1}', '{"a":1}'],
    ['{"a":1}', 'text', 'text'],
    ['{"a":1}', '[1]', '[1]'],
    ['[1]', '{"a":1}', '{"a":1}'],
    ['{"a":1}', '{"a":', '{"a":'],
    ['{"a":1}', '', '{"a":1}'],
    ['text', '', 'text'],
    ['', '{"a":1}', '{"a":1}'],
    ['', '', ''],
    ['{"a":1}', '{}', '{"a":1}'],
  ])('of %s and %s is %s', (text, addition, merged) => {
    expect(mergedText(text, addition)).toBe(merged)
  })
})

describe('objects that are nested', () => {
  const nested = (levels: number, inner: string) =>
    '{"a":'.repeat(levels) + inner + '}'.repeat(levels)

  it('up to 64 levels deep are merged', () => {
    const text = mergedText(nested(63, '{"x":1}'), nested(63, '{"y":2}'))
    expect(text).toBe(nested(63, '{"x":1,"y":2}'))
  })

  it('deeper than that are replaced', () => {
    for (const levels of [64, 5_000]) {
      const addition = nested(levels, '{"y":2}')
      expect(mergedText(nested(levels, '{"x":1}'), addition) === addition).toBe(true)
      expect(mergedText('{"b":1}', addition) === addition).toBe(true)
    }
    const brackets = `{"a":${'['.repeat(400_000)}${']'.repeat(400_000)}}`
    expect(mergedText(brackets, '{"b":1}')).toBe('{"b":1}')
  })
})

describe('editedTexts', () => {
  const message = { content: 'Hello', config: '{"a":1}', ext: 'x' }

  it('appends the content', () => {
    const edit = { content: ', world', config: '{"b":2}', ext: '' }
    expect(editedTexts('append', message, edit)).toEqual({
      content: 'Hello, world',
      config: '{"a":1,"b":2}',
      ext: 'x',
    })
  })

  it('replaces the content unless there is none', () => {
    const edit = { content: 'Bye', config: '', ext: 'y' }
    expect(editedTexts('replace', message, edit)).toEqual({
      content: 'Bye',
      config: '{"a":1}',
      ext: 'y',
    })
    expect(editedTexts('replace', message, { ...edit, content: '' }).content).toBe('Hello')
  })
})

/** The order of keys is not part of what is compared. */
function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isObject(value)) return value
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => [key, sorted(member)])
}
