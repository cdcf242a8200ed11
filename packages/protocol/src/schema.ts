/**
 * Schema types of the contract: TypeBox (JSON Schema) plus the few types that JSON Schema lacks.
 * The server's parameter decoder supports exactly these.
 */
import { type Static, type TProperties, type TSchema, Type } from './typebox.js'

export { type Static, type TProperties, type TSchema, Type } from './typebox.js'

/**
 * An exact 64-bit integer: a number when it is a safe integer, else a bigint, never both, so that
 * `===` and Map keys work. Every ID of the service is a safe integer (rule B1), so a bigint is
 * always an unknown ID.
 */
export type Int64 = number | bigint

interface SchemaNotes {
  readonly description?: string
}

interface IntegerRange extends SchemaNotes {
  readonly minimum?: number
  readonly maximum?: number
  readonly default?: number
  /**
   * False when a blank value must not count as omitted, because omission has the larger effect
   * (rule B3).
   */
  readonly blankIsAbsent?: false
}

/** An int64 field; input is exact over the whole range (rule B2). */
export function int64(options: Omit<IntegerRange, 'blankIsAbsent'> = {}) {
  return Type.Unsafe<Int64>({ type: 'integer', format: 'int64', ...options })
}

/** An int32 field. */
export function int32({ blankIsAbsent, ...options }: IntegerRange = {}) {
  const range = { minimum: -(2 ** 31), maximum: 2 ** 31 - 1 }
  const blank = blankIsAbsent === false ? { 'x-blank-is-absent': false } : {}
  return Type.Integer({ format: 'int32', ...range, ...options, ...blank })
}

/**
 * All control characters, for the character classes of patterns: regular expressions of other
 * languages do not know the class Cc.
 */
export const controlCharacters = '\\u0000-\\u001f\\u007f-\\u009f'

interface StringOptions extends SchemaNotes {
  readonly minLength?: number
  readonly maxLength?: number
  /** The most bytes in UTF-8. */
  readonly maxBytes?: number
  /** A regular expression with the flag `u`; requires `form`. */
  readonly pattern?: string
  /**
   * The form that the pattern requires, phrased to follow "must be". Error details contain it (rule
   * A4a).
   */
  readonly form?: string
  readonly default?: string
  readonly examples?: readonly string[]
}

/** A string; lengths are in Unicode code points. */
export function string({ form, maxBytes, ...options }: StringOptions = {}) {
  const words = form === undefined ? {} : { 'x-form': form }
  const bytes = maxBytes === undefined ? {} : { 'x-max-bytes': maxBytes }
  return Type.String({ maxLength: maxBytes ?? 1024, ...options, ...words, ...bytes } as never)
}

/**
 * A string of an answer, without bounds: a stored text may exceed a limit that was lowered later.
 */
export function text(description: string) {
  return Type.String({ description })
}

/** A 64-bit floating point number. */
export function double(options: Omit<IntegerRange, 'blankIsAbsent'> = {}) {
  return Type.Number({ format: 'double', ...options })
}

/** True or false; 0, 1 and their strings are accepted too (rule B3). */
export function boolean(options: SchemaNotes & { readonly default?: boolean } = {}) {
  return Type.Boolean(options)
}

/** An integer enumeration with meanings, such as auth_mode. */
export function intEnum(
  meanings: Readonly<Record<number, string>>,
  options: SchemaNotes & { readonly default?: number } = {},
) {
  const values = Object.keys(meanings).map(Number)
  const meaning = Object.entries(meanings)
    .map(([value, text]) => `${value} ${text}`)
    .join(', ')
  return Type.Unsafe<number>({
    type: 'integer',
    format: 'int32',
    ...options,
    description: options.description ? `${options.description}: ${meaning}` : meaning,
    enum: values,
  })
}

/** A string enumeration. */
export function stringEnum<const Values extends readonly string[]>(
  values: Values,
  options: SchemaNotes = {},
) {
  return Type.Unsafe<Values[number]>({ type: 'string', ...options, enum: [...values] })
}

/**
 * One entry of a list with separate results: the decoded value, or the violation with the raw
 * entry.
 */
export type Item<T> = { readonly value: T } | { readonly violation: string; readonly raw: unknown }

/**
 * A list with invalid entries that fail separately instead of failing the call (rule D9).
 *
 * @param options.maxItems more entries than this fail the call (10002)
 */
export function itemList<T extends TSchema>(
  item: T,
  options: SchemaNotes & { readonly maxItems?: number; readonly minItems?: number } = {},
) {
  return Type.Unsafe<Item<Static<T>>[]>({
    type: 'array',
    items: item,
    maxItems: 500,
    ...options,
    'x-item-list': true,
  })
}

/**
 * A list that fails as a whole when an entry is invalid; by default at most 500 entries (rule D9).
 */
export function list<T extends TSchema>(
  item: T,
  options: SchemaNotes & {
    readonly maxItems?: number
    readonly minItems?: number
    /** Entries are only looked up, which is cheaper than acting on each. */
    readonly 'x-look-up'?: true
    /** As `blankIsAbsent` of numbers. */
    readonly 'x-blank-is-absent'?: false
  } = {},
) {
  return Type.Array(item, { maxItems: 500, ...options })
}

/** A list of an answer, without bounds. */
export function array<T extends TSchema>(item: T, options: SchemaNotes = {}) {
  return Type.Array(item, options)
}

/** A JSON object with any members; they pass unchanged. */
export function freeObject(options: SchemaNotes = {}) {
  return Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: true,
    ...options,
  })
}

/** The same properties, all optional. */
export function allOptional<P extends TProperties>(properties: P) {
  return Type.Partial(Type.Object(properties)).properties
}

/** An object that refuses undeclared members by name (rule B5). */
export function strictObject<P extends TProperties>(properties: P, options: SchemaNotes = {}) {
  return Type.Object(properties, { ...options, additionalProperties: false })
}

/** A field or parameter that may be absent. */
export const optional = Type.Optional
/** An object; unknown members are ignored (rule B5). */
export const object = Type.Object
