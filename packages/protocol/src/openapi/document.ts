/** The OpenAPI 3.1 document of the API, derived from the operations and their examples alone. */

import { callerRules, describeCallers } from '../callers.js'
import { type ErrorName, errorCatalogue } from '../errors.js'
import { type GroupRightName, groupRights } from '../group-rights.js'
import type { JsonSchema } from '../json-schema.js'
import type { Method, Operation } from '../operation.js'
import { operations, tags } from '../operations/index.js'
import type { Scope } from '../scopes.js'
import { failureSchema, statusReferences, statusResponses, successOf } from './answers.js'
import { exampleComponents, type OperationExamples } from './examples.js'
import type { OpenApiParameter, OpenApiReference, OpenApiResponse } from './parts.js'
import {
  headerParameters,
  type OpenApiRequestBody,
  parametersOf,
  requestBodyOf,
} from './requests.js'
import {
  type OpenApiSecurityScheme,
  type SecurityRequirement,
  securityOf,
  securitySchemes,
} from './security.js'
import { describeWebhooks, type OpenApiWebhook } from './webhooks.js'

/**
 * One method of an operation; members that begin with x-hermod are for our own pages and commands.
 */
export interface OpenApiOperation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description: string
  /** Twins only: their operation has another method, which callers use. */
  readonly deprecated?: true
  /** The alternatives by which it may be called. */
  readonly security: readonly SecurityRequirement[]
  readonly parameters: readonly (OpenApiParameter | OpenApiReference)[]
  readonly requestBody?: OpenApiRequestBody
  readonly responses: Readonly<Record<string, OpenApiResponse | OpenApiReference>>
  /** The operationId of the method that a twin, which does the same, stands beside. */
  readonly 'x-hermod-twin-of'?: string
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
  readonly servers: readonly { readonly url: string; readonly description: string }[]
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>
  /** The requests to endpoints of webhooks, by kind of event. */
  readonly webhooks: Readonly<Record<string, { readonly post: OpenApiWebhook }>>
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>
    readonly parameters: Readonly<Record<string, OpenApiParameter>>
    readonly responses: Readonly<Record<string, OpenApiResponse>>
    readonly securitySchemes: Readonly<Record<string, OpenApiSecurityScheme>>
    readonly examples: Readonly<Record<string, { readonly value: unknown }>>
  }
}

/** Contents of the document besides the operations. */
export interface OpenApiOptions {
  /** Version of the service, not of the API. */
  readonly version: string
  /** Ids of the available operations; all others answer code 50100. */
  readonly builtOperationIds: ReadonlySet<string>
  readonly examples: OperationExamples
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
  examples,
  serverUrl = '/',
}: OpenApiOptions): OpenApiDocument {
  const schemas: Record<string, JsonSchema> = { Failure: failureSchema }
  const paths: Record<string, Record<string, OpenApiOperation>> = {}
  for (const operation of operations) {
    const planned = !builtOperationIds.has(operation.id)
    for (const method of operation.methods) {
      paths[operation.path] = {
        ...paths[operation.path],
        [method.toLowerCase()]: describeMethod(operation, method, { schemas, planned, examples }),
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
      contact: { name: 'Hermod maintainers' },
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: serverUrl, description: 'This service' }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    webhooks: describeWebhooks(schemas),
    components: {
      schemas,
      parameters: headerParameters,
      responses: statusResponses,
      securitySchemes,
      examples: exampleComponents(examples),
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
  readonly examples: OperationExamples
}

function describeMethod(
  operation: Operation,
  method: Method,
  { schemas, planned, examples }: Surroundings,
): OpenApiOperation {
  const example = examples[operation.id] ?? {}
  const requestBody = requestBodyOf(operation, schemas, example)
  const main = mainMethod(operation)
  const isTwin = method !== main
  return {
    operationId: isTwin ? `${operation.id}.${method.toLowerCase()}` : operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    description: [
      isTwin && `The same as ${main}, for callers that use ${method}.`,
      operation.description,
      `Callers: ${describeCallers(operation.callers, operation.scopes)}`,
      operation.right &&
        `Right in the group: ${operation.right} (${groupRights[operation.right].meaning}).`,
      errorSentence(operation.errors),
      planned && plannedSentence,
    ]
      .filter(Boolean)
      .join('\n\n'),
    ...(isTwin && { deprecated: true as const }),
    security: securityOf(operation),
    parameters: parametersOf(operation, schemas, example),
    ...(requestBody && { requestBody }),
    responses: {
      200: successOf(operation, schemas, example.answer),
      ...statusReferences(requestBody !== undefined),
    },
    ...(isTwin && { 'x-hermod-twin-of': operation.id }),
    'x-hermod-operation': operation.id,
    ...(operation.description !== undefined && { 'x-hermod-notes': operation.description }),
    'x-hermod-callers': operation.callers,
    ...(isForAdmins(operation) && { 'x-hermod-scopes': operation.scopes }),
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
 * Returns the method whose operationId is the id itself: POST, or the only one. The other method of
 * a pair is a twin.
 */
export function mainMethod({ methods }: Operation): Method {
  const [first] = methods
  if (first === undefined) throw new Error('an operation has at least one method')
  return methods.includes('POST') ? 'POST' : first
}

function errorSentence(errors: readonly ErrorName[]): string {
  if (errors.length === 0) return ''
  return `Errors: ${errors.map((name) => `${errorCatalogue[name].code} ${errorCatalogue[name].text}`).join('; ')}.`
}

function isForAdmins({ callers }: Operation): boolean {
  return callerRules[callers].tokens.includes('admin')
}
