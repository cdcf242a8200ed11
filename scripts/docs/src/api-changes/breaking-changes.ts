/** The changes between two documents of the API that break clients of the earlier one. */
import type { Content, OpenApiDocument, OpenApiParameter } from '@hermod/protocol/openapi'
import { SchemaComparison } from './schema-comparison.js'

type DescribedOperation = OpenApiDocument['paths'][string][string]

/**
 * Returns a sentence for each change. Additions that clients may ignore are none: operations,
 * optional parameters, fields of answers, and values of enumerations.
 */
export function breakingChanges(before: OpenApiDocument, after: OpenApiDocument): string[] {
  const comparison = new DocumentComparison(before, after)
  return [
    ...operationChanges(before, after, comparison),
    ...webhookChanges(before, after),
    ...credentialChanges(before.components.securitySchemes, after.components.securitySchemes),
  ]
}

type Schemes = OpenApiDocument['components']['securitySchemes']

function credentialChanges(before: Schemes, after: Schemes): string[] {
  const placeOf = (scheme: Schemes[string] | undefined) =>
    scheme && JSON.stringify({ ...scheme, description: undefined })
  return Object.keys(before)
    .filter((name) => placeOf(before[name]) !== placeOf(after[name]))
    .map(
      (name) => `credential ${name}: was ${placeOf(before[name])} and is ${placeOf(after[name])}`,
    )
}

function operationChanges(
  before: OpenApiDocument,
  after: OpenApiDocument,
  comparison: DocumentComparison,
): string[] {
  return Object.entries(before.paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, earlier]) => {
      const later = after.paths[path]?.[method]
      const where = `${method.toUpperCase()} ${path}`
      if (later === undefined) return [`${where}: was removed`]
      return comparison.operation(earlier, later).map((change) => `${where}: ${change}`)
    }),
  )
}

function webhookChanges(before: OpenApiDocument, after: OpenApiDocument): string[] {
  return Object.entries(before.webhooks).flatMap(([kind, { post }]) => {
    const later = after.webhooks[kind]?.post
    if (later === undefined) return [`webhook ${kind}: was removed`]
    const comparison = new SchemaComparison('output', before, after)
    comparison.compare(
      schemaOf(post.requestBody.content, json),
      schemaOf(later.requestBody.content, json),
      '',
    )
    const sent = new Set(later.parameters.map(({ name }) => name))
    const lost = post.parameters.filter(({ name }) => !sent.has(name))
    const changes = [...lost.map(({ name }) => `header ${name} was removed`), ...comparison.changes]
    return changes.map((change) => `webhook ${kind}: ${change}`)
  })
}

class DocumentComparison {
  constructor(
    private readonly before: OpenApiDocument,
    private readonly after: OpenApiDocument,
  ) {}

  operation(earlier: DescribedOperation, later: DescribedOperation): string[] {
    return [
      ...(earlier.operationId === later.operationId
        ? []
        : [`operationId was ${earlier.operationId} and is ${later.operationId}`]),
      ...this.#parameters(earlier, later),
      ...this.#bodies(earlier, later),
      ...this.#answers(earlier, later),
      ...lostCallers(earlier, later),
      ...otherRight(earlier, later),
      ...lostErrors(earlier, later),
    ]
  }

