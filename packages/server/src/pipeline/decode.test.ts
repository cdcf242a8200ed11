import {
  boolean,
  double,
  freeObject,
  int32,
  int64,
  intEnum,
  itemList,
  list,
  object,
  optional,
  strictObject,
  string,
  stringEnum,
  type TSchema,
  Type,
} from '@hermod/protocol'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseJson } from '../lib/json.js'
import { compileDecoder, isAbsent } from './decode.js'

const int64Min = -(2n ** 63n)
const int64Max = 2n ** 63n - 1n
const anyInt64 = fc.oneof(
  fc.bigInt({ min: int64Min, max: int64Max }),
  fc.bigInt({ min: 2n ** 53n - 3n, max: 2n ** 53n + 3n }),
  fc.constantFrom(0n, -1n, int64Min, int64Max),
)

interface Outcome {
  readonly value: unknown
  readonly violations: readonly string[]
}

function decode(schema: TSchema, value: unknown, mode?: 'coerce' | 'exact'): Outcome {
  const violations: string[] = []
  return { value: compileDecoder(schema, mode)(value, 'x', violations), violations }
}

function accepted(value: unknown): Outcome {
  return { value, violations: [] }
}

function refused(...violations: string[]): Outcome {
  return { value: undefined, violations }
}

/** The one form of an integer in the service: a number when it is safe, else a bigint. */
function oneForm(integer: bigint): number | bigint {
  return Number.isSafeInteger(Number(integer)) ? Number(integer) : integer
}

describe('a 64-bit integer', () => {
  it('is exact over the whole range, from a JSON number and from digits alike (rules B2, B3)', () => {
    fc.assert(
      fc.property(anyInt64, (integer) => {
        expect(decode(int64(), parseJson(`${integer}`))).toEqual(accepted(oneForm(integer)))
        expect(decode(int64(), `${integer}`)).toEqual(accepted(oneForm(integer)))
      }),
    )
  })

  it('keeps different values different', () => {
    fc.assert(
      fc.property(anyInt64, anyInt64, (a, b) => {
        expect(decode(int64(), `${a}`).value === decode(int64(), parseJson(`${b}`)).value).toBe(
          a === b,
        )
      }),
    )
  })

  it('is refused beyond the range', () => {
    const beyond = fc.oneof(
      fc.bigInt({ min: int64Max + 1n, max: 2n ** 200n }),
      fc.bigInt({ min: -(2n ** 200n), max: int64Min - 1n }),
    )
    fc.assert(
      fc.property(beyond, (integer) => {
        expect(decode(int64(), parseJson(`${integer}`))).toEqual(
          refused('x must be a 64-bit integer'),
        )
        expect(decode(int64(), `${integer}`)).toEqual(refused('x must be a 64-bit integer'))
      }),
    )
  })

  it('has one zero', () => {
    for (const zero of [0, -0, '0', '-0', '000', parseJson('-0'), parseJson('0e5')]) {
      expect(Object.is(decode(int64(), zero).value, 0), String(zero)).toBe(true)
    }
  })

  it.each([
    ['1.0', parseJson('1.0'), 1],
    ['1e3', parseJson('1e3'), 1000],
    ['digits with leading zeros', '0042', 42],
  ])('may be written as %s', (_, value, integer) => {
    expect(decode(int64(), value)).toEqual(accepted(integer))
  })

  it.each([
    1.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    2 ** 53,
    true,
    null,
    [],
    [1],
    {},
    ' 1',
    '1 ',
    '+1',
    '1.0',
    '1e3',
    '0x10',
    '1_000',
    '-',
    '١',
  ])('is not %j', (value) => {
    expect(decode(int64(), value)).toEqual(refused('x must be a 64-bit integer'))
  })

  it('names its bounds', () => {
    expect(decode(int64({ minimum: 0 }), -1)).toEqual(
      refused('x must be a 64-bit integer of at least 0'),
    )
    expect(decode(int64({ minimum: 0 }), `${int64Min}`)).toEqual(
      refused('x must be a 64-bit integer of at least 0'),
    )
    expect(decode(int64({ minimum: 1, maximum: 9 }), `${int64Max}`)).toEqual(
      refused('x must be an integer from 1 to 9'),
    )
    expect(decode(int64({ minimum: 1, maximum: 9 }), 9)).toEqual(accepted(9))
  })
})

