import { describe, expect, it } from 'vitest'
import { callerRules } from '../callers.js'
import { errorCatalogue } from '../errors.js'
import { isWholeBody, type Operation } from '../operation.js'
import { object, type TSchema } from '../schema.js'
import { scopeNames } from '../scopes.js'
import { openSession, operations, operationsById, tags } from './index.js'

const pairs = operations.flatMap(({ methods, path, origin }) =>
  methods.map((method) => ({ name: `${method} ${path}`, origin })),
)

/** Every keyword that the server's decoder understands, and those that only describe. */
const keywordsByType: Record<string, readonly string[]> = {
  integer: ['format', 'enum', 'minimum', 'maximum', 'x-blank-is-absent'],
  number: ['format', 'minimum', 'maximum'],
  string: ['enum', 'minLength', 'maxLength', 'x-max-bytes', 'pattern', 'x-form'],
  boolean: [],
  array: ['items', 'minItems', 'maxItems', 'x-item-list', 'x-look-up', 'x-blank-is-absent'],
  object: ['properties', 'required', 'additionalProperties'],
}
const describing = ['type', 'title', 'description', 'default', 'examples']
const formats: Record<string, readonly string[]> = {
  integer: ['int32', 'int64'],
  number: ['double'],
}

function schemasOf(operation: Operation): TSchema[] {
  const body = isWholeBody(operation.body) ? [operation.body.schema] : Object.values(operation.body)
  return [
    ...Object.values(operation.query),
    ...body,
    operation.data,
    ...Object.values(operation.extras),
  ]
}

function withNested(schema: TSchema): TSchema[] {
  const nested = [
    schema.items,
    ...Object.values(schema.properties ?? {}),
    ...(schema.anyOf ?? []),
  ].filter((each) => each !== undefined)
  return [schema, ...nested.flatMap((each) => withNested(each as TSchema))]
}

function unknownKeywords(schema: TSchema): string[] {
  if (schema.anyOf)
    return Object.keys(schema).filter(
      (keyword) => ![...describing, 'anyOf', 'x-form'].includes(keyword),
    )
  const known = keywordsByType[schema.type]
  if (known === undefined) return [`type ${schema.type}`]
  const strange = Object.keys(schema).filter(
    (keyword) => !describing.includes(keyword) && !known.includes(keyword),
  )
  const isKnownFormat = schema.format === undefined || formats[schema.type]?.includes(schema.format)
  return isKnownFormat ? strange : [...strange, `format ${schema.format}`]
}

