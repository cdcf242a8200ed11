import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import {
  findJsonMembers,
  JsonLimitError,
  parseJson,
  parseOwnJson,
  parseVerbatim,
  stringifyJson,
  stringifyVerbatim,
} from './json.js'

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
const int64Boundaries = [
  0n,
  -1n,
  2n ** 53n - 1n,
  2n ** 53n,
  2n ** 53n + 1n,
  -(2n ** 53n),
  -(2n ** 53n) - 1n,
  2n ** 63n - 1n,
  -(2n ** 63n),
  2n ** 63n,
  10n ** 30n,
]

/** The one form of an integer in the service. */
function oneForm(integer: bigint): number | bigint {
  const number = Number(integer)
  return Number.isSafeInteger(number) ? number : integer
}

/** JSON.parse would round it. */
function hasLongInteger(json: string): boolean {
  return /(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/.test(json)
}

describe('parseJson', () => {
  it.each(int64Boundaries)('reads %s exactly, as a number only when it is safe', (integer) => {
    expect(parseJson(`${integer}`)).toBe(oneForm(integer))
    expect(parseJson(`{"list":[${integer}]}`)).toEqual({ list: [oneForm(integer)] })
  })

  it('reads every 64-bit integer exactly', () => {
    fc.assert(
      fc.property(int64, (integer) => {
        expect(parseJson(`{"id": ${integer} }`)).toEqual({ id: oneForm(integer) })
      }),
    )
  })

  it('distinguishes neighbours beyond 2^53', () => {
    expect(parseJson('9007199254740993')).not.toBe(parseJson('9007199254740992'))
  })

  it('reads everything else as it was written, also next to a long number', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value)
        fc.pre(!hasLongInteger(text))
        const nextToLong = `{"value":${text},"id":9007199254740993}`
        for (const each of [text, nextToLong]) expect(stringifyJson(parseJson(each))).toBe(each)
      }),
    )
  })

  it('leaves digits inside strings alone', () => {
    expect(parseJson('"9007199254740993"')).toBe('9007199254740993')
    expect(parseJson('{"9007199254740993":"a"}')).toEqual({ '9007199254740993': 'a' })
  })

  it('never makes an integer of a number with a fraction or beyond a double', () => {
    expect(parseJson('1234567890123456.5')).toBe(1234567890123456.5)
    expect(parseJson('9223372036854775807.0')).toBe(2 ** 63)
    expect(parseJson('1234567890123456e200')).toBe(1.234567890123456e215)
    expect(parseJson('1234567890123456e3000')).toBe(Number.POSITIVE_INFINITY)
  })

  it('lets the last of several members of one name win, whatever the numbers beside them', () => {
    expect(parseJson('{"a":1,"a":2}')).toEqual({ a: 2 })
    expect(parseJson('{"a":1,"a":2,"id":9007199254740993}')).toEqual({
      a: 2,
      id: 9007199254740993n,
    })
  })

  it('keeps __proto__ an ordinary member', () => {
    for (const text of ['{"__proto__":{"a":1}}', '{"__proto__":{"a":9007199254740993}}']) {
      const value = parseJson(text) as object
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
      expect(Object.keys(value)).toEqual(['__proto__'])
    }
  })

  it.each([
    '',
    '{',
    '[1,]',
    '{"a":1,}',
    'NaN',
    '01',
    '+1',
    "'a'",
    '{"a":9007199254740993,}',
    '[9007199254740993',
    '09007199254740993',
  ])('refuses %j', (text) => {
    expect(() => parseJson(text)).toThrow(SyntaxError)
  })
})