describe('a 32-bit integer', () => {
  it('is accepted as number and digits over exactly its range', () => {
    const integers = fc.oneof(
      fc.integer(),
      fc.constantFrom(-(2 ** 31) - 1, 2 ** 31, 2 ** 53, -(2 ** 31), 2 ** 31 - 1),
      fc.maxSafeInteger(),
    )
    fc.assert(
      fc.property(integers, (integer) => {
        const isInRange = integer >= -(2 ** 31) && integer < 2 ** 31
        const outcome = isInRange
          ? accepted(integer + 0)
          : refused('x must be an integer from -2147483648 to 2147483647')
        expect(decode(int32(), integer)).toEqual(outcome)
        expect(decode(int32(), String(integer))).toEqual(outcome)
      }),
    )
  })

  it('names its bounds as the contract does', () => {
    const hour = int32({ minimum: 0, maximum: 23 })
    for (const value of [-1, 24, '24', 1.5, 'noon', true, 2n ** 60n]) {
      expect(decode(hour, value)).toEqual(refused('x must be an integer from 0 to 23'))
    }
    expect([decode(hour, 0), decode(hour, '23')]).toEqual([accepted(0), accepted(23)])
  })

  it('of a few values names them', () => {
    const mode = intEnum({ 0: 'off', 1: 'on', 7: 'lucky' })
    expect([decode(mode, 7), decode(mode, '7'), decode(mode, '0')]).toEqual([
      accepted(7),
      accepted(7),
      accepted(0),
    ])
    for (const value of [2, '2', -1, 'on', false, null, 2n ** 63n])
      expect(decode(mode, value)).toEqual(refused('x must be one of 0, 1, 7'))
  })
})

describe('a number', () => {
  it.each([
    [1.5, 1.5],
    ['1.5', 1.5],
    ['-2', -2],
    ['1e3', 1000],
    [0, 0],
  ])('is %j', (value, number) => {
    expect(decode(double(), value)).toEqual(accepted(number))
  })

  it.each([
    '',
    ' ',
    'wide',
    '1,5',
    'NaN',
    'Infinity',
    '1e999',
    true,
    null,
    [],
    {},
    Number.POSITIVE_INFINITY,
  ])('is not %j', (value) => {
    expect(decode(double(), value)).toEqual(refused('x must be a number'))
  })
})

describe('a boolean', () => {
  it.each([true, 1, '1', 'true'])('is true as %j', (value) => {
    expect(decode(boolean(), value)).toEqual(accepted(true))
  })

  it.each([false, 0, '0', 'false'])('is false as %j', (value) => {
    expect(decode(boolean(), value)).toEqual(accepted(false))
  })

  it.each(['', 'yes', 'TRUE', 'on', '01', 2, -1, null, [], [true], {}])('is not %j', (value) => {
    expect(decode(boolean(), value)).toEqual(refused('x must be true or false'))
  })
})

describe('a string', () => {
  it('passes unchanged when it is well-formed and within its length', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (value) => {
        if (!value.includes('\0')) expect(decode(string(), value)).toEqual(accepted(value))
      }),
    )
  })

  it('is no number, flag or structure', () => {
    for (const value of [5, 5n, true, null, [], ['a'], {}])
      expect(decode(string(), value)).toEqual(refused('x must be a string'))
  })

  it('is counted in code points', () => {
    const unit = fc.constantFrom('a', '用', '😀', '\u{20BB7}', 'e\u0301')
    const bounds = { minLength: 3, maxLength: 6 }
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 9 }), (units) => {
        const value = units.join('')
        const length = [...value].length
        const violations = [
          ...(length > 6 ? ['x must have at most 6 characters'] : []),
          ...(length < 3 ? ['x must have at least 3 characters'] : []),
        ]
        expect(decode(string(bounds), value)).toEqual(
          violations.length > 0 ? refused(...violations) : accepted(value),
        )
      }),
    )
  })

  it('is counted in bytes where its maximum is in bytes', () => {
    const few = string({ maxBytes: 6 })
    for (const value of ['abcdef', '用用', 'éée', '😀ab'])
      expect(decode(few, value)).toEqual(accepted(value))
    for (const value of ['用用a', 'éééé', '😀abc'])
      expect(decode(few, value)).toEqual(refused('x must have at most 6 bytes in UTF-8'))
    expect(decode(few, 'abcdefg')).toEqual(refused('x must have at most 6 characters'))
  })

  it('may be empty unless it must not', () => {
    expect(decode(string(), '')).toEqual(accepted(''))
    expect(decode(string({ minLength: 1 }), '')).toEqual(refused('x must not be empty'))
  })

  it.each(['\ud800', 'a\udc00b', '\udc00\ud800', '😀\ud83d'])(
    'is refused with a lone surrogate: %j',
    (value) => {
      expect(decode(string(), value)).toEqual(refused('x must be well-formed Unicode'))
    },
  )

  it.each(['\0', 'a\0b', 'end\0'])('is refused with U+0000: %j', (value) => {
    expect(decode(string(), value)).toEqual(refused('x must not contain U+0000'))
  })

  it('must match its pattern as a whole', () => {
    const code = string({ pattern: '^[a-z]{2}$', form: 'two small letters' })
    expect(decode(code, 'ab')).toEqual(accepted('ab'))
    for (const value of ['abc', 'a', 'AB', 'ab\n'])
      expect(decode(code, value)).toEqual(refused('x must be two small letters'))
  })

  it('of a few words names them', () => {
    const strategy = stringEnum(['combined', 'core'])
    expect(decode(strategy, 'core')).toEqual(accepted('core'))
    for (const value of ['CORE', '', 'core '])
      expect(decode(strategy, value)).toEqual(refused('x must be one of combined, core'))
  })
})

