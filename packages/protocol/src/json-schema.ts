import type { TProperties, TSchema } from './schema.js'

/**
 * A JSON Schema in an OpenAPI or AsyncAPI document: with references instead of titled schemas,
 * without symbols.
 */
export interface JsonSchema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly title?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly items?: JsonSchema
  readonly anyOf?: readonly JsonSchema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly [keyword: string]: unknown
}

/** Titled schemas of a document by their titles. */
export type Schemas = Readonly<Record<string, JsonSchema>>

/** Returns the last segment of a pointer: the name of what it leads to. */
export function lastSegment(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1)
}

/** Returns the schema that a reference leads to. */
export function resolveSchema(schemas: Schemas, schema: JsonSchema): JsonSchema {
  return schema.$ref === undefined ? schema : (schemas[lastSegment(schema.$ref)] ?? {})
}

/**
 * Converts a schema to plain JSON for a document. Moves titled schemas to the components and refers
 * to them.
 */
export function plainSchema(schema: TSchema, schemas: Record<string, JsonSchema>): JsonSchema {
  const title = schema.title as string | undefined
  if (title === undefined) return convertMembers(schema, schemas)
  schemas[title] ??= convertMembers(schema, schemas)
  return { $ref: `#/components/schemas/${title}` }
}

function convertMembers(schema: TSchema, schemas: Record<string, JsonSchema>): JsonSchema {
  // TypeBox keeps internal members under symbols, which Object.entries omits.
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => {
      if (keyword === 'items') return [keyword, plainSchema(value as TSchema, schemas)]
      if (keyword === 'anyOf')
        return [keyword, (value as TSchema[]).map((option) => plainSchema(option, schemas))]
      if (keyword === 'properties')
        return [
          keyword,
          mapValues(value as TProperties, (property) => plainSchema(property, schemas)),
        ]
      return [keyword, value]
    }),
  )
}

/** Returns the record with changed values. */
export function mapValues<A, B>(
  record: Readonly<Record<string, A>>,
  change: (value: A) => B,
): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]))
}

/** Returns a value that a schema allows, as an example. */
export function exampleValue(schemas: Schemas, schema: JsonSchema): unknown {
  const resolved = resolveSchema(schemas, schema)
  if (Array.isArray(resolved.examples)) return resolved.examples[0]
  if (resolved.const !== undefined) return resolved.const
  if (resolved.default !== undefined) return resolved.default
  if (resolved.enum) return resolved.enum[0]
  if (resolved.anyOf?.[0]) return exampleValue(schemas, resolved.anyOf[0])
  switch (resolved.type) {
    case 'integer':
      return exampleInteger(resolved)
    case 'boolean':
      return true
    case 'array':
      return [exampleValue(schemas, resolved.items ?? {})]
    case 'null':
      return null
    case 'object':
      return exampleObject(schemas, resolved)
    default:
      return 'text'
  }
}

/** Returns an example ID for an ID, else the smallest sensible number. */
function exampleInteger(schema: JsonSchema): number {
  const { minimum } = schema
  if (typeof minimum === 'number' && minimum >= 0) return minimum
  return schema.format === 'int64' && minimum === undefined ? 1001 : 1
}

/** Returns the required members and those with an example; without any, the first member. */
function exampleObject(schemas: Schemas, schema: JsonSchema): Record<string, unknown> {
  const members = Object.entries(schema.properties ?? {})
  const shown = members.filter(
    ([name, member]) => schema.required?.includes(name) || member.examples !== undefined,
  )
  return Object.fromEntries(
    (shown.length > 0 ? shown : members.slice(0, 1)).map(([name, member]) => [
      name,
      exampleValue(schemas, member),
    ]),
  )
}
