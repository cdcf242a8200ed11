/** The answers of operations in the document. */
import { type ErrorEntry, errorCatalogue } from '../errors.js'
import { failureMembersOf } from '../failure-members.js'
import { type JsonSchema, mapValues, plainSchema } from '../json-schema.js'
import type { Operation } from '../operation.js'
import { exampleReferences } from './examples.js'
import type { OpenApiReference, OpenApiResponse } from './parts.js'

/** Returns the answer with HTTP 200: the envelope of a success or of a failure, or a file. */
export function successOf(
  operation: Operation,
  schemas: Record<string, JsonSchema>,
  example: unknown,
): OpenApiResponse {
  if (operation.answersFile) {
    return {
      description: 'The file itself, or the envelope of a failure.',
      content: {
        'application/octet-stream': { schema: {} },
        'application/json': { schema: { $ref: '#/components/schemas/Failure' } },
      },
    }
  }
  const beside = { ...operation.extras, ...failureMembersOf(operation.errors) }
  const extras = mapValues(beside, (schema) => plainSchema(schema, schemas))
  return {
    description: 'The envelope, of a success or of a failure.',
    headers: requestIdHeader,
    content: {
      'application/json': {
        schema: {
          type: 'object',
          properties: {
            code: {
              type: 'integer',
              format: 'int32',
              description: '200 on success, else the code of the error',
            },
            data: {
              anyOf: [
                plainSchema(operation.data, schemas),
                { type: 'null', description: 'on failure' },
              ],
            },
            message: { type: ['string', 'null'], description: 'null on success, else a sentence' },
            ...extras,
          },
          required: ['code', 'data', 'message'],
        },
        ...exampleReferences(operation.id, 'answer', example),
      },
      ...(operation.lines === null ? {} : { 'application/x-ndjson': { schema: {} } }),
    },
  }
}

const requestIdHeader = {
  'x-request-id': {
    description: 'Names the call in the log of the service.',
    schema: { type: 'string' },
  },
}
const retryAfterHeader = {
  'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer' } },
}

/** The envelope of any failure. */
export const failureSchema: JsonSchema = {
  title: 'Failure',
  description: 'The envelope of a failure.',
  type: 'object',
  properties: {
    code: { type: 'integer', format: 'int32', description: 'the code of the error' },
    data: { type: 'null' },
    message: { type: 'string', description: 'what went wrong' },
  },
  required: ['code', 'data', 'message'],
}

/** Errors that always have a real HTTP status (rule A2). */
const alwaysRealErrors = Object.values<ErrorEntry>(errorCatalogue).filter((entry) => entry.always)
const realStatuses = [...new Set(alwaysRealErrors.map((entry) => entry.http))].sort((a, b) => a - b)
/** An unknown path or method has no operation. */
const operationStatuses = realStatuses.filter((status) => status !== 404 && status !== 405)

/** The answers with these statuses, by their names as components. */
export const statusResponses = Object.fromEntries(
  operationStatuses.map((status) => [`Status${status}`, describeStatus(status)]),
)

function describeStatus(status: number): OpenApiResponse {
  const entries = alwaysRealErrors.filter((entry) => entry.http === status)
  return {
    description: entries
      .map((entry) => `${entry.code} ${entry.text}. ${entry.meaning}`)
      .join('\n\n'),
    headers: {
      ...requestIdHeader,
      ...(entries.some((entry) => entry.retryable) && retryAfterHeader),
    },
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Failure' } } },
  }
}

/** References to the answers of an operation's path with another status than 200. */
export function statusReferences(hasBody: boolean): Record<string, OpenApiReference> {
  const possible = operationStatuses.filter(
    (status) => hasBody || (status !== 413 && status !== 501),
  )
  return Object.fromEntries(
    possible.map((status) => [status, { $ref: `#/components/responses/Status${status}` }]),
  )
}
