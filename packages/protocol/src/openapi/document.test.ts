import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { lookUp, nodesOf } from '../../test/document-nodes.js'
import { errorCatalogue } from '../errors.js'
import { committedKinds } from '../events/index.js'
import { operations, sendMessage } from '../operations/index.js'
import * as resources from '../resources/index.js'
import { type OpenApiOperation, openApiDocument } from './document.js'
import type { OperationExamples } from './examples.js'

const examples: OperationExamples = JSON.parse(
  readFileSync(new URL('../../assets/openapi-examples.json', import.meta.url), 'utf8'),
)
const document = openApiDocument({
  version: '1.2.3',
  builtOperationIds: new Set([sendMessage.id]),
  serverUrl: 'https://im.example',
  examples,
})
/** What a client receives, free of anything that JSON cannot carry. */
const served = JSON.parse(JSON.stringify(document)) as typeof document
const methods = Object.entries(served.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    operation,
  })),
)

function operationAt(method: string, path: string): OpenApiOperation {
  const found = served.paths[path]?.[method]
  if (!found) throw new Error(`no ${method} ${path}`)
  return found
}

describe('the OpenAPI document', () => {
  it('contains every method and path pair of every operation, each with an operationId of its own', () => {
    const expected = operations.flatMap((operation) =>
      operation.methods.map((method) => `${method} ${operation.path}`),
    )
    expect(methods.map(({ name }) => name).sort()).toEqual(expected.sort())
    expect(new Set(methods.map(({ operation }) => operation.operationId)).size).toBe(methods.length)
  })

  it('describes the request of every kind of event with its signature, the envelope and the payload', () => {
    const kinds = [...committedKinds, 'events.missed', 'webhook.test']
    expect(Object.keys(served.webhooks).sort()).toEqual(kinds.sort())
    const { post: blocked } = served.webhooks['contact.blocked'] ?? {}
    expect(blocked?.parameters.map(({ name }) => name)).toEqual([
      'webhook-id',
      'webhook-timestamp',
      'webhook-signature',
    ])
    const schema = blocked?.requestBody.content['application/json']?.schema
    expect(schema?.required).toEqual(['id', 'type', 'timestamp', 'app_id', 'cursor', 'key', 'data'])
    expect(schema?.properties).toMatchObject({
      id: { type: 'string' },
      type: { const: 'contact.blocked' },
      timestamp: { format: 'int64' },
      data: { type: 'object', required: ['actor_id', 'user_ids'] },
    })
    const ids = [
      ...methods.map(({ operation }) => operation.operationId),
      ...Object.values(served.webhooks).map(({ post }) => post.operationId),
    ]
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('is plain JSON: nothing is lost or changed when it is served', () => {
    expect(served).toEqual(document)
  })

  it('resolves every reference', () => {
    const references = nodesOf(served).flatMap((node) =>
      typeof node.$ref === 'string' ? [node.$ref] : [],
    )
    expect(references.length).toBeGreaterThan(0)
    expect(references.filter((reference) => lookUp(served, reference) === undefined)).toEqual([])
  })

  it('requires only properties that exist', () => {
    for (const { properties, required, title } of nodesOf(served)) {
      if (!Array.isArray(required)) continue
      const known = Object.keys(properties as object)
      expect(
        required.filter((name) => !known.includes(name)),
        String(title),
      ).toEqual([])
    }
  })

  it('gives every title to one schema only', () => {
    const titles = Object.values(resources).flatMap((value) =>
      'title' in value ? [value.title as string] : [],
    )
    expect(titles.filter((title, index) => titles.indexOf(title) !== index)).toEqual([])
    for (const title of titles) expect(served.components.schemas[title]?.title, title).toBe(title)
  })

  it('declares no parameter of an operation twice', () => {
    for (const { name, operation } of methods) {
      const keys = operation.parameters.map((parameter) =>
        JSON.stringify('$ref' in parameter ? parameter.$ref : [parameter.in, parameter.name]),
      )
      expect(new Set(keys).size, name).toBe(keys.length)
    }
  })

  it('marks what is planned and says what it answers', () => {
    const send = operationAt('post', '/message/send')
    const group = operationAt('post', '/group/create')
    expect(send['x-hermod-status']).toBeUndefined()
    expect(group['x-hermod-status']).toBe('planned')
    expect(group.description).toContain(String(errorCatalogue.not_built.code))
  })

  it('wraps data in the envelope, null on failure, with the extras beside it', () => {
    const schema = operationAt('put', '/message/send').responses[200]
    expect(schema).toMatchObject({
      content: {
        'application/json': {
          schema: {
            properties: {
              data: { anyOf: [{ type: 'boolean' }, { type: 'null' }] },
              msg_ids: { type: 'array' },
            },
          },
        },
      },
    })
  })

  it('takes a whole body as JSON or as plain text, and a DELETE body as it is', () => {
    expect(Object.keys(operationAt('put', '/user/private').requestBody?.content ?? {})).toEqual([
      'application/json',
      'text/plain',
    ])
    expect(operationAt('delete', '/user/push/tag').requestBody?.required).toBe(true)
  })

  it('offers the headers that the caller rule knows', () => {
    const names = (method: string, path: string) =>
      operationAt(method, path).parameters.flatMap((parameter) =>
        '$ref' in parameter ? [parameter.$ref.split('/').at(-1)] : [],
      )
    expect(names('post', '/token/id')).toEqual([])
    expect(names('get', '/user/profile')).toEqual(['UserId'])
    expect(names('post', '/group/kick')).toEqual(['UserId', 'GroupId'])
    expect(names('get', '/operator/v1/app/list')).toEqual([])
  })

  it('names the right in the group that an operation needs', () => {
    const declared = operations.flatMap(({ id, methods, right }) =>
      right === undefined ? [] : methods.map(() => [id, right]),
    )
    const described = methods.flatMap(
      ({ operation: { 'x-hermod-operation': id, 'x-hermod-right': right } }) =>
        right ? [[id, right]] : [],
    )
    expect(described.toSorted()).toEqual(declared.toSorted())
    expect(operationAt('delete', '/group/kick')['x-hermod-right']).toBe('moderate')
    expect(operationAt('post', '/group/kick').description).toContain(
      'Right in the group: moderate (kick, ban, unban, block).',
    )
    expect(operationAt('post', '/group/create')).not.toHaveProperty('x-hermod-right')
  })

  it('names the scopes of an Admin token, as roles of its requirement too', () => {
    expect(operationAt('get', '/user/list')).toMatchObject({
      'x-hermod-scopes': ['users:read'],
      security: [{ appId: [], adminToken: ['users:read'] }],
    })
    expect(operationAt('post', '/user/token/bind')).toMatchObject({
      security: [
        { appId: [], userToken: [] },
        { appId: [], adminToken: ['users:write', 'messages:read'] },
      ],
    })
    expect(operationAt('post', '/user/token/bind').description).toContain(
      'An Admin token needs the scopes users:write and messages:read.',
    )
    expect(operationAt('get', '/app/config').security).toEqual([
      { appId: [] },
      { appId: [], userToken: [] },
      { appId: [], adminToken: [] },
    ])
    expect(operationAt('get', '/operator/v1/app/list')).toMatchObject({
      security: [{ operatorToken: [] }],
    })
    expect(operationAt('get', '/operator/v1/app/list')).not.toHaveProperty('x-hermod-scopes')
  })

  it('names the credentials of files, which may come in the query', () => {
    expect(operationAt('get', '/file/download/chat').security).toEqual([
      { appId: [], userToken: [] },
      { appId: [], adminToken: ['messages:read'] },
      { appIdInQuery: [], accessTokenInQuery: [] },
      { appIdInQuery: [], storeToken: [], sdkSign: [] },
    ])
    expect(operationAt('post', '/file/upload').security).toEqual([{}])
    const used = methods.flatMap(({ operation }) => operation.security.flatMap(Object.keys))
    expect(new Set(used)).toEqual(new Set(Object.keys(served.components.securitySchemes)))
  })

  it('passes no credential as a parameter that clients have to give in each call', () => {
    for (const { name, operation } of methods)
      for (const parameter of operation.parameters)
        expect('$ref' in parameter ? 'query' : parameter.in, name).toBe('query')
    const headers = Object.values(served.components.parameters).map((each) => each.name)
    expect(headers).toEqual(['user_id', 'group_id'])
  })

  it('marks the second method of an operation as a twin of the first', () => {
    const twins = methods.filter(({ operation }) => operation['x-hermod-twin-of'] !== undefined)
    expect(twins).toHaveLength(methods.length - operations.length)
    for (const { operation, name } of methods)
      expect(operation.deprecated === true, name).toBe('x-hermod-twin-of' in operation)
    expect(operationAt('delete', '/group/kick')).toMatchObject({
      operationId: 'group.kick.delete',
      'x-hermod-twin-of': operationAt('post', '/group/kick').operationId,
    })
  })

  it('describes the answers whose HTTP status is always real', () => {
    expect(Object.keys(served.components.responses)).toEqual(
      [400, 413, 429, 500, 501, 503].map((status) => `Status${status}`),
    )
  })
})
