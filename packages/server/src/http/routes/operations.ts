/** The family of routes that are operations: their addresses and methods come from the definitions. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isWholeBody, type Operation } from '@hermod/protocol'
import type { FileAnswer } from '../../lib/system/file-answer.js'
import type { Call, Credentials, SignedFileRequest, Upload } from '../../pipeline/call.js'
import { asEnvelope, type Executor } from '../../pipeline/executor.js'
import { invalid, type QueryParameters } from '../../pipeline/parameters.js'
import type { Principal } from '../../pipeline/principal.js'
import type { AddressOf, BaseUrlOf } from '../address.js'
import { jsonValue, readBody, requireAnnouncedSize, streamBody, textValue } from '../body.js'
import type { Bounds } from '../bounds/bounds.js'
import { bindToProgress, readOnForAWhile } from '../deadlines.js'
import { openAnswer } from '../files/open-file.js'
import { readUploadForm } from '../files/upload-form.js'
import { parseQuery } from '../query.js'
import type { Responses } from '../responses.js'
import type { Route, RouteFamily } from './router.js'

export interface OperationRoutesOptions {
  readonly executor: Executor
  readonly responses: Responses
  readonly bounds: Bounds
  readonly operations: readonly Operation[]
  readonly addressOf: AddressOf
  readonly baseUrlOf: BaseUrlOf
  /** Who calls, whatever the headers say, because no one else can reach the socket. null: the credentials say it. */
  readonly principal: Principal | null
}

const maxBodyBytes = 1_048_576

export function operationRoutes(options: OperationRoutesOptions): RouteFamily {
  const exact = options.operations.flatMap((operation) => {
    const route = operation.takesFile
      ? uploadRoute(options, operation, operation.takesFile.maxBytes)
      : operationRoute(options, operation)
    const methods = operation.answersFile ? [...operation.methods, 'HEAD'] : operation.methods
    return methods.map((method): [string, string, Route] => [operation.path, method, route])
  })
  return { exact }
}

type ReadBody = Call['body']

const noBody: ReadBody = () => undefined

function operationRoute(options: OperationRoutesOptions, operation: Operation): Route {
  const { body } = operation
  const readValue = isWholeBody(body) && body.schema.type === 'string' ? textValue : jsonValue
  const { connections, bodies } = options.bounds
  const answer = answerer(options, operation)
  return (request, response, query) => {
    connections.requireRoom(request.socket)
    if (operation.answersFile) connections.requireRoomForFile(response)
    // GET and HEAD have no body that means anything (RFC 9110, section 9.3.1).
    if (request.method === 'GET' || request.method === 'HEAD') {
      request.resume()
      return answer(request, response, query, noBody)
    }
    requireAnnouncedSize(request, maxBodyBytes)
    const { 'content-type': contentType, 'content-encoding': contentEncoding } = request.headers
    return answer(request, response, query, () =>
      readBody(request, maxBodyBytes, bodies).then((bytes) =>
        readValue({ bytes, contentType, contentEncoding }),
      ),
    )
  }
}

/** For an operation whose body is a form with a file, which may be larger than what is read into memory. */
function uploadRoute(
  options: OperationRoutesOptions,
  operation: Operation,
  maxBytes: number,
): Route {
  const answer = answerer(options, operation)
  return async (request, response, query) => {
    const { connections } = options.bounds
    connections.requireRoom(request.socket)
    connections.requireRoomForFile(response)
    let arrived = (_bytes: number) => {}
    const body = streamBody(request, maxBytes, (bytes) => arrived(bytes))
    bindToProgress(request.socket, request)
    const { 'content-type': contentType, 'content-length': length } = request.headers
    const upload: Upload = {
      length: length === undefined ? null : Number(length),
      form(isTold) {
        arrived = isTold
        return readUploadForm(body, contentType)
      },
    }
    await answer(request, response, query, () => upload)
    // When the caller is refused, nothing reads the file.
    body.destroy()
    readOnForAWhile(request)
  }
}

function answerer(
  { executor, responses, ...source }: OperationRoutesOptions,
  operation: Operation,
) {
  return async (
    request: IncomingMessage,
    response: ServerResponse,
    queryText: string,
    body: ReadBody,
  ): Promise<void> => {
    const query = parseQuery(queryText)
    if (query === null) {
      const error = invalid(['the query must be percent-encoded UTF-8'])
      return responses.failure(request, response, error)
    }
    const requestId = responses.nextRequestId()
    const address = source.addressOf(request)
    const userAgent = request.headers['user-agent'] ?? ''
    const { principal } = source
    const baseUrl = source.baseUrlOf(request)
    // Written out, since every call would pay for a copy.
    const call: Call =
      principal === null
        ? {
            requestId,
            address,
            userAgent,
            baseUrl,
            query,
            body,
            credentials: credentialsOf(request, operation, query),
          }
        : { requestId, address, userAgent, baseUrl, query, body, principal }
    const open = (file: FileAnswer) => openAnswer(request, file)
    const reply = await executor.execute(operation, call, asEnvelope, open)
    responses.reply(request, response, reply, requestId)
  }
}

function credentialsOf(
  { headers }: IncomingMessage,
  operation: Operation,
  query: QueryParameters,
): Credentials {
  const { credentials } = operation
  const inQuery = credentials === 'query' ? query : noParameters
  return {
    appId: oneText(headers.app_id ?? inQuery.app_id),
    accessToken: oneText(headers['access-token'] ?? inQuery['access-token']),
    userId: oneText(headers.user_id),
    groupId: oneText(headers.group_id),
    signed: signedRequestOf(operation, query),
    ticket: credentials === 'ticket' ? oneText(query.ticket) : undefined,
  }
}

/** HEAD is signed as GET, whose answer it asks about. */
function signedRequestOf(
  { path, signedParameter }: Operation,
  query: QueryParameters,
): SignedFileRequest | undefined {
  if (signedParameter === null) return undefined
  const { store_token: storeToken, sdk_sign: signature, [signedParameter]: value } = query
  if (typeof storeToken !== 'string' || typeof signature !== 'string' || typeof value !== 'string')
    return undefined
  return { storeToken, signature, method: 'GET', target: `${path}?${signedParameter}=${value}` }
}

const noParameters: QueryParameters = {}

/** What is given several times becomes one text with a comma, as Node joins headers of ours; no valid value contains one. */
function oneText(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'object' ? value.join(', ') : value
}
