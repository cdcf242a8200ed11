/** The OpenAPI 3.1 document of the API, derived from the operations alone. */

import { callerRules, describeCallers, type TokenKind } from '../callers.js'
import { type ErrorEntry, type ErrorName, errorCatalogue } from '../errors.js'
import { failureMembersOf } from '../failure-members.js'
import { type GroupRightName, groupRights } from '../group-rights.js'
import { type JsonSchema, mapValues, plainSchema } from '../json-schema.js'
import { maxBodyBytes } from '../limits/body-limit.js'
import { isWholeBody, type Method, type Operation } from '../operation.js'
import { operations, tags } from '../operations/index.js'
import { object, optional, string, type TProperties } from '../schema.js'
import { type Scope, scopes } from '../scopes.js'
import type { Content, OpenApiParameter, OpenApiReference, OpenApiResponse } from './parts.js'
import { describeWebhooks, type OpenApiWebhook } from './webhooks.js'

/**
 * One method of an operation; members that begin with x-hermod are for our own pages and commands.
 */
export interface OpenApiOperation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description: string
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters: readonly (OpenApiParameter | OpenApiReference)[]
  readonly requestBody?: {
    readonly description?: string
    readonly required: boolean
    readonly content: Content
  }
  readonly responses: Readonly<Record<string, OpenApiResponse | OpenApiReference>>
  /** The id of the operation, the same for each of its methods. */
  readonly 'x-hermod-operation': string
  /**
   * The operation's own description, without the generated sentences about callers, errors and
   * status.
   */
  readonly 'x-hermod-notes'?: string
  readonly 'x-hermod-callers': string
  /** Scopes that an Admin token needs, all of them; only where Admin tokens may call. */
  readonly 'x-hermod-scopes'?: readonly Scope[]
  /** Required right in the group, for operations about a group; a key of groupRights. */
  readonly 'x-hermod-right'?: GroupRightName
  readonly 'x-hermod-errors': readonly {
    readonly name: string
    readonly code: number
    readonly text: string
  }[]
  readonly 'x-hermod-origin': Operation['origin']
  /** Present only on operations that answer code 50100 so far. */
  readonly 'x-hermod-status'?: 'planned'
}

/** The served document: OpenAPI 3.1, restricted to the parts in use. */
export interface OpenApiDocument {
  readonly openapi: '3.1.0'
  readonly info: Readonly<Record<string, unknown>> & {
    readonly title: string
    readonly version: string
    readonly description: string
  }
  readonly servers: readonly { readonly url: string }[]
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>
  /** The requests to endpoints of webhooks, by kind of event. */
  readonly webhooks: Readonly<Record<string, { readonly post: OpenApiWebhook }>>
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>
    readonly parameters: Readonly<Record<string, OpenApiParameter>>
    readonly responses: Readonly<Record<string, OpenApiResponse>>
    readonly securitySchemes: Readonly<Record<string, unknown>>
  }
}

/** Contents of the document besides the operations. */
export interface OpenApiOptions {
  /** Version of the service, not of the API. */
  readonly version: string
  /** Ids of the available operations; all others answer code 50100. */
  readonly builtOperationIds: ReadonlySet<string>
  /** Address of the service; omitted: relative to the document. */
  readonly serverUrl?: string
}

/**
 * Builds the document. The same operations give the same text, so that pages made from it can be
 * compared.
 */
export function openApiDocument({
  version,
  builtOperationIds,
  serverUrl = '/',
}: OpenApiOptions): OpenApiDocument {
  const schemas: Record<string, JsonSchema> = { Failure: failureSchema }
  const paths: Record<string, Record<string, OpenApiOperation>> = {}
  for (const operation of operations) {
    const planned = !builtOperationIds.has(operation.id)
    for (const method of operation.methods) {
      paths[operation.path] = {
        ...paths[operation.path],
        [method.toLowerCase()]: describeMethod(operation, method, { schemas, planned }),
      }
    }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Hermod',
      version,
      summary: 'Self-hosted instant-messaging backend',
      description: introduction,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: serverUrl }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    webhooks: describeWebhooks(schemas),
    components: {
      schemas,
      parameters: headerParameters,
      responses: statusResponses,
      securitySchemes,
    },
  }
}