describe('operations', () => {
  it('have unique ids of dotted lower-case words', () => {
    expect(operationsById.size).toBe(operations.length)
    for (const { id } of operations) expect(id).toMatch(/^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$/)
  })

  it('that list tell the order, and how many entries a page or the whole list has', () => {
    const lists = operations.filter(
      ({ origin, query, data, methods }) =>
        origin !== 'operator' &&
        ('limit' in query || (data.type === 'array' && methods[0] === 'GET')),
    )
    expect(lists.length).toBeGreaterThan(15)
    for (const { id, description = '' } of lists) {
      expect(description, id).toMatch(/first|order|by (user ID|serial number)/i)
      expect(description, id).toMatch(/always the whole list|at most|a page|the newest [0-9,]+/)
    }
  })

  it('have unique method and path pairs', () => {
    const names = pairs.map(({ name }) => name)
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
  })

  it('cover the 108 operations and 157 pairs of the contract', () => {
    expect(operations.filter(({ origin }) => origin === 'contract')).toHaveLength(108)
    expect(pairs.filter(({ origin }) => origin === 'contract')).toHaveLength(157)
  })

  it('keep operator operations under /operator/v1, and only those', () => {
    for (const { path, callers, origin } of operations) {
      expect([path.startsWith('/operator/v1/'), callers === 'operator']).toEqual([
        origin === 'operator',
        origin === 'operator',
      ])
    }
  })

  it('name known tags, caller rules and errors, each error once', () => {
    for (const { id, tag, callers, errors } of operations) {
      expect(Object.keys(tags), id).toContain(tag)
      expect(Object.keys(callerRules), id).toContain(callers)
      expect(new Set(errors).size, id).toBe(errors.length)
      for (const error of errors) expect(Object.keys(errorCatalogue), id).toContain(error)
    }
  })

  it('name scopes, each once, exactly where Admin tokens may call, but for what strangers read', () => {
    for (const { id, callers, scopes } of [...operations, openSession]) {
      const isForAdmins = callerRules[callers].tokens.includes('admin')
      const isForStrangers = id === 'app.config' || id === 'app.user.name_check'
      expect(scopes.length > 0, id).toBe(isForAdmins && !isForStrangers)
      expect(new Set(scopes).size, id).toBe(scopes.length)
      for (const scope of scopes) expect(scopeNames, id).toContain(scope)
    }
  })

  it('name scopes by what they reach', () => {
    const withScopes = (...wanted: string[]) =>
      operations.filter(({ scopes }) => `${scopes}` === `${wanted}`).map(({ id }) => id)
    expect(withScopes('tokens:issue').toSorted()).toEqual([
      ...['token.exchange', 'token.id', 'token.issue', 'token.login', 'token.revoke', 'token.user'],
      ...[
        'user.identity.link',
        'user.identity.list',
        'user.identity.unlink',
        'user.password.change',
      ],
      ...['user.password.change_admin', 'user.register', 'user.register.anonymous'],
      ...['user.register.batch', 'user.register.push'],
    ])
    expect(withScopes('app', 'messages:read').every((id) => /^(events|webhook)\./.test(id))).toBe(
      true,
    )
    expect(withScopes('app')).toEqual(['push.certificate'])
    // The pushes of a user have the texts of messages.
    expect(withScopes('users:write', 'messages:read')).toEqual(['user.token.bind'])
    expect(openSession.scopes).toEqual(['messages:read'])
  })

  it('give no parameter twice, in query and body', () => {
    for (const { id, query, body } of operations) {
      const names = isWholeBody(body) ? [body.whole] : Object.keys(body)
      expect(
        names.filter((name) => name in query),
        id,
      ).toEqual([])
    }
  })

  it('take bodies only with methods that carry one', () => {
    for (const { id, methods, body } of operations)
      if (Object.keys(body).length > 0) expect(methods, id).not.toContain('GET')
  })

  it('use only schema keywords that the decoder knows', () => {
    for (const operation of operations) {
      const strange = schemasOf(operation).flatMap(withNested).flatMap(unknownKeywords)
      expect(strange, operation.id).toEqual([])
    }
  })

  it('describe every parameter and every field of an answer', () => {
    for (const operation of operations) {
      const { id, query, body, extras } = operation
      const objects = [
        object(query),
        isWholeBody(body) ? body.schema : object(body),
        object(extras),
        operation.data,
      ].flatMap(withNested)
      for (const { properties = {} } of objects) {
        for (const [name, property] of Object.entries<TSchema>(properties)) {
          const described = property.description ?? property.title
          expect(described, `${id}: ${name}`).toBeTruthy()
        }
      }
    }
  })

  it('bound every string and list that callers send, except an audience and the texts of a message, whose limits have errors of their own', () => {
    for (const { id, query, body } of operations) {
      const sent = [object(query), isWholeBody(body) ? body.schema : object(body)].flatMap(
        withNested,
      )
      for (const schema of sent) {
        const isText = schema.type === 'string' && !schema.enum
        if (isText && !schema.description?.includes('together at most 65,536 bytes'))
          expect(schema.maxLength, id).toBeGreaterThan(0)
        if (schema.type === 'array' && id !== 'push.notify')
          expect(schema.maxItems, id).toBeGreaterThan(0)
      }
    }
  })
})
