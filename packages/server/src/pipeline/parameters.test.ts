import {
  AppError,
  boolean,
  double,
  int32,
  int64,
  isWholeBody,
  itemList,
  list,
  type Operation,
  object,
  operation,
  optional,
  string,
} from '@hermod/protocol'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jsonValue, textValue } from '../http/bodies/body-value.js'
import { compileParameters, type ParameterSource, type QueryParameters } from './parameters.js'

const mixed = operation({
  id: 'test.mixed',
  methods: ['POST'],
  path: '/test/mixed',
  tag: 'Tests',
  summary: 'Takes parameters of every kind.',
  callers: 'anyone',
  scopes: [],
  query: { count: optional(int32({ minimum: 1 })), flag: optional(boolean()) },
  body: {
    id: int64(),
    text: optional(string({ maxLength: 10 })),
    size: optional(double()),
    ids: optional(list(int64())),
    items: optional(itemList(object({ name: string() }))),
  },
  data: boolean(),
}) as Operation

function wholeBody(schema: Parameters<typeof list>[0]): Operation {
  const definition = {
    id: 'test.whole',
    methods: ['PUT'],
    path: '/test/whole',
    tag: 'Tests',
    summary: 'Takes its body whole.',
  } as const
  return operation({
    ...definition,
    callers: 'anyone',
    scopes: [],
    body: { whole: 'value', schema },
    data: boolean(),
  }) as Operation
}

interface Sent {
  readonly query?: QueryParameters
  /** Text or bytes as they are; anything else as JSON. */
  readonly body?: unknown
  /** null: none */
  readonly contentType?: string | null
  readonly contentEncoding?: string
}

/** As HTTP reads it. */
function source(
  { query = {}, body, contentType = 'application/json', contentEncoding }: Sent,
  what: Operation,
): ParameterSource {
  if (body === undefined) return { query, body: () => undefined }
  const bytes = Buffer.isBuffer(body)
    ? body
    : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  const isText = isWholeBody(what.body) && what.body.schema.type === 'string'
  const readValue = isText ? textValue : jsonValue
  const type = contentType ?? undefined
  return { query, body: () => readValue({ bytes, contentType: type, contentEncoding }) }
}

function read(sent: Sent, what = mixed): Record<string, unknown> {
  const params = compileParameters(what)(source(sent, what), () => {})
  if (params instanceof Promise) throw new Error('the body was at hand')
  return params
}

/** The violations, one by one; fails unless the request is refused with code 10002. */
function violationsOf(sent: Sent, what = mixed): string[] {
  try {
    read(sent, what)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    expect(error.entry.code).toBe(10002)
    const [, violations = ''] = /^invalid request parameter: (.*)$/s.exec(error.message) ?? []
    return violations.split('; ')
  }
  throw new Error('the parameters were accepted')
}

describe('parameters in query and body', () => {
  it('come from where the contract puts them', () => {
    expect(
      read({ query: { count: '3', flag: '0' }, body: { id: 7, text: 'a', ids: ['1', 2] } }),
    ).toEqual({
      count: 3,
      flag: false,
      id: 7,
      text: 'a',
      ids: [1, 2],
    })
  })

  it('may come from the other place when they are scalars (rule B3)', () => {
    expect(
      read({ query: { id: '9007199254740993', text: 'a' }, body: { count: 2, flag: 1 } }),
    ).toEqual({
      id: 9007199254740993n,
      text: 'a',
      count: 2,
      flag: true,
    })
  })

  it('never come from the query when they are lists', () => {
    expect(read({ query: { ids: '1' }, body: { id: 1 } })).toEqual({ id: 1 })
  })

  it('may come from both places when they agree, whatever their forms', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (id) => {
        const { id: decoded } = read({
          query: { id: `${id}`, flag: 'true', count: '05' },
          body: `{"id":${id},"flag":1,"count":"5"}`,
        })
        expect(BigInt(decoded as bigint)).toBe(id)
      }),
    )
  })

  it('must not differ between the two places', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 2n }), (id) => {
        expect(violationsOf({ query: { id: `${id}` }, body: `{"id":${id + 1n}}` })).toEqual([
          'id differs between query and body',
        ])
      }),
    )
    expect(
      violationsOf({
        query: { id: '1', flag: 'false', text: '' },
        body: { id: 1, flag: true, text: 'a' },
      }),
    ).toEqual(['flag differs between query and body', 'text differs between query and body'])
  })

  it('are named together when several are wrong (rule A4)', () => {
    const query = { count: '0', flag: 'maybe' }
    const body = { text: 'too long for it', size: 'wide', ids: [1, 'x', null], items: 'none' }
    expect(violationsOf({ query, body })).toEqual([
      'count must be an integer from 1 to 2147483647',
      'flag must be true or false',
      'id is required',
      'text must have at most 10 characters',
      'size must be a number',
      'ids[1] must be a 64-bit integer',
      'ids[2] must not be null',
      'items must be a list',
    ])
  })

  it('must be given once in the query', () => {
    expect(violationsOf({ query: { id: ['1', '1'], count: ['1', '2'] } })).toEqual([
      'count must be given once',
      'id must be given once',
    ])
  })

  it('count as absent when they are null, or "" without being texts', () => {
    expect(
      read({ query: { count: '' }, body: { id: 1, flag: null, text: null, size: '', ids: null } }),
    ).toEqual({ id: 1 })
    expect(read({ query: { id: '1' }, body: { id: null, text: '' } })).toEqual({ id: 1, text: '' })
    expect(violationsOf({ query: { id: '' }, body: { id: null } })).toEqual(['id is required'])
  })

  it('are ignored when the operation knows none of their name (rule B5)', () => {
    expect(
      read({
        query: { other: 'x' },
        body: '{"id":1,"other":{"deep":[]},"__proto__":{"text":"a"},"toString":1}',
      }),
    ).toEqual({ id: 1 })
  })
})

