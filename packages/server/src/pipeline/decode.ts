/**
 * Compiles schemas of the contract to functions that coerce (rule B3), check, and name every
 * violation (rule A4). Generic validators neither coerce exactly over the int64 range nor check
 * lists item by item.
 */
import type { Int64, Item, TSchema } from '@hermod/protocol'
import { isJsonObject } from '../lib/json.js'

/** @returns the decoded value; what has pushed to `violations` is undefined in it */
type Decode = (value: unknown, path: string, violations: string[]) => unknown

/** The parts of a schema that the decoder reads. */
export interface DecoderSchema {
  readonly type?: string
  readonly format?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly 'x-max-bytes'?: number
  readonly pattern?: string
  readonly 'x-form'?: string
  readonly items?: DecoderSchema
  readonly minItems?: number
  readonly maxItems?: number
  readonly 'x-item-list'?: boolean
  readonly 'x-blank-is-absent'?: boolean
  readonly properties?: Readonly<Record<string, DecoderSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean
  readonly anyOf?: readonly DecoderSchema[]
}

/** `coerce` for values from callers; `exact` for answers of the service, where "5" is no integer. */
type Mode = 'coerce' | 'exact'

const int64Min = -(2n ** 63n)
const int64Max = 2n ** 63n - 1n
const digits = /^-?\d{1,19}$/
const decimal = /^-?\d{1,19}(?:\.\d{1,19})?(?:e[+-]?\d{1,3})?$/i
const trueForms = new Set<unknown>([true, 1, '1', 'true'])
const falseForms = new Set<unknown>([false, 0, '0', 'false'])

/** Compiles the decoder of a schema; decoding reports violations with the path of the field. */
export function compileDecoder(schema: TSchema, mode: Mode = 'coerce'): Decode {
  return compile(schema as DecoderSchema, mode)
}

function compile(schema: DecoderSchema, mode: Mode): Decode {
  if (schema.anyOf) return compileUnion(schema.anyOf, schema['x-form'], mode)
  switch (schema.type) {
    case 'integer':
      return compileInteger(schema, mode)
    case 'number':
      return compileNumber(mode)
    case 'boolean':
      return compileBoolean(mode)
    case 'string':
      return compileString(schema)
    case 'array':
      return schema['x-item-list'] && mode === 'coerce'
        ? compileItemList(schema)
        : compileArray(schema, mode)
    case 'object':
      return compileObject(schema, mode)
    case 'null':
      return (value, path, violations) =>
        value === null ? null : addViolation(violations, path, 'must be null')
    case undefined:
      return (value) => value
    default:
      throw new Error(`the decoder knows no type ${schema.type}`)
  }
}

function addViolation(violations: string[], path: string, text: string): undefined {
  violations.push(`${path} ${text}`)
}

function compileInteger(schema: DecoderSchema, mode: Mode): Decode {
  const is64 = schema.format === 'int64'
  const min = schema.minimum
  const max = schema.maximum
  const allowed = schema.enum && new Set(schema.enum)
  const expectation = integerExpectation(schema)
  return (value, path, violations) => {
    const integer = toInteger(value, mode)
    if (integer === null) return addViolation(violations, path, expectation)
    const inRange = is64 ? integer >= int64Min && integer <= int64Max : typeof integer === 'number'
    if (!inRange || (min !== undefined && integer < min) || (max !== undefined && integer > max))
      return addViolation(violations, path, expectation)
    if (allowed && !allowed.has(integer)) return addViolation(violations, path, expectation)
    return integer
  }
}

/**
 * Returns an integer in its one form: a number when safe, else a bigint; null when the value is no
 * integer.
 */
function toInteger(value: unknown, mode: Mode): Int64 | null {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value + 0 : null
  if (typeof value === 'bigint') return value
  if (mode === 'exact' || typeof value !== 'string' || !digits.test(value)) return null
  const number = Number(value)
  return Number.isSafeInteger(number) ? number + 0 : BigInt(value)
}

function integerExpectation(schema: DecoderSchema): string {
  if (schema.enum) return `must be one of ${schema.enum.join(', ')}`
  const isWide = schema.format === 'int64'
  const min = schema.minimum ?? (isWide ? undefined : -(2 ** 31))
  const max = schema.maximum ?? (isWide ? undefined : 2 ** 31 - 1)
  if (min === undefined && max === undefined) return 'must be a 64-bit integer'
  if (max === undefined) return `must be a 64-bit integer of at least ${min}`
  return `must be an integer from ${min} to ${max}`
}

function compileNumber(mode: Mode): Decode {
  return (value, path, violations) => {
    const number =
      mode === 'coerce' && typeof value === 'string' && decimal.test(value) ? Number(value) : value
    return typeof number === 'number' && Number.isFinite(number)
      ? number
      : addViolation(violations, path, 'must be a number')
  }
}

function compileBoolean(mode: Mode): Decode {
  return (value, path, violations) => {
    if (typeof value === 'boolean') return value
    if (mode === 'coerce') {
      if (trueForms.has(value)) return true
      if (falseForms.has(value)) return false
    }
    return addViolation(violations, path, 'must be true or false')
  }
}

