/**
 * The fields of objects in files of other systems. Each declares its form once, for the reader and
 * for the JSON Schema that is published.
 */
import { isJsonObject, type JsonObject } from '../lib/json.js'

/** A form of values. */
export interface FieldKind<V> {
  /** The form, to follow "must be". */
  readonly form: string
  readonly schema: JsonObject
  /** @returns undefined for a value of another form; `null` and absent values are not passed */
  read(value: unknown): V | undefined
}

/** A field of an object; absent unless it is required. */
export interface Field<V> extends FieldKind<V> {
  readonly isRequired: boolean
  readonly description: string
}

export type Fields = Readonly<Record<string, Field<unknown>>>

/** The values of the fields that an object has. */
export type ValuesOf<F extends Fields> = {
  readonly [K in keyof F]: F[K] extends Field<infer V> ? V | RequiredMark<F[K]> : never
}
type RequiredMark<F> = F extends { readonly isRequired: true } ? never : undefined

/** An object that was read: its fields, and the members that no field names. */
export interface ReadObject<F extends Fields> {
  readonly values: ValuesOf<F>
  readonly others: JsonObject
}

export function optional<V>(kind: FieldKind<V>, description: string) {
  return { ...kind, description, isRequired: false as const }
}

export function required<V>(kind: FieldKind<V>, description: string) {
  return { ...kind, description, isRequired: true as const }
}

/** @returns the violations in place of the object when there are any */
export function readFields<F extends Fields>(
  fields: F,
  object: JsonObject,
): ReadObject<F> | { readonly violations: readonly string[] } {
  const violations: string[] = []
  const values: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(fields)) {
    const given = Object.hasOwn(object, name) ? object[name] : undefined
    // Programs write "" for IDs and times that are not there.
    if (given === undefined || given === null || given === '') {
      if (field.isRequired) violations.push(`${name} is missing`)
      continue
    }
    values[name] = field.read(given)
    if (values[name] === undefined) violations.push(`${name} must be ${field.form}`)
  }
  if (violations.length > 0) return { violations }
  const others = Object.fromEntries(
    Object.entries(object).filter(([name]) => !Object.hasOwn(fields, name)),
  )
  return { values: values as ValuesOf<F>, others }
}

/** Returns the JSON Schema of objects with these fields; other members are allowed. */
export function objectSchema(fields: Fields): JsonObject {
  const properties = Object.entries(fields).map(([name, { schema, description, isRequired }]) => [
    name,
    { description, ...(isRequired ? schema : { anyOf: [schema, { type: 'null' }] }) },
  ])
  const needed = Object.keys(fields).filter((name) => fields[name]?.isRequired)
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(needed.length === 0 ? {} : { required: needed }),
  }
}

/** Any text; one that no database can store is changed by {@link storable}. */
export const text: FieldKind<string> = {
  form: 'a text',
  schema: { type: 'string' },
  read: (value) => (typeof value === 'string' ? value : undefined),
}

const maxIdBytes = 255
// biome-ignore lint/suspicious/noControlCharactersInRegex: the characters that no ID has
const control = /[\u0000-\u001f\u007f-\u009f]/

/** An ID of another system. */
export const externalId: FieldKind<string> = {
  form: `a text of 1 to ${maxIdBytes} bytes without control characters`,
  schema: { type: 'string', minLength: 1, maxLength: maxIdBytes },
  read: (value) => (isId(value) ? value : undefined),
}

function isId(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value !== '' &&
    value.isWellFormed() &&
    !control.test(value) &&
    Buffer.byteLength(value) <= maxIdBytes
  )
}

/** An ID, or the object that has it as its `id`. */
export const reference: FieldKind<string> = {
  form: 'an ID, or an object with an id',
  schema: {
    anyOf: [
      externalId.schema,
      { type: 'object', properties: { id: externalId.schema }, required: ['id'] },
    ],
  },
  read: (value) => externalId.read(isJsonObject(value) ? value.id : value),
}

export const flag: FieldKind<boolean> = {
  form: 'true or false',
  schema: { type: 'boolean' },
  read: (value) => (typeof value === 'boolean' ? value : undefined),
}

const rfc3339 = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)$/
/** The times of absent values in files that programs in Go have written. */
const zeroTime = '0001-01-01'
const lastYear = 9999

/** A time in microseconds since 1970; 0 = the zero time, which stands for none. */
export const time: FieldKind<number> = {
  form: 'a time from 1970 on as in RFC 3339, such as 2026-11-29T16:00:00.123Z',
  schema: { type: 'string', format: 'date-time' },
  read(value) {
    const [, date = '', clock = '', fraction = '', zone = ''] =
      (typeof value === 'string' ? rfc3339.exec(value) : null) ?? []
    if (date === zeroTime) return 0
    const day = Date.parse(`${date}T00:00:00Z`)
    // Date.parse takes February 30 for March 2.
    if (Number.isNaN(day) || new Date(day).toISOString().slice(0, 10) !== date) return undefined
    const ms = Date.parse(`${date}T${clock}${zone.toUpperCase()}`)
    if (Number.isNaN(ms) || ms <= 0 || new Date(ms).getUTCFullYear() > lastYear) return undefined
    return ms * 1000 + Number(fraction.padEnd(6, '0').slice(0, 6))
  },
}

export function listOf<V>(entry: FieldKind<V>, maxEntries: number): FieldKind<readonly V[]> {
  return {
    form: `a list of at most ${maxEntries}, each ${entry.form}`,
    schema: { type: 'array', items: entry.schema, maxItems: maxEntries },
    read(value) {
      if (!Array.isArray(value) || value.length > maxEntries) return undefined
      const entries = value.map((each) => entry.read(each))
      return entries.includes(undefined) ? undefined : (entries as V[])
    },
  }
}

/** An object whose members are checked by no rule. */
export const anyObject: FieldKind<JsonObject> = {
  form: 'an object',
  schema: { type: 'object' },
  read: (value) => (isJsonObject(value) ? value : undefined),
}
