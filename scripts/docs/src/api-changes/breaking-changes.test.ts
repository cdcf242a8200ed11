import { operations } from '@hermod/protocol'
import { type OpenApiDocument, openApiDocument } from '@hermod/protocol/openapi'
import { describe, expect, it } from 'vitest'
import { breakingChanges } from './breaking-changes.js'

const current = openApiDocument({
  version: '1.2.3',
  builtOperationIds: new Set(operations.map(({ id }) => id)),
  examples: {},
})

// biome-ignore lint/suspicious/noExplicitAny: tests change any part of a document
type Loose = any

/** The changes that an edit of the document makes for its clients. */
function changesOf(edit: (document: Loose) => void): string[] {
  const changed = JSON.parse(JSON.stringify(current))
  edit(changed)
  return breakingChanges(current, changed as OpenApiDocument)
}

/** The same the other way round: the edited document is the earlier one. */
function changesBack(edit: (document: Loose) => void): string[] {
  const changed = JSON.parse(JSON.stringify(current))
  edit(changed)
  return breakingChanges(changed as OpenApiDocument, current)
}

const send = (document: Loose) => document.paths['/message/send'].post
const sendBody = (document: Loose) => send(document).requestBody.content['application/json'].schema
const answer = (document: Loose, path: string, method = 'get') =>
  document.paths[path][method].responses[200].content['application/json'].schema
const form = 'multipart/form-data'
const groupId = (document: Loose) =>
  document.paths['/group/info'].get.parameters.find(({ name }: Loose) => name === 'group_id')

describe('breaking changes', () => {
  it('of a document to itself: none', () => {
    expect(changesOf(() => {})).toEqual([])
  })

  it.each<[string, (document: Loose) => void, string]>([
    [
      'a removed operation',
      (document) => delete document.paths['/message/send'].put,
      'PUT /message/send: was removed',
    ],
    [
      'another operationId',
      (document) => {
        send(document).operationId = 'message.post'
      },
      'POST /message/send: operationId was message.send and is message.post',
    ],
    [
      'a removed parameter',
      (document) => {
        document.paths['/group/info'].get.parameters = []
      },
      'GET /group/info: query parameter group_id was removed',
    ],
    [
      'a parameter of another type',
      (document) => {
        groupId(document).schema = { type: 'string' }
      },
      'GET /group/info: query parameter group_id was integer and is string',
    ],
    [
      'a new required parameter',
      (document) =>
        send(document).parameters.push({
          ...{ name: 'mood', in: 'query', required: true, schema: { type: 'string' } },
        }),
      'POST /message/send: query parameter mood was added and is required',
    ],
    [
      'a removed field of a body',
      (document) => delete sendBody(document).properties.ext,
      'POST /message/send: body.ext was removed',
    ],
    [
      'a new required field of a body',
      (document) => sendBody(document).required.push('ext'),
      'POST /message/send: body.ext became required',
    ],
    [
      'a removed value of an enumeration',
      (document) => sendBody(document).properties.type.enum.pop(),
      'POST /message/send: body.type has no longer the value',
    ],
    [
      'a narrower limit',
      (document) => {
        sendBody(document).properties.targets.maxItems = 3
      },
      'POST /message/send: body.targets maxItems is 3 and was 500',
    ],
    [
      'a new limit',
      (document) => {
        sendBody(document).properties.targets.items.minimum = 1
      },
      'POST /message/send: body.targets[] minimum is 1 and was unlimited',
    ],
    [
      'a removed field of an answer',
      (document) => delete answer(document, '/message/send', 'post').properties.msg_ids,
      'POST /message/send: answer.msg_ids was removed',
    ],
    [
      'a field of an answer that may be missing',
      (document) => {
        const { schemas } = document.components
        schemas.UserProfile.required.shift()
      },
      'GET /user/profile: answer.data',
    ],
    [
      'an answer of another type',
      (document) => {
        answer(document, '/message/send', 'post').properties.data = { type: 'string' }
      },
      'POST /message/send: answer.data was boolean or null and is string',
    ],
    [
      'a scope more',
      (document) => {
        send(document).security[1].adminToken = ['messages:send', 'app']
      },
      'POST /message/send: calls with appId and adminToken (messages:send) are no longer possible',
    ],
    [
      'callers fewer',
      (document) => {
        send(document).security = send(document).security.slice(1)
      },
      'POST /message/send: calls with appId and userToken are no longer possible',
    ],
    [
      'another default of a parameter',
      (document) => {
        const { parameters } = document.paths['/user/list'].get
        parameters.find(({ name }: Loose) => name === 'page_size').schema.default = 7
      },
      'GET /user/list: query parameter page_size default is 7 and was 50',
    ],
    [
      'another default of a field',
      (document) => {
        sendBody(document).properties.online_only.default = true
      },
      'POST /message/send: body.online_only default is true and was false',
    ],
    [
      'a condition that the comparison does not know',
      (document) => {
        sendBody(document).properties.targets.uniqueItems = true
      },
      'POST /message/send: body.targets uniqueItems is true and was not set',
    ],
    [
      'another name of a file in a form',
      (document) => {
        const { schema } = document.paths['/file/upload'].post.requestBody.content[form]
        schema.properties = { data: schema.properties.file }
        schema.required = ['data']
      },
      'POST /file/upload: body.file was removed',
    ],
    [
      'another right in the group',
      (document) => {
        document.paths['/group/ban'].post['x-hermod-right'] = 'destroy'
      },
      'POST /group/ban: needs the right destroy in the group and needed ',
    ],
    [
      'another code of a failure',
      (document) => {
        send(document)['x-hermod-errors'][0].code = 99999
      },
      'POST /message/send: has no longer the error 10000, user does not exist',
    ],
    [
      'another place of a token',
      (document) => {
        document.components.securitySchemes.userToken.name = 'authorization'
      },
      'credential userToken: was ',
    ],
    [
      'a removed header of webhooks',
      (document) => {
        const { post } = document.webhooks['contact.blocked']
        post.parameters = post.parameters.slice(1)
      },
      'webhook contact.blocked: header webhook-id was removed',
    ],
    [
      'a removed kind of event',
      (document) => delete document.webhooks['contact.blocked'],
      'webhook contact.blocked: was removed',
    ],
  ])('%s is one', (_, edit, sentence) => {
    expect(changesOf(edit).some((change) => change.startsWith(sentence))).toBe(true)
  })

  it.each<[string, (document: Loose) => void]>([
    ['an operation', (document) => delete document.paths['/message/send'].put],
    [
      'an optional parameter',
      (document) => {
        document.paths['/user/list'].get.parameters = []
      },
    ],
    ['an optional field of a body', (document) => delete sendBody(document).properties.ext],
    ['a value of an enumeration', (document) => sendBody(document).properties.type.enum.pop()],
    [
      'a field of an answer',
      (document) => delete answer(document, '/message/send', 'post').properties.msg_ids,
    ],
    [
      'room',
      (document) => {
        sendBody(document).properties.targets.maxItems = 3
      },
    ],
    [
      'a form of a list',
      (document) =>
        delete document.paths['/group/info/batch'].post.requestBody.content['application/json']
          .schema.properties.group_list['x-look-up'],
    ],
    ['a default', (document) => delete sendBody(document).properties.online_only.default],
    ['a failure', (document) => send(document)['x-hermod-errors'].pop()],
    [
      'callers',
      (document) => {
        send(document).security = send(document).security.slice(1)
      },
    ],
  ])('%s more is none', (_, edit) => {
    expect(changesBack(edit)).toEqual([])
  })
})