const introduction = [
  'Every operation answers HTTP 200 with the envelope `code`, `data`, `message`: code 200 is success with message null; any other code is a failure with data null.',
  'Only what is not the answer of an operation has another HTTP status: an unknown path or method, a body that is too large, too many requests from an address, an error or overload of the service. With HERMOD_HTTP_STATUS=mirror failures carry their own HTTP status too.',
  'Integers are exact over the whole int64 range and may be sent as numbers or digit strings; booleans as true and false, 0 and 1, or their strings. A scalar parameter of the query may come in the JSON body and the other way round. Unknown body fields are ignored.',
  'Besides the errors that an operation lists, every call may answer those of parameters (10002), tokens (402, 10003, 10008, 10010), the user in the user_id header (10000, 10021), the application (40000, 40003) and limits (42900).',
].join('\n\n')

const plannedSentence = 'Not available yet in this version: answers code 50100.'

interface Surroundings {
  /** Component schemas collected so far. */
  readonly schemas: Record<string, JsonSchema>
  readonly planned: boolean
}

function describeMethod(
  operation: Operation,
  method: Method,
  { schemas, planned }: Surroundings,
): OpenApiOperation {
  const requestBody = requestBodyOf(operation, schemas)
  return {
    operationId: operationIdOf(operation, method),
    tags: [operation.tag],
    summary: operation.summary,
    description: [
      operation.description,
      `Callers: ${describeCallers(operation.callers, operation.scopes)}`,
      operation.right &&
        `Right in the group: ${operation.right} (${groupRights[operation.right].meaning}).`,
      errorSentence(operation.errors),
      planned && plannedSentence,
    ]
      .filter(Boolean)
      .join('\n\n'),
    security: securityOf(operation),
    parameters: [...headersOf(operation), ...queryParametersOf(operation, schemas)],
    ...(requestBody && { requestBody }),
    responses: {
      200: successOf(operation, schemas),
      ...statusReferences(requestBody !== undefined),
    },
    'x-hermod-operation': operation.id,
    ...(operation.description !== undefined && { 'x-hermod-notes': operation.description }),
    'x-hermod-callers': operation.callers,
    ...(isOpenTo(operation, 'admin') && { 'x-hermod-scopes': operation.scopes }),
    ...(operation.right !== undefined && { 'x-hermod-right': operation.right }),
    'x-hermod-errors': operation.errors.map((name) => ({
      name,
      code: errorCatalogue[name].code,
      text: errorCatalogue[name].text,
    })),
    'x-hermod-origin': operation.origin,
    ...(planned && { 'x-hermod-status': 'planned' as const }),
  }
}

/**
 * The id itself for POST, or for the only method. The other method of a pair gets a suffix, since
 * operationIds are unique.
 */
function operationIdOf(operation: Operation, method: Method): string {
  return operation.methods.length === 1 || method === 'POST'
    ? operation.id
    : `${operation.id}.${method.toLowerCase()}`
}

function errorSentence(errors: readonly ErrorName[]): string {
  if (errors.length === 0) return ''
  return `Errors: ${errors.map((name) => `${errorCatalogue[name].code} ${errorCatalogue[name].text}`).join('; ')}.`
}

function isOpenTo(operation: Operation, kind: TokenKind): boolean {
  return callerRules[operation.callers].tokens.includes(kind)
}

/** The roles of the requirement for Admin tokens are their scopes. */
function securityOf(operation: Operation): OpenApiOperation['security'] {
  const isForAdmins = isOpenTo(operation, 'admin')
  return [
    ...(isOpenTo(operation, 'none') ? [{}] : []),
    ...(isForAdmins && !isOpenTo(operation, 'user') ? [] : [{ accessToken: [] }]),
    ...(isForAdmins ? [{ adminToken: operation.scopes }] : []),
  ]
}