describe('the limits of JSON', () => {
  it.each([
    ['lists', '[', ']'],
    ['objects', '{"a":', '}'],
  ])('accept %s nested 64 levels deep and no deeper', (_, open, close) => {
    const nested = (levels: number) => `${open.repeat(levels)}1${close.repeat(levels)}`
    expect(JSON.stringify(parseJson(nested(64)))).toBe(nested(64))
    expect(() => parseJson(nested(65))).toThrow(JsonLimitError)
    expect(() => parseJson(open.repeat(100_000))).toThrow(JsonLimitError)
  })

  it('accept numbers of 64 characters and no longer', () => {
    expect(parseJson('9'.repeat(64))).toBe(10n ** 64n - 1n)
    expect(parseJson(`0.${'1'.repeat(62)}`)).toBeCloseTo(1 / 9)
    for (const number of ['9'.repeat(65), `-0.${'1'.repeat(62)}`, `1e${'0'.repeat(63)}`])
      expect(() => parseJson(`[${number}]`)).toThrow(JsonLimitError)
  })

  it('accept 20,000 members and entries and no more, except in text of the service', () => {
    const list = (entries: number) => `{"a":[0${',0'.repeat(entries - 1)}]}`
    expect(parseJson(list(19_999))).toEqual(JSON.parse(list(19_999)))
    expect(() => parseJson(list(20_000))).toThrow(JsonLimitError)
    expect(parseOwnJson(list(20_000))).toEqual(JSON.parse(list(20_000)))
  })

  it('do not count what is in strings', () => {
    const text = `${'['.repeat(100)}\\"${'{'.repeat(100)}${'9'.repeat(100)}\\\\`
    expect(parseJson(`{"a":"${text}","b":9007199254740993}`)).toEqual({
      a: JSON.parse(`"${text}"`),
      b: 9007199254740993n,
    })
  })

  it.each(['{9007199254740993:1}', '{9007199254740993 :1}', '"a"9007199254740993'])(
    'leave %s invalid',
    (text) => {
      expect(() => parseJson(text)).toThrow(SyntaxError)
    },
  )
})

describe('JSON with the numbers as they are written', () => {
  it('writes every number with its own characters', () => {
    const text = '{"a":1.0,"b":[-0,1E5,0.10,12345678901234567890],"c":"1.0"}'
    expect(stringifyVerbatim(parseVerbatim(text))).toBe(text)
  })

  it.each(['01', '1.', '.5', '+1', '-', '1e', '{"a":01}', '{1:2}'])('refuses %s', (text) => {
    expect(() => parseVerbatim(text)).toThrow(SyntaxError)
  })
})

describe('names with an escape', () => {
  /** Texts that make V8 of Node 24 misread names of later ones. */
  const misleading = ['{"before":[],"\\\\":0}', '{"before":[],"\\\\n":0}']
  const names = ['"', '\n', '\\', '\u0000', '\ud800', '\n\t', '\\n', 'a"b', '__proto__', '7']
  const escaped = (name: string) =>
    `"${Array.from({ length: name.length }, (_, at) => `\\u${name.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')}"`

  it.each(names)('are read as they are, whatever was read before: %j', (name) => {
    for (const text of misleading) JSON.parse(text)
    for (const text of misleading) parseJson(text)
    for (const literal of [JSON.stringify(name), escaped(name)])
      for (const value of [
        '1',
        '9007199254740993',
        `{${literal} :[{${literal}:"${'x'.repeat(9)}"}]}`,
      ])
        for (const parse of [parseJson, parseVerbatim]) {
          const parsed = parse(`{"before":1,${literal} :${value},"after":{}}`) as object
          const own = Object.keys(parsed).sort()
          expect(own).toEqual(['before', name, 'after'].sort())
          expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype)
        }
  })

  it('keep their place, and the last value of a name wins', () => {
    const text = '{"b":1.0,"\\"":[-0,{"\\n":1e2}],"a":2,"\\u0022":3.50}'
    expect(stringifyVerbatim(parseVerbatim(text))).toBe('{"b":1.0,"\\"":3.50,"a":2}')
    expect(JSON.stringify(parseJson(text))).toBe('{"b":1,"\\"":3.5,"a":2}')
  })

  it.each(['{"\\x":1}', '{"\\u00":1}', '["\\n":1]', '{"\\n":}', '{"\\":1}', '{"\n\\n":1}'])(
    'are refused in %s, without a mark in the error',
    (text) => {
      for (const parse of [parseJson, parseVerbatim])
        expect(() => parse(text)).toThrow(
          expect.objectContaining({
            name: 'SyntaxError',
            message: expect.not.stringContaining('name-'),
          }),
        )
    },
  )
})

