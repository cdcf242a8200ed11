/** The parameters and bodies of operations in the document. */
import { callerRules } from '../callers.js'
import { type JsonSchema, plainSchema } from '../json-schema.js'
import { maxBodyBytes } from '../limits/body-limit.js'
import { isWholeBody, type Operation } from '../operation.js'
import { object, type TProperties } from '../schema.js'
import { exampleReferences, type OperationExample } from './examples.js'
import type { Content, OpenApiParameter, OpenApiReference } from './parts.js'

/** The body of an operation. */
export interface OpenApiRequestBody {
  readonly description?: string
  readonly required: boolean
  readonly content: Content
}

/** Headers that name the user or the group of a call with an Admin token, by their names as components. */
export const headerParameters: Record<string, OpenApiParameter> = {
  UserId: {
    name: 'user_id',
    in: 'header',
    description:
      'With an Admin token: the user that the call acts as. With a user token: absent, or the user of the token.',
    schema: { type: 'integer', format: 'int64' },
  },
  GroupId: {
    name: 'group_id',
    in: 'header',
    description:
      'With an Admin token only: the call is made with the rights of an admin of this group, and of no other.',
    schema: { type: 'integer', format: 'int64' },
  },
}

/** Returns the headers and query parameters; credentials are security schemes. */
export function parametersOf(
  operation: Operation,
  schemas: Record<string, JsonSchema>,
  { query: values }: OperationExample,
): (OpenApiParameter | OpenApiReference)[] {
  const { subject, groupHeader } = callerRules[operation.callers]
  const headers = [subject !== 'unused' && 'UserId', groupHeader && 'GroupId'].filter(Boolean)
  const required = requiredOf(operation.query)
  return [
    ...headers.map((name) => ({ $ref: `#/components/parameters/${name}` })),
    ...Object.entries(operation.query).map(([name, schema]) => ({
      name,
      in: 'query' as const,
      required: required.includes(name),
      ...(schema.description !== undefined && { description: schema.description }),
      schema: plainSchema(schema, schemas),
      ...(values?.[name] !== undefined && { example: values[name] }),
    })),
  ]
}

function requiredOf(properties: TProperties): readonly string[] {
  return object(properties).required ?? []
}

const uploadForm: JsonSchema = {
  type: 'object',
  description: 'The fields that are sent along, and the file after them.',
  properties: { file: { type: 'string', contentMediaType: 'application/octet-stream' } },
  required: ['file'],
}

/** Returns undefined for an operation without a body. */
export function requestBodyOf(
  operation: Operation,
  schemas: Record<string, JsonSchema>,
  { body: value }: OperationExample,
): OpenApiRequestBody | undefined {
  const example = exampleReferences(operation.id, 'request', value)
  if (operation.takesFile)
    return { required: true, content: { 'multipart/form-data': { schema: uploadForm } } }
  if (isWholeBody(operation.body)) {
    const schema = plainSchema(operation.body.schema, schemas)
    const content: Content = {
      'application/json': { schema, ...example },
      ...(schema.type === 'string' && { 'text/plain': { schema } }),
    }
    return { description: bodyLimit(operation), required: true, content }
  }
  if (Object.keys(operation.body).length === 0) return undefined
  const schema = plainSchema(object(operation.body), schemas)
  return {
    description: bodyLimit(operation),
    required: requiredOf(operation.body).length > 0,
    content: { 'application/json': { schema, ...example } },
  }
}

function bodyLimit(operation: Operation): string {
  return `At most ${maxBodyBytes(operation).toLocaleString('en')} bytes.`
}