  #parameters(earlier: DescribedOperation, later: DescribedOperation): string[] {
    const known = parametersOf(this.before, earlier)
    const offered = parametersOf(this.after, later)
    const added = [...offered].filter(([key, { required }]) => required && !known.has(key))
    const comparison = this.#comparison('input')
    const changes = [...known].flatMap(([key, parameter]) => {
      const now = offered.get(key)
      if (now === undefined) return [`${key} was removed`]
      comparison.compare(parameter.schema, now.schema, key)
      return now.required && !parameter.required ? [`${key} became required`] : []
    })
    return [
      ...changes,
      ...comparison.changes,
      ...added.map(([key]) => `${key} was added and is required`),
    ]
  }

  #bodies(earlier: DescribedOperation, later: DescribedOperation): string[] {
    const [known, offered] = [earlier.requestBody, later.requestBody]
    if (known === undefined) return offered?.required ? ['a body became required'] : []
    if (offered === undefined) return ['the body was removed']
    const becameRequired = offered.required && !known.required
    return [
      ...(becameRequired ? ['a body became required'] : []),
      ...lostTypes(known.content, offered.content, 'a body'),
      ...this.#compared('input', known.content, offered.content, 'body'),
    ]
  }

  #answers(earlier: DescribedOperation, later: DescribedOperation): string[] {
    const [known, offered] = [contentOf(earlier), contentOf(later)]
    return [
      ...lostTypes(known, offered, 'an answer'),
      ...this.#compared('output', known, offered, 'answer'),
    ]
  }

  #compared(direction: 'input' | 'output', known: Content, offered: Content, path: string) {
    const comparison = this.#comparison(direction)
    for (const type of Object.keys(known).filter((each) => each in offered))
      comparison.compare(schemaOf(known, type), schemaOf(offered, type), path)
    return comparison.changes
  }

  #comparison(direction: 'input' | 'output'): SchemaComparison {
    return new SchemaComparison(direction, this.before, this.after)
  }
}

function contentOf({ responses }: DescribedOperation): Content {
  const success = responses[200]
  return success !== undefined && 'content' in success ? (success.content ?? {}) : {}
}

const json = 'application/json'

function schemaOf(content: Content, type: string) {
  return content[type]?.schema ?? {}
}

function lostTypes(known: Content, offered: Content, part: string): string[] {
  return Object.keys(known)
    .filter((type) => !(type in offered))
    .map((type) => `${part} of ${type} is no longer possible`)
}

/** By their place and name. */
function parametersOf(
  { components }: OpenApiDocument,
  { parameters }: DescribedOperation,
): Map<string, OpenApiParameter> {
  const resolved = parameters.map((parameter) =>
    '$ref' in parameter
      ? (components.parameters[parameter.$ref.split('/').at(-1) as string] as OpenApiParameter)
      : parameter,
  )
  return new Map(resolved.map((each) => [`${each.in} parameter ${each.name}`, each]))
}

/** Each way to call that was possible must be so with the same tokens and scopes. */
function lostCallers(earlier: DescribedOperation, later: DescribedOperation): string[] {
  const isKept = (known: DescribedOperation['security'][number]) =>
    later.security.some((offered) =>
      Object.entries(offered).every(
        ([scheme, scopes]) =>
          scopes?.every((scope) => known[scheme as keyof typeof known]?.includes(scope) ?? false) &&
          scheme in known,
      ),
    )
  return earlier.security
    .filter((known) => !isKept(known))
    .map((known) => `calls with ${described(known)} are no longer possible`)
}

/** Another right in the group has other holders. */
function otherRight(earlier: DescribedOperation, later: DescribedOperation): string[] {
  const [was, is] = [earlier, later].map((each) => each['x-hermod-right'])
  return is === undefined || was === is
    ? []
    : [`needs the right ${is} in the group and needed ${was ?? 'none'}`]
}

/** Clients tell failures apart by their codes. */
function lostErrors(earlier: DescribedOperation, later: DescribedOperation): string[] {
  const kept = new Set(later['x-hermod-errors'].map(({ code }) => code))
  return earlier['x-hermod-errors']
    .filter(({ code }) => !kept.has(code))
    .map(({ code, text }) => `has no longer the error ${code}, ${text}`)
}

function described(requirement: DescribedOperation['security'][number]): string {
  const words = Object.entries(requirement).map(([scheme, scopes]) =>
    scopes?.length ? `${scheme} (${scopes.join(', ')})` : scheme,
  )
  return words.join(' and ') || 'no credential'
}
