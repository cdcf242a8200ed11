/** Recorded calls of operations, and the call as a shell command. */
import { type CallerRule, callerRules, type TokenKind } from '../callers.js'
import { lastSegment } from '../json-schema.js'
import type { OpenApiDocument, OpenApiOperation } from './document.js'
import { exampleUserId } from './examples.js'
import type { Content, OpenApiParameter } from './parts.js'

/** A call of an operation: its credentials, the values of its parameters, and its body if it has one. */
export interface ReferenceRequest {
  /** True when it names the application. */
  readonly namesApp: boolean
  /** The kind of its token; null: none. */
  readonly token: 'user' | 'admin' | 'operator' | null
  /** The query as its address has it; "" for none. */
  readonly search: string
  readonly query: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: unknown
}

/** A method of an operation in the document. */
export interface MethodEntry {
  readonly path: string
  readonly method: string
  readonly operation: OpenApiOperation
}

/** Returns the recorded call of an operation, from where the document has its parts. */
export function recordedRequest(
  document: OpenApiDocument,
  { operation }: MethodEntry,
  parameters: readonly OpenApiParameter[],
): ReferenceRequest {
  const callers = operation['x-hermod-callers'] as CallerRule
  const { tokens } = callerRules[callers]
  const query = parameters.flatMap(({ name, example }): [string, unknown][] =>
    example === undefined ? [] : [[name, example]],
  )
  const pairs = query.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
  return {
    namesApp: !tokens.some((kind) => kind === 'operator' || kind === 'ticket'),
    token: tokenOf(tokens),
    search: pairs.length === 0 ? '' : `?${pairs.join('&')}`,
    query: Object.fromEntries(query),
    headers: callers === 'adminForUser' ? { user_id: exampleUserId } : {},
    body: exampleIn(document, operation.requestBody?.content),
  }
}

/** Returns the kind with the fewest rights. */
function tokenOf(tokens: readonly TokenKind[]): ReferenceRequest['token'] {
  if (tokens.includes('none')) return null
  return (['user', 'admin', 'operator'] as const).find((kind) => tokens.includes(kind)) ?? null
}

/** Returns the example of the first media type that has one. */
export function exampleIn({ components }: OpenApiDocument, content: Content = {}): unknown {
  for (const { examples } of Object.values(content))
    for (const { $ref } of Object.values(examples ?? {}))
      return components.examples[lastSegment($ref)]?.value
  return undefined
}

const tokenVariables = { user: '$TOKEN', admin: '$ADMIN_TOKEN', operator: '$OPERATOR_TOKEN' }

/** Returns a call as a shell command. */
export function exampleCall(
  { path, method, operation }: MethodEntry,
  { namesApp, token, search, headers, body }: ReferenceRequest,
): string {
  const takesFile = operation.requestBody?.content['multipart/form-data'] !== undefined
  const lines = [
    namesApp ? 'app_id: $APP_ID' : '',
    token === null ? '' : `access-token: ${tokenVariables[token]}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    body === undefined ? '' : 'content-type: application/json',
  ].filter((header) => header !== '')
  return [
    `curl -X ${method} "$HERMOD_URL${path}${search}"`,
    ...lines.map((header) => `-H "${header}"`),
    ...(body === undefined ? [] : [`-d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`]),
    ...(takesFile ? ["-F 'file=@picture.png'"] : []),
  ].join(' \\\n  ')
}