describe('a request body', () => {
  it.each([
    ['application/json'],
    ['application/json; charset=utf-8'],
    ['application/json;charset=UTF-8'],
    ['Application/JSON'],
    ['application/json '],
    ['application/vnd.example+json'],
    [null],
  ])('is JSON under the content type %j', (contentType) => {
    expect(read({ body: { id: 1 }, contentType })).toEqual({ id: 1 })
  })

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
    'application/json5',
    'json',
    '',
  ])('is refused under the content type %j', (contentType) => {
    expect(violationsOf({ body: { id: 1 }, contentType })).toEqual([
      'content-type must be application/json',
    ])
  })

  it('that is empty has no parameters, whatever its type', () => {
    expect(read({ query: { id: '1' }, body: '', contentType: 'text/plain' })).toEqual({ id: 1 })
    expect(read({ query: { id: '1' }, body: '{}' })).toEqual({ id: 1 })
    expect(violationsOf({ body: '' })).toEqual(['id is required'])
  })

  it.each(['[1]', '[{"id":1}]', '"id"', '1', 'null', 'true'])(
    'must be an object, not %s',
    (body) => {
      expect(violationsOf({ body })).toEqual(['the body must be a JSON object'])
    },
  )

  it.each([
    '{',
    '{"id":1',
    '{id:1}',
    "{'id':1}",
    '{"id":1}}',
    '{"id":1,}',
    '{"id":9007199254740993,}',
    '   ',
    '{"id":01}',
    '\u0000',
  ])('must be JSON, not %j', (body) => {
    expect(violationsOf({ body })).toEqual(['the body must be valid JSON'])
  })

  it('must be UTF-8', () => {
    for (const bytes of [
      [0xff],
      [0xc3, 0x28],
      [0xed, 0xa0, 0x80],
      [0xc0, 0xaf],
      [0xf5, 0x80, 0x80, 0x80],
    ]) {
      const body = Buffer.concat([
        Buffer.from('{"id":1,"text":"'),
        Buffer.from(bytes),
        Buffer.from('"}'),
      ])
      expect(violationsOf({ body })).toEqual(['the body must be valid UTF-8'])
    }
  })

  it('may begin with a byte order mark', () => {
    expect(read({ body: '\ufeff{"id":1}' })).toEqual({ id: 1 })
  })

  it('may not hide half a character in an escape', () => {
    expect(violationsOf({ body: '{"id":1,"text":"\\ud83d"}' })).toEqual([
      'text must be well-formed Unicode',
    ])
    expect(violationsOf({ body: '{"id":1,"text":"\\u0000"}' })).toEqual([
      'text must not contain U+0000',
    ])
  })

  it('that is nested too deeply is an error of the request, with and without a long number in it', () => {
    const id = (depth: number, inner: string) =>
      `{"id":${'['.repeat(depth)}${inner}${']'.repeat(depth)}}`
    for (const inner of ['1', '9007199254740993']) {
      expect(violationsOf({ body: id(63, inner) })).toEqual(['id must be a 64-bit integer'])
      for (const depth of [64, 400_000])
        expect(violationsOf({ body: id(depth, inner) })).toEqual([
          'the body must be nested at most 64 levels deep',
        ])
    }
  })

  it('takes an empty list for an empty object, as PHP writes it, at every level', () => {
    expect(read({ query: { id: '1' }, body: '[]' })).toEqual({ id: 1 })
    expect(violationsOf({ body: '[]' })).toEqual(['id is required'])
    expect(read({ body: '{"id":1,"ids":[]}' })).toEqual({ id: 1, ids: [] })
  })

  it('of any bytes whatever is read or refused with code 10002', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.uint8Array({ maxLength: 60 }).map(Buffer.from), fc.json().map(Buffer.from)),
        (body) => {
          const readAny = () => read({ body })
          try {
            readAny()
          } catch (error) {
            expect(error).toBeInstanceOf(AppError)
            expect((error as AppError).entry.code).toBe(10002)
          }
        },
      ),
    )
  })
})

