/** The credentials of calls as security schemes. */
import { callerRules, type TokenKind } from '../callers.js'
import type { Operation } from '../operation.js'
import { scopes } from '../scopes.js'
import type { OpenApiParameter } from './parts.js'

/** A way to prove who calls: a header or a query parameter. */
export interface OpenApiSecurityScheme {
  readonly type: 'apiKey'
  readonly in: 'header' | 'query'
  readonly name: string
  readonly description: string
}

const scopeTable = Object.entries(scopes)
  .map(([name, reach]) => `- ${name}: ${reach}`)
  .join('\n')

/** The schemes by their names in requirements. */
export const securitySchemes = {
  appId: {
    type: 'apiKey',
    in: 'header',
    name: 'app_id',
    description: 'The application that the call is about.',
  },
  userToken: {
    type: 'apiKey',
    in: 'header',
    name: 'access-token',
    description: 'The token of a token operation; it starts with hmu_.',
  },
  adminToken: {
    type: 'apiKey',
    in: 'header',
    name: 'access-token',
    description: `Admin tokens start with hma_. The roles of a requirement are the scopes that the token needs, all of them:\n\n${scopeTable}`,
  },
  operatorToken: {
    type: 'apiKey',
    in: 'header',
    name: 'access-token',
    description: 'Operator tokens start with hmo_; they belong to no application.',
  },
  appIdInQuery: {
    type: 'apiKey',
    in: 'query',
    name: 'app_id',
    description: 'The application, for elements of a page, which cannot send headers.',
  },
  accessTokenInQuery: {
    type: 'apiKey',
    in: 'query',
    name: 'access-token',
    description: 'A user token or an Admin token, for elements of a page.',
  },
  storeToken: {
    type: 'apiKey',
    in: 'query',
    name: 'store_token',
    description: 'The file token of a Token record, in place of an access token.',
  },
  sdkSign: {
    type: 'apiKey',
    in: 'query',
    name: 'sdk_sign',
    description: 'The signature of the request under the file key of a Token record.',
  },
} as const satisfies Readonly<Record<string, OpenApiSecurityScheme>>

/** The name of a scheme. */
export type SecuritySchemeName = keyof typeof securitySchemes

/** Schemes that are needed together, each with the scopes that its token needs. */
export type SecurityRequirement = Readonly<Partial<Record<SecuritySchemeName, readonly string[]>>>

/** Returns the alternatives by which an operation may be called. */
export function securityOf(operation: Operation): readonly SecurityRequirement[] {
  const { tokens } = callerRules[operation.callers]
  return [
    ...tokens.map((kind) => requirementOf(kind, operation)),
    ...(operation.credentials === 'query' ? [{ appIdInQuery: [], accessTokenInQuery: [] }] : []),
    ...(operation.signedParameter === null
      ? []
      : [{ appIdInQuery: [], storeToken: [], sdkSign: [] }]),
  ]
}

function requirementOf(kind: TokenKind, { scopes: needed }: Operation): SecurityRequirement {
  switch (kind) {
    case 'none':
      return { appId: [] }
    case 'user':
      return { appId: [], userToken: [] }
    case 'admin':
      return { appId: [], adminToken: needed }
    case 'operator':
      return { operatorToken: [] }
    case 'ticket':
      // The ticket is a parameter.
      return {}
  }
}

/** Returns the headers and query parameters of an operation's credentials, each once. */
export function credentialParameters(
  security: readonly SecurityRequirement[],
): readonly OpenApiParameter[] {
  const schemesOf = (requirement: SecurityRequirement): OpenApiSecurityScheme[] =>
    Object.keys(requirement).map((name) => securitySchemes[name as SecuritySchemeName])
  const keyOf = (scheme: OpenApiSecurityScheme) => `${scheme.in} ${scheme.name}`
  const byKey = new Map(security.flatMap(schemesOf).map((scheme) => [keyOf(scheme), scheme]))
  return [...byKey].map(([key, scheme]) => ({
    name: scheme.name,
    in: scheme.in,
    required: security.every((each) => schemesOf(each).some((other) => keyOf(other) === key)),
    description: key === 'header access-token' ? anyToken : scheme.description,
    schema: { type: 'string' },
  }))
}

const anyToken = 'The token of a token operation, an Admin token, or an operator token.'
