/**
 * Good and bad values for the parameters of any operation, made from the definitions, so that no
 * parameter is forgotten.
 */
import { isWholeBody, type Operation, object, type TSchema } from '@hermod/protocol'

export interface Parameter {
  readonly name: string
  readonly home: 'query' | 'body'
  readonly schema: TSchema
  readonly isRequired: boolean
}

export function parametersOf({ query, body }: Operation): Parameter[] {
  if (isWholeBody(body)) return []
  return (['query', 'body'] as const).flatMap((home) => {
    const properties = home === 'query' ? query : body
    const required = object(properties).required ?? []
    return Object.entries(properties).map(([name, schema]) => ({
      name,
      home,
      schema,
      isRequired: required.includes(name),
    }))
  })
}

/** A value that the schema accepts; whether it makes sense is another question. */
export function sample(schema: TSchema): unknown {
  if (schema.examples) return schema.examples[0]
  if (schema.enum) return schema.enum[0]
  if (schema.anyOf) return sample(schema.anyOf[0])
  switch (schema.type) {
    case 'integer':
      return schema.minimum > 0 ? schema.minimum : 1
    case 'number':
      return 1
    case 'boolean':
      return true
    case 'string':
      return 'text'
    case 'array':
      return [sample(schema.items)]
    default:
      return Object.fromEntries(
        (schema.required ?? []).map((name: string) => [name, sample(schema.properties[name])]),
      )
  }
}

export interface BadValue {
  readonly what: string
  readonly value: unknown
}

const int64Max = 2n ** 63n - 1n
const notIntegers: readonly BadValue[] = [
  { what: 'a word', value: 'one' },
  { what: 'a fraction', value: 1.5 },
  { what: 'digits with a fraction', value: '1.0' },
  { what: 'digits with a space', value: ' 1' },
  { what: 'a hexadecimal text', value: '0x1' },
  { what: 'a flag', value: true },
  { what: 'beyond int64', value: int64Max + 1n },
  { what: 'below int64', value: -int64Max - 2n },
  { what: 'digits beyond int64', value: `${int64Max + 1n}` },
  { what: 'a power of ten beyond a double', value: '1'.padEnd(400, '0') },
]
const notStrings: readonly BadValue[] = [
  { what: 'a number', value: 5 },
  { what: 'an integer beyond 2^53', value: 2n ** 60n },
  { what: 'a flag', value: false },
  { what: 'a lone surrogate', value: 'a\ud800b' },
  { what: 'U+0000', value: 'a\0b' },
]
const structures: readonly BadValue[] = [
  { what: 'an empty list', value: [] },
  { what: 'a list', value: [1] },
  { what: 'an object', value: { a: 1 } },
]

/** Values that the schema refuses, each for a reason of its own. */
export function badValues(schema: TSchema): BadValue[] {
  if (schema.anyOf)
    return [
      { what: 'a number', value: 5 },
      { what: 'a flag', value: true },
    ]
  switch (schema.type) {
    case 'integer':
      return [...notIntegers, ...structures, ...outOfRange(schema)]
    case 'boolean':
      return [
        { what: 'a word', value: 'yes' },
        { what: 'capitals', value: 'TRUE' },
        { what: 'two', value: 2 },
        ...structures,
      ]
    case 'string':
      return [...notStrings, ...structures, ...badTexts(schema)]
    case 'number':
      return [{ what: 'a word', value: 'wide' }, { what: 'a flag', value: true }, ...structures]
    case 'array':
      return badLists(schema)
    case 'object':
      return [
        { what: 'a word', value: 'one' },
        { what: 'a number', value: 5 },
        { what: 'a list', value: [{}] },
      ]
    default:
      throw new Error(`no bad values are known for the type ${schema.type}`)
  }
}

function outOfRange({ format, enum: allowed, minimum, maximum }: TSchema): BadValue[] {
  if (allowed) return [{ what: 'outside the enumeration', value: Math.max(...allowed) + 1 }]
  return [
    ...(minimum === undefined ? [] : [{ what: 'below the minimum', value: minimum - 1 }]),
    ...(maximum === undefined ? [] : [{ what: 'above the maximum', value: maximum + 1 }]),
    ...(format === 'int32' ? [{ what: 'beyond int32', value: 2 ** 31 }] : []),
  ]
}

// A text that no body can hold is the business of the body's own limit.
const maxTestedLength = 100_000

function badTexts({ enum: allowed, minLength, maxLength, pattern }: TSchema): BadValue[] {
  return [
    ...(allowed ? [{ what: 'outside the enumeration', value: `${allowed[0]}x` }] : []),
    ...(minLength === 1 ? [{ what: 'empty', value: '' }] : []),
    ...(maxLength <= maxTestedLength
      ? [{ what: 'too long', value: 'x'.repeat(maxLength + 1) }]
      : []),
    ...(maxLength <= maxTestedLength
      ? [{ what: 'too long in code points', value: '😀'.repeat(maxLength + 1) }]
      : []),
    ...(pattern ? [{ what: 'against the pattern', value: '\t' }] : []),
  ]
}

function badLists(schema: TSchema): BadValue[] {
  const { items, minItems = 0, maxItems } = schema
  const notLists = [
    { what: 'a word', value: 'one' },
    { what: 'a number', value: 5 },
    { what: 'a flag', value: true },
    { what: 'an object', value: { 0: 1, length: 1 } },
    { what: 'too many entries', value: Array(maxItems + 1).fill(sample(items)) },
    ...(minItems > 0 ? [{ what: 'no entries', value: [] }] : []),
  ]
  if (schema['x-item-list']) return notLists
  const badEntries = badValues(items).map(({ what, value }) => ({
    what: `an entry that is ${what}`,
    value: [sample(items), value],
  }))
  return [...notLists, ...badEntries, { what: 'an entry that is null', value: [null] }]
}

// Node takes in 16 KiB of request line and headers.
const maxQueryTextLength = 12_000

/**
 * The same bad value as it stands in a query; undefined when a query cannot say it, or says
 * something good with it.
 */
export function asQueryText(schema: TSchema, value: unknown): string | undefined {
  if (typeof value === 'string')
    return value.isWellFormed() && encodeURIComponent(value).length <= maxQueryTextLength
      ? value
      : undefined
  return typeof value === 'object' || schema.type === 'string' ? undefined : String(value)
}
