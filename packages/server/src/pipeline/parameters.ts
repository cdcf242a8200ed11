import { isUtf8 } from 'node:buffer'
import { AppError, isWholeBody, type Operation, object, type TSchema } from '@hermod/protocol'
import { parseJson } from '../lib/json.js'
import { compileDecoder, isAbsent } from './decode.js'

/** A request body as it arrived. */
export interface RawBody {
  readonly bytes: Buffer
  readonly contentType: string | undefined
}

export type Query = Readonly<Record<string, string | readonly string[] | undefined>>

/** What a call brought along for its parameters: from a URL and a body, or already parsed from a frame. */
export interface ParameterSource {
  readonly query: Query
  readonly body: RawBody | null
}

export type ReadParameters = (source: ParameterSource) => Record<string, unknown>

interface Field {
  readonly name: string
  readonly home: 'query' | 'body'
  readonly isText: boolean
  readonly isScalar: boolean
  readonly isRequired: boolean
  readonly decode: ReturnType<typeof compileDecoder>
}

/**
 * Compiles how an operation's parameters are found, merged, coerced and checked (decisions B2 to B5).
 * @returns a function that throws AppError invalid_parameter naming every fault of the request
 */
export function compileParameters(operation: Operation): ReadParameters {
  const body = operation.body
  if (isWholeBody(body)) return wholeBodyReader(body.whole, body.schema)
  const fields = [...fieldsOf(operation.query, 'query'), ...fieldsOf(body, 'body')]
  return (source) => {
    const violations: string[] = []
    const fromBody = readObject(source.body)
    const params: Record<string, unknown> = {}
    for (const field of fields) {
      const value = readField(field, source.query, fromBody, violations)
      if (value !== undefined) params[field.name] = value
    }
    if (violations.length > 0) throw invalid(violations)
    return params
  }
}

export function invalid(violations: readonly string[]): AppError {
  return new AppError('invalid_parameter', violations.join('; '))
}

function fieldsOf(properties: Readonly<Record<string, TSchema>>, home: Field['home']): Field[] {
  const required = new Set((object(properties).required ?? []) as string[])
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    home,
    isText: schema.type === 'string' || schema.anyOf !== undefined,
    isScalar: schema.type !== 'array' && schema.type !== 'object',
    isRequired: required.has(name),
    decode: compileDecoder(schema),
  }))
}

function readField(
  field: Field,
  query: Query,
  body: Readonly<Record<string, unknown>>,
  violations: string[],
): unknown {
  const { name, home, isText } = field
  const inQuery = home === 'query' || field.isScalar ? query[name] : undefined
  const inBody =
    (home === 'body' || field.isScalar) && Object.hasOwn(body, name) ? body[name] : undefined
  if (Array.isArray(inQuery)) {
    violations.push(`${name} must be given once`)
    return undefined
  }
  const hasQuery = !isAbsent(inQuery, isText)
  const hasBody = !isAbsent(inBody, isText)
  if (!hasQuery && !hasBody) {
    if (field.isRequired) violations.push(`${name} is required`)
    return undefined
  }
  const first = field.decode(hasQuery ? inQuery : inBody, name, violations)
  if (!hasQuery || !hasBody) return first
  if (field.decode(inBody, name, violations) !== first)
    violations.push(`${name} differs between query and body`)
  return first
}

const noFields: Readonly<Record<string, unknown>> = {}

function readObject(body: RawBody | null): Readonly<Record<string, unknown>> {
  if (!body || body.bytes.length === 0) return noFields
  requireJsonType(body)
  const value = parseBody(body.bytes)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid(['the body must be a JSON object'])
  return value as Record<string, unknown>
}

function requireJsonType({ contentType }: RawBody): void {
  if (contentType !== undefined && !isJsonType(contentType))
    throw invalid(['content-type must be application/json'])
}

// Checked by hand for the one form that nearly every request has; the pattern covers parameters, suffixes and case.
function isJsonType(contentType: string): boolean {
  return (
    contentType === 'application/json' ||
    /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(contentType)
  )
}

function decodeText(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw invalid(['the body must be valid UTF-8'])
  const text = bytes.toString('utf8')
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
}

function parseBody(bytes: Buffer): unknown {
  const text = decodeText(bytes)
  try {
    return parseJson(text)
  } catch {
    // SyntaxError, or a RangeError for nesting that no request of ours has.
    throw invalid(['the body must be valid JSON'])
  }
}

/** The body is the value itself: a JSON literal, or for strings also plain text (decisions B4, D8). */
function wholeBodyReader(name: string, schema: TSchema): ReadParameters {
  const decode = compileDecoder(schema)
  const isString = schema.type === 'string'
  return ({ body }) => {
    const violations: string[] = []
    const value = isString ? wholeString(body) : wholeJson(body)
    if (value === undefined || value === null) throw invalid(['the body is required'])
    const decoded = decode(value, 'the body', violations)
    if (violations.length > 0) throw invalid(violations)
    return { [name]: decoded }
  }
}

function wholeJson(body: RawBody | null): unknown {
  if (!body || body.bytes.length === 0) return undefined
  requireJsonType(body)
  return parseBody(body.bytes)
}

function wholeString(body: RawBody | null): unknown {
  const text = decodeText(body?.bytes ?? Buffer.alloc(0))
  const isJson = body?.contentType !== undefined && isJsonType(body.contentType)
  if (!isJson && body?.contentType !== undefined) return text
  if (text === '') return undefined
  try {
    return singleString(parseJson(text))
  } catch {
    // Clients send the bare text under the JSON content type too.
    return text
  }
}

/** A JSON object with one string member counts as that string (decision D8); any other JSON text is itself the string. */
function singleString(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const members = Object.values(value)
  return members.length === 1 && typeof members[0] === 'string' ? members[0] : value
}