describe('a body that is a string as a whole (rules B4, D8)', () => {
  const text = wholeBody(string({ maxLength: 20 }))

  it.each([
    ['a JSON string literal', '"hi \\u00e9"', 'application/json', 'hi é'],
    ['a JSON string literal without a type', '"hi"', null, 'hi'],
    ['plain text', 'hi', 'text/plain; charset=utf-8', 'hi'],
    ['plain text with quotes', '"hi"', 'text/plain', '"hi"'],
    ['plain text under the JSON type', 'hi there', 'application/json', 'hi there'],
    ['an object that wraps private_info', '{"private_info":"hi"}', 'application/json', 'hi'],
    ['an object that wraps public_info', '{"public_info":"hi"}', 'application/json', 'hi'],
    ['an object that wraps a value', '{ "value": "hi" }', null, 'hi'],
    ['an object of another member', '{"info":"hi"}', 'application/json', '{"info":"hi"}'],
    ['an object that wraps a number', '{"value":5}', 'application/json', '{"value":5}'],
    ['an object of two', '{"value":"a","b":1}', 'application/json', '{"value":"a","b":1}'],
    ['JSON with blanks', ' [ "hi" ]\n', 'application/json', ' [ "hi" ]\n'],
    ['a number', '5.0', 'application/json', '5.0'],
    ['null', 'null', 'application/json', 'null'],
    ['text after a byte order mark', '\ufeffhi', 'text/plain', '\ufeffhi'],
    ['an empty JSON string', '""', 'application/json', ''],
    ['empty plain text', '', 'text/plain', ''],
  ])('may be %s', (_, body, contentType, value) => {
    expect(read({ body, contentType }, text)).toEqual({ value })
  })

  it.each([
    ['nothing', '', 'the body is required'],
    ['too long', `"${'x'.repeat(21)}"`, 'the body must have at most 20 characters'],
    [
      'too long as the member of an object',
      `{"value":"${'x'.repeat(21)}"}`,
      'the body must have at most 20 characters',
    ],
  ])('is refused when it is %s', (_, body, message) => {
    expect(violationsOf({ body }, text)).toEqual([message])
  })

  it('is refused when it is broken UTF-8 or contains U+0000', () => {
    expect(
      violationsOf({ body: Buffer.from([0x68, 0xff]), contentType: 'text/plain' }, text),
    ).toEqual(['the body must be valid UTF-8'])
    expect(violationsOf({ body: 'a\0b', contentType: 'text/plain' }, text)).toEqual([
      'the body must not contain U+0000',
    ])
  })

  it.each(['gzip', 'br', 'x-strange'])(
    'is refused with the content-encoding %s, by its name',
    (contentEncoding) => {
      const body = Buffer.from([0x1f, 0x8b, 0xff])
      const message = `the body must be sent without content-encoding, not as ${contentEncoding}`
      expect(violationsOf({ body, contentEncoding }, text)).toEqual([message])
      expect(violationsOf({ body, contentEncoding })).toEqual([message])
    },
  )

  it('is required', () => {
    expect(violationsOf({}, text)).toEqual(['the body is required'])
  })

  it('comes back as it was sent as a JSON literal', () => {
    const any = wholeBody(string({ maxLength: 10_000 }))
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (value) => {
        if (!value.includes('\0'))
          expect(read({ body: JSON.stringify(value) }, any)).toEqual({ value })
      }),
    )
  })
})

describe('a body that is a list as a whole', () => {
  const items = wholeBody(list(int64()))

  it('is decoded', () => {
    expect(read({ body: '[1,"2",9007199254740993]' }, items)).toEqual({
      value: [1, 2, 9007199254740993n],
    })
  })

  it('is refused when it is something else or absent', () => {
    expect(violationsOf({ body: '{"value":[1]}' }, items)).toEqual(['the body must be a list'])
    expect(violationsOf({ body: '[1' }, items)).toEqual(['the body must be valid JSON'])
    expect(violationsOf({ body: '' }, items)).toEqual(['the body is required'])
    expect(violationsOf({ body: 'null' }, items)).toEqual(['the body is required'])
    expect(violationsOf({ body: '[1,"x"]' }, items)).toEqual([
      'the body[1] must be a 64-bit integer',
    ])
  })

  it('must say that it is JSON, as any other list', () => {
    expect(violationsOf({ body: '[1]', contentType: 'text/plain' }, items)).toEqual([
      'content-type must be application/json',
    ])
  })
})
