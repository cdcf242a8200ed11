import { isWholeBody, type Operation } from '../operation.js'
import type { TSchema } from '../schema.js'

const mostBytes = 1_048_576
const leastBytes = 8_192
const unknownFieldBytes = 4_096
/** A character as an escape sequence, such as `\u00e9`. */
const bytesPerUnit = 6
/** Any number or flag, and what surrounds a value: quotes, comma, line end and indentation. */
const valueBytes = 48

/**
 * The most bytes of an operation's JSON body: what its schema allows, written in the longest form,
 * and room for unknown fields; at least 8 KiB, at most 1 MiB (rule A2b).
 */
export function maxBodyBytes({ query, body }: Pick<Operation, 'query' | 'body'>): number {
  const fields = isWholeBody(body) ? { [body.whole]: body.schema } : { ...query, ...body }
  return Math.min(mostBytes, Math.max(leastBytes, unknownFieldBytes + membersBytes(fields)))
}

function membersBytes(properties: Readonly<Record<string, TSchema>>): number {
  return Object.entries(properties).reduce(
    (sum, [name, schema]) => sum + name.length + valueBytes + schemaBytes(schema),
    0,
  )
}

/** Infinity for a schema without bounds. */
function schemaBytes(schema: TSchema): number {
  const { type, anyOf, items, properties, enum: values } = schema
  const unbounded = Number.POSITIVE_INFINITY
  if (anyOf) return Math.max(...(anyOf as TSchema[]).map(schemaBytes))
  if (type === 'array')
    return ((schema.maxItems as number) ?? unbounded) * (valueBytes + schemaBytes(items))
  if (type === 'object') return properties ? membersBytes(properties) : unbounded
  if (type === 'string') return bytesPerUnit * longestOf(schema, values)
  return type === undefined ? unbounded : valueBytes
}

function longestOf(schema: TSchema, values: readonly string[] | undefined): number {
  if (values) return Math.max(...values.map(({ length }) => length))
  return (schema.maxLength as number | undefined) ?? Number.POSITIVE_INFINITY
}