function compileString(schema: DecoderSchema): Decode {
  const min = schema.minLength ?? 0
  const max = schema.maxLength ?? Number.POSITIVE_INFINITY
  const maxBytes = schema['x-max-bytes']
  const pattern = schema.pattern === undefined ? null : new RegExp(schema.pattern, 'u')
  const allowed = schema.enum && new Set(schema.enum)
  return (value, path, violations) => {
    if (typeof value !== 'string') return addViolation(violations, path, 'must be a string')
    if (allowed)
      return allowed.has(value)
        ? value
        : addViolation(violations, path, `must be one of ${[...allowed].join(', ')}`)
    // A string has at most as many code points as UTF-16 units, so they are counted only near a limit.
    if (value.length > max && codePoints(value) > max)
      return addViolation(violations, path, `must have at most ${max} characters`)
    if (min > 0 && (value.length < min || codePoints(value) < min))
      return addViolation(
        violations,
        path,
        min === 1 ? 'must not be empty' : `must have at least ${min} characters`,
      )
    if (maxBytes !== undefined && Buffer.byteLength(value) > maxBytes)
      return addViolation(violations, path, `must have at most ${maxBytes} bytes in UTF-8`)
    // PostgreSQL stores neither, and no text has a use for them.
    if (!value.isWellFormed()) return addViolation(violations, path, 'must be well-formed Unicode')
    if (value.includes('\0')) return addViolation(violations, path, 'must not contain U+0000')
    if (pattern && !pattern.test(value))
      return addViolation(violations, path, `must be ${schema['x-form']}`)
    return value
  }
}

function codePoints(value: string): number {
  let count = 0
  for (const _ of value) count++
  return count
}

function isList(
  schema: DecoderSchema,
  value: unknown,
  path: string,
  violations: string[],
): value is unknown[] {
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema
  if (!Array.isArray(value)) addViolation(violations, path, 'must be a list')
  else if (value.length > maxItems)
    addViolation(violations, path, `must have at most ${maxItems} items`)
  else if (value.length < minItems)
    addViolation(
      violations,
      path,
      minItems === 1 ? 'must not be empty' : `must have at least ${minItems} items`,
    )
  else return true
  return false
}

function compileArray(schema: DecoderSchema, mode: Mode): Decode {
  const item = compile(schema.items ?? {}, mode)
  return (value, path, violations) => {
    if (!isList(schema, value, path, violations)) return undefined
    return value.map((entry, index) =>
      entry === null
        ? addViolation(violations, `${path}[${index}]`, 'must not be null')
        : item(entry, `${path}[${index}]`, violations),
    )
  }
}

function compileItemList(schema: DecoderSchema): Decode {
  const item = compile(schema.items ?? {}, 'coerce')
  return (value, path, violations) => {
    if (!isList(schema, value, path, violations)) return undefined
    return value.map((entry): Item<unknown> => {
      const own: string[] = []
      const decoded = item(entry, '', own)
      return own.length === 0
        ? { value: decoded }
        : { violation: own.map((text) => text.trim()).join('; '), raw: entry }
    })
  }
}

function compileObject(schema: DecoderSchema, mode: Mode): Decode {
  if (!schema.properties)
    return (given, path, violations) => {
      const value = objectFrom(given, mode)
      return isJsonObject(value) ? value : addViolation(violations, path, 'must be an object')
    }
  const fields = Object.entries(schema.properties).map(([name, property]) => ({
    name,
    decode: compile(property, mode),
    isText: isText(property),
  }))
  const required = new Set(schema.required ?? [])
  const known = schema.additionalProperties === false ? schema.properties : null
  return (given, path, violations) => {
    const value = objectFrom(given, mode)
    if (!isJsonObject(value)) return addViolation(violations, path, 'must be an object')
    for (const name of known ? Object.keys(value) : [])
      if (!Object.hasOwn(known ?? {}, name))
        addViolation(
          violations,
          path === '' ? name : `${path}.${name}`,
          'must be left out: it is unknown',
        )
    const decoded: Record<string, unknown> = {}
    for (const { name, decode, isText: text } of fields) {
      const member = Object.hasOwn(value, name) ? value[name] : undefined
      const at = path === '' ? name : `${path}.${name}`
      if (isAbsent(member, text, mode)) {
        if (required.has(name)) addViolation(violations, at, 'is required')
      } else decoded[name] = decode(member, at, violations)
    }
    return decoded
  }
}

/** Takes an empty list for an empty object, as PHP writes it. */
export function objectFrom(value: unknown, mode: Mode = 'coerce'): unknown {
  return mode === 'coerce' && Array.isArray(value) && value.length === 0 ? {} : value
}

/** Reports whether "" is a value of such a field, valid or not. */
export function isText(schema: DecoderSchema): boolean {
  const { type, enum: words, anyOf, 'x-blank-is-absent': blankIsAbsent } = schema
  const isString = type === 'string' && words === undefined
  return isString || type === undefined || anyOf !== undefined || blankIsAbsent === false
}

/**
 * Null counts as absent, and so does "" for a number, a flag or an enumerated word: empty form
 * fields arrive that way.
 */
export function isAbsent(value: unknown, isTextField: boolean, mode: Mode = 'coerce'): boolean {
  return (
    value === undefined || (mode === 'coerce' && (value === null || (value === '' && !isTextField)))
  )
}

/** @param form what the value must be, for values of which no member can be named */
function compileUnion(
  branches: readonly DecoderSchema[],
  form: string | undefined,
  mode: Mode,
): Decode {
  const decoders = branches.map((branch) => ({ branch, decode: compile(branch, mode) }))
  return (value, path, violations) => {
    let best: { readonly own: string[]; readonly decoded: unknown } | null = null
    for (const { branch, decode } of decoders) {
      const own: string[] = []
      const decoded = decode(value, path, own)
      if (own.length === 0) return decoded
      // The branch of the value's own type gives the most useful violation.
      if (best === null || branch.type === jsonType(value)) best = { own, decoded }
    }
    if (form !== undefined && !isJsonObject(best?.decoded))
      return addViolation(violations, path, `must be ${form}`)
    violations.push(...(best?.own ?? [`${path} is invalid`]))
    return best?.decoded
  }
}

function jsonType(value: unknown): string {
  if (Array.isArray(value)) return 'array'
  return value === null ? 'null' : typeof value
}