describe('the work for names with an escape', () => {
  const calls = (work: () => unknown) => {
    const parse = vi.spyOn(JSON, 'parse')
    try {
      work()
      return parse.mock.calls.length
    } finally {
      parse.mockRestore()
    }
  }

  it('is none before a frame is paid, also for names that are no JSON', () => {
    const names = new Set(['id', 'op'])
    for (const member of ['"\\x":1,', '"\\x"', '"\\n":1,', '"\\u0069\\u0064":2,'])
      expect([
        member,
        calls(() => findJsonMembers(`{${member.repeat(1_000)}"a":1}`, names)),
      ]).toEqual([member, 0])
  })

  it('ends where a text has more of them than members', () => {
    const text = `{${'"\\n":'.repeat(1_000)}1}`
    expect(calls(() => expect(() => parseJson(text)).toThrow(SyntaxError))).toBeLessThan(3)
  })
})

describe('stringifyJson', () => {
  it('writes what parseJson reads back', () => {
    const integers = int64.map(oneForm)
    const values = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        integers,
        fc.string({ unit: 'binary' }),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(fc.string(), tie('value'), { maxKeys: 4, noNullPrototype: true }),
      ),
    })).value
    fc.assert(
      fc.property(values, (value) => {
        expect(parseJson(stringifyJson(value))).toEqual(value)
      }),
    )
  })

  it('leaves undefined members out, with and without a bigint beside them', () => {
    expect(stringifyJson({ a: undefined, b: 1 })).toBe('{"b":1}')
    expect(stringifyJson({ a: undefined, b: 2n ** 63n - 1n })).toBe('{"b":9223372036854775807}')
  })

  it('does not hide an error that has nothing to do with bigints', () => {
    const loop: Record<string, unknown> = {}
    loop.self = loop
    expect(() => stringifyJson(loop)).toThrow()
  })
})

describe('findMembers', () => {
  it('finds the values that JSON.parse finds', () => {
    const text = fc.string({ unit: 'binary' })
    const object = fc.record(
      { id: fc.jsonValue(), x: fc.jsonValue(), op: text },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(object, fc.nat(2), (value, indent) => {
        const names = new Set(['id', 'op', 'absent'])
        const found = findJsonMembers(` ${JSON.stringify(value, null, indent)}`, names)
        const parsed = [...(found ?? [])].map(([name, each]) => [name, JSON.parse(each)])
        const { x: _, ...expected } = JSON.parse(JSON.stringify(value))
        expect(Object.fromEntries(parsed)).toEqual(expected)
      }),
    )
  })

  it('finds names with escaped letters, and no others that look alike', () => {
    const names = new Set(['id', 'op'])
    const text =
      '{"\\u0069d":1,"\\u006F\\u0070":"a","\\\\u0069d":2,"\\U0069d":3,"i\\d":4,"id\\n":5}'
    expect([...(findJsonMembers(text, names) ?? [])]).toEqual([
      ['id', '1'],
      ['op', '"a"'],
    ])
  })

  it('takes at most 20,000 members of the object itself', () => {
    const object = (members: number) => `{"id":1${',"a":[1,1]'.repeat(members - 1)}}`
    expect(findJsonMembers(object(20_000), new Set(['id']))?.get('id')).toBe('1')
    expect(() => findJsonMembers(object(20_001), new Set(['id']))).toThrow(JsonLimitError)
  })

  it('finds none in a text that is no object', () => {
    for (const text of ['', '7', '[]', '{', '{"id":1', '{"id":"}', '{}}', '{} x', '{"id":1}]'])
      expect([text, findJsonMembers(text, new Set(['id']))]).toEqual([text, null])
  })
})