describe('a list', () => {
  it('decodes its entries and names each bad one', () => {
    expect(decode(list(int64()), [1, '2', 9007199254740993n])).toEqual(
      accepted([1, 2, 9007199254740993n]),
    )
    expect(decode(list(int64()), [1, 'two', null, 4.5]).violations).toEqual([
      'x[1] must be a 64-bit integer',
      'x[2] must not be null',
      'x[3] must be a 64-bit integer',
    ])
  })

  it('is bounded', () => {
    const few = list(int64(), { minItems: 2, maxItems: 3 })
    expect(decode(few, [1])).toEqual(refused('x must have at least 2 items'))
    expect(decode(few, [1, 2, 3])).toEqual(accepted([1, 2, 3]))
    expect(decode(few, [1, 2, 3, 4])).toEqual(refused('x must have at most 3 items'))
    expect(decode(list(int64(), { minItems: 1 }), [])).toEqual(refused('x must not be empty'))
    expect(decode(list(int64()), Array(500).fill(1)).violations).toEqual([])
    expect(decode(list(int64()), Array(501).fill(1))).toEqual(
      refused('x must have at most 500 items'),
    )
  })

  it.each(['1,2', '[1]', 1, {}, { 0: 1, length: 1 }, true, null])('is not %j', (value) => {
    expect(decode(list(int64()), value)).toEqual(refused('x must be a list'))
  })
})

describe('a list that is checked item by item', () => {
  const people = itemList(
    object({ name: string({ minLength: 1 }), age: optional(int32({ minimum: 0 })) }),
  )

  it('gives every entry a value or its own violation, in order, and no violation of the list', () => {
    const entries = [
      { name: 'a', age: '3' },
      { name: '' },
      'b',
      null,
      { age: -1 },
      { name: 'c', extra: 1 },
    ]
    expect(decode(people, entries)).toEqual(
      accepted([
        { value: { name: 'a', age: 3 } },
        { violation: 'name must not be empty', raw: entries[1] },
        { violation: 'must be an object', raw: 'b' },
        { violation: 'must be an object', raw: null },
        {
          violation: 'name is required; age must be an integer from 0 to 2147483647',
          raw: entries[4],
        },
        { value: { name: 'c' } },
      ]),
    )
  })

  it('has a result for each of any entries whatever', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue(), { maxLength: 20 }), (entries) => {
        const { value, violations } = decode(people, entries)
        expect(violations).toEqual([])
        expect(value).toHaveLength(entries.length)
      }),
    )
  })

  it('fails as a whole when it is too long or no list', () => {
    expect(decode(people, Array(501).fill({ name: 'a' }))).toEqual(
      refused('x must have at most 500 items'),
    )
    expect(decode(people, { name: 'a' })).toEqual(refused('x must be a list'))
  })
})

