/** A strict reader of JSON objects, such as the manifest of a backup. */
import { isJsonObject, type JsonObject } from './json.js'

/** Tests a value of JSON. */
export type Check = (value: unknown) => boolean

export const isText: Check = (value) => typeof value === 'string' && value !== ''
/** A version, an ID or another name in ASCII: it is printed, and has no control characters. */
export const isName: Check = (value) =>
  typeof value === 'string' && /^[A-Za-z0-9][\w.:+-]{0,199}$/.test(value)
export const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0
export const isSha256: Check = (value) => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)
/** RFC 3339, UTC. */
export const isTime: Check = (value) =>
  typeof value === 'string' &&
  /^\d{4}-[\d:T.-]{1,40}Z$/.test(value) &&
  !Number.isNaN(Date.parse(value))
export const isOneOf =
  (...values: readonly unknown[]): Check =>
  (value) =>
    values.includes(value)
export const isMapOf =
  (check: Check): Check =>
  (value) =>
    isJsonObject(value) && Object.values(value).every(check)
export const isListOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check)
/** The object has these members, and no others. */
export const isObjectOf =
  (members: Readonly<Record<string, Check>>): Check =>
  (value) =>
    isJsonObject(value) &&
    Object.keys(value).every((name) => Object.hasOwn(members, name)) &&
    Object.entries(members).every(([name, check]) => check(value[name]))

/** The description of a JSON object of ours. */
export interface JsonFile<T> {
  /** Each field with its test. */
  readonly fields: Readonly<Record<keyof T, Check>>
  /** @param problem the end of a sentence about the file */
  bad(problem: string): Error
  /** Returns the error for an object that this build does not know, such as one of a newer format. */
  refuse?(file: JsonObject): Error | null
}

/** Reads the text of a JSON object. @throws the errors of the file, of which `bad` names the wrong field */
export function parseFile<T>(text: string, { fields, bad, refuse }: JsonFile<T>): T {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw bad('is not JSON')
  }
  if (!isJsonObject(value)) throw bad('is no object')
  const refusal = refuse?.(value)
  if (refusal) throw refusal
  const unknown = Object.keys(value).find((name) => !Object.hasOwn(fields, name))
  if (unknown !== undefined) throw bad(`has an unknown field ${unknown}`)
  for (const [name, check] of Object.entries<Check>(fields))
    if (!check(value[name])) throw bad(`has a bad field ${name}`)
  return value as T
}
