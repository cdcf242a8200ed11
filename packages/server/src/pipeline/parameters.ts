import {
  AppError,
  type ErrorName,
  isWholeBody,
  type Operation,
  object,
  type TSchema,
} from '@hermod/protocol'
import { isJsonObject } from '../lib/json.js'
import { type MaybePromise, thenMaybe } from '../lib/maybe-promise.js'
import { compileDecoder, isAbsent, isText, type DecoderSchema, objectFrom } from './decode.js'

/** Parameters by name; the value is a list when one was given several times. */
export type QueryParameters = Readonly<Record<string, string | readonly string[] | undefined>>

/** Gets the number of bytes of a body. @throws AppError when the caller may not have it parsed */
export type BodyArrived = (bytes: number) => void

/** The parts of a call that hold its parameters. */
export interface ParameterSource {
  readonly query: QueryParameters
  /**
   * Returns the parsed body, undefined when there is none. It is called once the caller is known,
   * so that nothing is read or parsed for a call that is refused before.
   * @param arrived called with its bytes before it is parsed; what it throws ends the call
   * @throws AppError invalid_parameter when it cannot be parsed; other errors of the transport
   */
  body(arrived: BodyArrived): unknown
}

export type Parameters = Record<string, unknown>

/** Reads the parameters; synchronous when the body is in memory. */
export type ReadParameters = (
  source: ParameterSource,
  arrived: BodyArrived,
) => MaybePromise<Parameters>

interface ParameterField {
  readonly name: string
  readonly home: 'query' | 'body'
  readonly isText: boolean
  readonly isScalar: boolean
  readonly isRequired: boolean
  readonly decode: ReturnType<typeof compileDecoder>
}

/**
 * Compiles the reader of an operation's parameters, which finds, merges, coerces and checks them
 * (rules B2 to B5).
 * @returns a function that throws AppError invalid_parameter, or the operation's own error, naming
 * every violation of the request
 */
export function compileParameters(operation: Operation): ReadParameters {
  const { body, violationsOf, errorOf } = operation
  if (isWholeBody(body)) return wholeBodyReader(body.whole, body.schema)
  const fields = [...fieldsOf(operation.query, 'query'), ...fieldsOf(body, 'body')]
  const readAll = (query: QueryParameters, body: Readonly<Parameters>) => {
    const violations: string[] = []
    const params: Parameters = {}
    for (const field of fields) {
      const value = readField(field, query, body, violations)
      if (value !== undefined) params[field.name] = value
    }
    if (violationsOf) violations.push(...violationsOf(params))
    if (violations.length > 0) throw invalid(violations, errorOf?.(violations))
    return params
  }
  return (source, arrived) =>
    thenMaybe(source.body(arrived), (body) => readAll(source.query, readObject(body)))
}

/** Returns the error of a call with invalid parameters, which lists all violations. */
export function invalid(
  violations: readonly string[],
  error: ErrorName = 'invalid_parameter',
): AppError {
  return new AppError(error, violations.join('; '))
}

function fieldsOf(
  properties: Readonly<Record<string, TSchema>>,
  home: ParameterField['home'],
): ParameterField[] {
  const required = new Set((object(properties).required ?? []) as string[])
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    home,
    isText: isText(schema as DecoderSchema),
    isScalar: schema.type !== 'array' && schema.type !== 'object',
    isRequired: required.has(name),
    decode: compileDecoder(schema),
  }))
}

function readField(
  field: ParameterField,
  query: QueryParameters,
  body: Readonly<Parameters>,
  violations: string[],
): unknown {
  const { name, home, isText } = field
  const inQuery = home === 'query' || field.isScalar ? query[name] : undefined
  // Field names never collide with Object.prototype.
  const inBody = home === 'body' || field.isScalar ? body[name] : undefined
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

const noFields: Readonly<Parameters> = {}

function readObject(value: unknown): Readonly<Parameters> {
  if (value === undefined) return noFields
  const object = objectFrom(value)
  if (!isJsonObject(object)) throw invalid(['the body must be a JSON object'])
  return object
}

/** Reads a body that is the value itself (rule B4). */
function wholeBodyReader(name: string, schema: TSchema): ReadParameters {
  const decode = compileDecoder(schema)
  const read = (value: unknown) => {
    const violations: string[] = []
    if (value === undefined || value === null) throw invalid(['the body is required'])
    const decoded = decode(value, 'the body', violations)
    if (violations.length > 0) throw invalid(violations)
    return { [name]: decoded }
  }
  return (source, arrived) => thenMaybe(source.body(arrived), read)
}