// Parameters

const headerParameters: Record<string, OpenApiParameter> = {
  AccessToken: {
    name: 'access-token',
    in: 'header',
    description: 'The token of a token operation, an Admin token, or an operator token.',
    schema: { type: 'string' },
  },
  AppId: {
    name: 'app_id',
    in: 'header',
    required: true,
    description: 'The application that the call is about.',
    schema: { type: 'string' },
  },
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

function headersOf(operation: Operation): OpenApiReference[] {
  const { subject, groupHeader } = callerRules[operation.callers]
  const names = [
    'AccessToken',
    operation.callers !== 'operator' && 'AppId',
    subject !== 'unused' && 'UserId',
    groupHeader && 'GroupId',
  ].filter((name) => name !== false)
  return names.map((name) => ({ $ref: `#/components/parameters/${name}` }))
}

/** Query credentials, for operations with callers that may be unable to send headers. */
const queryCredentials: TProperties = {
  'access-token': optional(string({ description: 'stands in for the header' })),
  app_id: optional(string({ description: 'stands in for the header', maxLength: 32 })),
}

function queryParametersOf(
  operation: Operation,
  schemas: Record<string, JsonSchema>,
): OpenApiParameter[] {
  const parameters = {
    ...operation.query,
    ...(operation.credentials === 'query' ? queryCredentials : {}),
  }
  const required = requiredOf(parameters)
  return Object.entries(parameters).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...(schema.description !== undefined && { description: schema.description }),
    schema: plainSchema(schema, schemas),
  }))
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

function requestBodyOf(
  operation: Operation,
  schemas: Record<string, JsonSchema>,
): OpenApiOperation['requestBody'] {
  if (operation.takesFile)
    return { required: true, content: { 'multipart/form-data': { schema: uploadForm } } }
  if (isWholeBody(operation.body)) {
    const schema = plainSchema(operation.body.schema, schemas)
    const content: Content = {
      'application/json': { schema },
      ...(schema.type === 'string' && { 'text/plain': { schema } }),
    }
    return { description: bodyLimit(operation), required: true, content }
  }
  if (Object.keys(operation.body).length === 0) return undefined
  const example = operation.example && { examples: [operation.example] }
  const schema = plainSchema(object(operation.body, { ...example }), schemas)
  return {
    description: bodyLimit(operation),
    required: requiredOf(operation.body).length > 0,
    content: { 'application/json': { schema } },
  }
}

function bodyLimit(operation: Operation): string {
  return `At most ${maxBodyBytes(operation).toLocaleString('en')} bytes.`
}

// Answers

function successOf(operation: Operation, schemas: Record<string, JsonSchema>): OpenApiResponse {
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

const failureSchema: JsonSchema = {
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

const statusResponses = Object.fromEntries(
  realStatuses.map((status) => [`Status${status}`, describeStatus(status)]),
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

/** References to the other answers of an operation's path; an unknown path or method has none. */
function statusReferences(hasBody: boolean): Record<string, OpenApiReference> {
  const possible = realStatuses.filter(
    (status) => status !== 404 && status !== 405 && (hasBody || (status !== 413 && status !== 501)),
  )
  return Object.fromEntries(
    possible.map((status) => [status, { $ref: `#/components/responses/Status${status}` }]),
  )
}

const scopeTable = Object.entries(scopes)
  .map(([name, reach]) => `- ${name}: ${reach}`)
  .join('\n')

const securitySchemes = {
  accessToken: {
    type: 'apiKey',
    in: 'header',
    name: 'access-token',
    description: 'User tokens start with hmu_, operator tokens with hmo_.',
  },
  adminToken: {
    type: 'apiKey',
    in: 'header',
    name: 'access-token',
    description: `Admin tokens start with hma_. The roles of a requirement are the scopes that the token needs, all of them:\n\n${scopeTable}`,
  },
}