describe('an object', () => {
  const settings = object({
    name: string({ minLength: 1 }),
    level: int32({ minimum: 0, maximum: 9 }),
    loud: optional(boolean()),
    inner: optional(object({ id: int64(), note: optional(string()) })),
  })

  it('names all violations together, with their places', () => {
    expect(decode(settings, { level: 10, loud: 'maybe', inner: { note: 5 } }).violations).toEqual([
      'x.name is required',
      'x.level must be an integer from 0 to 9',
      'x.loud must be true or false',
      'x.inner.id is required',
      'x.inner.note must be a string',
    ])
  })

  it('leaves unknown members out and inherited ones alone', () => {
    const sent = JSON.parse(
      '{"name":"a","level":"1","role":"owner","__proto__":{"loud":true},"constructor":1}',
    )
    expect(decode(settings, sent)).toEqual(accepted({ name: 'a', level: 1 }))
    expect(decode(settings, Object.create({ name: 'a', level: 1 })).violations).toEqual([
      'x.name is required',
      'x.level is required',
    ])
  })

  it('takes null for absent, and "" too where no text belongs', () => {
    expect(decode(settings, { name: 'a', level: 1, loud: null, inner: null })).toEqual(
      accepted({ name: 'a', level: 1 }),
    )
    expect(decode(settings, { name: 'a', level: 1, loud: '', inner: '' })).toEqual(
      accepted({ name: 'a', level: 1 }),
    )
    expect(decode(settings, { name: null, level: '' }).violations).toEqual([
      'x.name is required',
      'x.level is required',
    ])
    expect(decode(settings, { name: '', level: 1 }).violations).toEqual([
      'x.name must not be empty',
    ])
  })

  it('takes "" for absent where one of a few words belongs', () => {
    const setting = object({ strategy: optional(stringEnum(['combined', 'core'])) })
    expect(decode(setting, { strategy: '' })).toEqual(accepted({}))
    const required = object({ strategy: stringEnum(['combined', 'core']) })
    expect(decode(required, { strategy: '' }).violations).toEqual(['x.strategy is required'])
  })

  it('that is strict names members that it does not know (rule B5)', () => {
    const strict = strictObject({ level: optional(int32()) })
    expect(decode(strict, { level: '2' })).toEqual(accepted({ level: 2 }))
    expect(decode(strict, { level: 'two', lvel: 2, toString: 1 }).violations).toEqual([
      'x.lvel must be left out: it is unknown',
      'x.toString must be left out: it is unknown',
      'x.level must be an integer from -2147483648 to 2147483647',
    ])
  })

  it('of free members passes unchanged', () => {
    const value = { any: [1, { thing: null }] }
    expect(decode(freeObject(), value)).toEqual(accepted(value))
    for (const other of ['{}', [0], 1])
      expect(decode(freeObject(), other)).toEqual(refused('x must be an object'))
  })

  it.each([[['a']], ['a'], [1], [true]])('is not %j', (value) => {
    expect(decode(settings, value)).toEqual(refused('x must be an object'))
  })

  it('may be an empty list, which PHP writes for an empty object', () => {
    expect(decode(freeObject(), [])).toEqual(accepted({}))
    expect(decode(object({ name: optional(string()) }), [])).toEqual(accepted({}))
  })
})

describe('one of several shapes', () => {
  const audience = Type.Union([stringEnum(['all']), object({ tag: optional(list(string())) })])

  it('takes the first that fits', () => {
    expect(decode(audience, 'all')).toEqual(accepted('all'))
    expect(decode(audience, { tag: ['a'] })).toEqual(accepted({ tag: ['a'] }))
  })

  it('tells the violations of the shape that was meant', () => {
    expect(decode(audience, 'some')).toEqual(refused('x must be one of all'))
    expect(decode(audience, { tag: 'a' })).toEqual({
      value: { tag: undefined },
      violations: ['x.tag must be a list'],
    })
  })

  it('tells the form of all shapes to a value that is none of them', () => {
    const shapes = [stringEnum(['all']), object({ tag: optional(list(string())) })]
    const described = Type.Union(shapes, { 'x-form': 'all or an object with tag' })
    for (const value of ['some', 5, ['a']])
      expect(decode(described, value)).toEqual(refused('x must be all or an object with tag'))
    expect(decode(described, { tag: 'a' }).violations).toEqual(['x.tag must be a list'])
  })
})

describe('exact mode, for what the service answers', () => {
  it('coerces nothing', () => {
    expect(decode(int64(), '5', 'exact')).toEqual(refused('x must be a 64-bit integer'))
    expect(decode(boolean(), 1, 'exact')).toEqual(refused('x must be true or false'))
    expect(decode(double(), '1.5', 'exact')).toEqual(refused('x must be a number'))
    expect(decode(object({ a: optional(int32()) }), { a: null }, 'exact').violations).toEqual([
      'x.a must be an integer from -2147483648 to 2147483647',
    ])
    expect(decode(object({ a: optional(int32()) }), {}, 'exact')).toEqual(accepted({}))
  })

  it('accepts both forms of a 64-bit integer', () => {
    expect(decode(list(int64()), [1, 2n ** 60n], 'exact')).toEqual(accepted([1, 2n ** 60n]))
  })

  it('fails a list whose entries are checked one by one when callers send it', () => {
    expect(decode(itemList(object({ a: int32() })), [{ a: '1' }], 'exact').violations).toEqual([
      'x[0].a must be an integer from -2147483648 to 2147483647',
    ])
  })
})

describe('isAbsent', () => {
  it.each([
    [undefined, true, true],
    [null, true, true],
    ['', true, false],
    ['', false, true],
    [0, false, false],
    [false, false, false],
    ['0', false, false],
  ])('accepts or refuses %j (text: %j)', (value, isText, expected) => {
    expect(isAbsent(value, isText)).toBe(expected)
  })
})
