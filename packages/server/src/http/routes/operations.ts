/** The family of routes that are operations: their addresses and methods come from the definitions. */
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isWholeBody, maxBodyBytes, type Operation } from '@hermod/protocol'
import { bindToProgress } from '../../edge/deadlines.js'
import type { Edge } from '../../edge/edge.js'
import { droppedHeaders, isForwarded } from '../../edge/forwarded.js'
import {
  type Call,
  type Credentials,
  movesFiles,
  type Reply,
  type SignedFileRequest,
  type UploadParameters,
} from '../../pipeline/call.js'
import { asEnvelope, asLines, type Executor } from '../../pipeline/executor.js'
import { type DownloadReply, FileCalls } from '../../pipeline/file-calls.js'
import { invalid, type QueryParameters } from '../../pipeline/parameters.js'
import type { Principal } from '../../pipeline/principal.js'
import { jsonValue, textValue } from '../bodies/body-value.js'
import { discardBody } from '../bodies/discard-body.js'
import { readBody } from '../bodies/read-body.js'
import { requireAnnouncedSize } from '../bodies/receive-body.js'
import { UploadBody } from '../bodies/upload-body.js'
import { type OpenedFile, openAnswer } from '../files/open-file.js'
import { readUploadForm } from '../files/upload-form.js'
import { parseQuery } from '../query.js'
import type { Responses } from '../responses.js'
import type { Route, RouteFamily } from './router.js'

interface OperationRoutesOptions {
  readonly executor: Executor
  readonly responses: Responses
  readonly edge: Edge
  readonly operations: readonly Operation[]
  /**
   * The principal of every call on a socket that only one caller can reach; null: the credentials
   * of each request say it.
   */
  readonly principal: Principal | null
}

/** Returns the routes of operations by path and method; those that answer files answer HEAD too. */
export function operationRoutes(options: OperationRoutesOptions): RouteFamily {
  const exact = options.operations.flatMap((operation) => {
    const route = routeOf(options, operation)
    const methods = operation.answersFile ? [...operation.methods, 'HEAD'] : operation.methods
    return methods.map((method): [string, string, Route] => [operation.path, method, route])
  })
  return { exact }
}

function routeOf(options: OperationRoutesOptions, operation: Operation): Route {
  const { executor } = options
  if (operation.takesFile) return uploadRoute(options, operation, operation.takesFile.maxBytes)
  if (!movesFiles(operation)) {
    const { lines } = operation
    const writeLines = lines === null ? asEnvelope : asLines(lines)
    return operationRoute(options, operation, (request, call) =>
      executor.execute(operation, call, wantsLines(request, operation) ? writeLines : asEnvelope),
    )
  }
  const files = new FileCalls(executor)
  return operationRoute(
    options,
    operation,
    operation.answersFile
      ? (request, call) => files.send(operation, call, (file) => openAnswer(request, file))
      : (_, call) => files.receive(operation, call, asEnvelope, null),
  )
}

type ReadBody = Call['body']

const noBody: ReadBody = () => undefined

/** Executes the call of a request. */
type Execute = (
  request: IncomingMessage,
  call: Call,
) => Promise<Reply<string> | DownloadReply<OpenedFile>>

function operationRoute(
  options: OperationRoutesOptions,
  operation: Operation,
  execute: Execute,
): Route {
  const { body } = operation
  const maxBytes = maxBodyBytes(operation)
  const readValue = isWholeBody(body) && body.schema.type === 'string' ? textValue : jsonValue
  const { connections, bodies } = options.edge
  const answer = answerer(options, operation)
  return (request, response, query) => {
    connections.requireRoom(request.socket)
    if (operation.answersFile) connections.requireRoomForFile(response)
    // A body of GET or HEAD has no meaning (RFC 9110, section 9.3.1).
    if (request.method === 'GET' || request.method === 'HEAD') {
      discardBody(request)
      return answer({ request, response, query, body: noBody, execute })
    }
    requireAnnouncedSize(request, maxBytes)
    const { 'content-type': contentType, 'content-encoding': contentEncoding } = request.headers
    const readParsed: ReadBody = (arrived) =>
      readBody(request, maxBytes, bodies).then((bytes) => {
        arrived(bytes.length)
        return readValue({ bytes, contentType, contentEncoding })
      })
    return answer({ request, response, query, body: readParsed, execute })
  }
}

/**
 * Returns the route of an operation whose body is a form with a file, which may be larger than what
 * is read into memory.
 */
function uploadRoute(
  options: OperationRoutesOptions,
  operation: Operation,
  maxBytes: number,
): Route {
  const answer = answerer(options, operation)
  const files = new FileCalls(options.executor)
  return async (request, response, query) => {
    const { connections, bodies } = options.edge
    connections.requireRoom(request.socket)
    connections.requireRoomForFile(response)
    bindToProgress(request.socket, request)
    const body = new UploadBody(request, maxBytes, bodies)
    const { 'content-type': contentType, 'content-length': length } = request.headers
    const upload: UploadParameters = {
      length: length === undefined ? null : Number(length),
      form(arrived) {
        body.onArrival(arrived)
        return readUploadForm({ stream: body.stream, contentType, held: body.heldByReader })
      },
    }
    const execute: Execute = (_, call) => files.receive(operation, call, asEnvelope, upload)
    await answer({ request, response, query, body: noBody, execute })
    body.end()
  }
}

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly query: string
  readonly body: ReadBody
  readonly execute: Execute
}

function answerer(
  { responses, edge, principal }: OperationRoutesOptions,
  operation: Operation,
): (exchange: Exchange) => Promise<void> {
  return async ({ request, response, query: queryText, body, execute }) => {
    const query = parseQuery(queryText)
    if (query === null) {
      const error = invalid(['the query must be percent-encoded UTF-8'])
      return responses.failure(request, response, error)
    }
    const requestId = responses.nextRequestId()
    const address = edge.addressOf(request)
    const userAgent = userAgentOf(request)
    const baseUrl = edge.baseUrlOf(request)
    // Both objects are written out, since a spread would cost every call a copy.
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
    const reply = await execute(request, operation.waits ? withGone(call, request, response) : call)
    const contentType = wantsLines(request, operation) ? linesContentType : undefined
    responses.reply(request, response, reply, requestId, contentType)
  }
}

const linesContentType = 'application/x-ndjson'
const acceptsLines = /(?:^|,)\s*application\/x-ndjson\s*(?:[;,]|$)/i

/** Tests whether the answer is lines, see `lines` of the operation. */
function wantsLines({ headers }: IncomingMessage, { lines }: Operation): boolean {
  return lines !== null && acceptsLines.test(headers.accept ?? '')
}

/** A client that closes its side of the connection gets the answer at once; most such clients have gone. */
function withGone(call: Call, { socket }: IncomingMessage, response: ServerResponse): Call {
  const gone = new AbortController()
  const abort = () => gone.abort()
  socket.once('end', abort)
  response.once('close', () => {
    socket.off('end', abort)
    abort()
  })
  return { ...call, gone: gone.signal }
}

/**
 * Reads the credentials of a call from its headers, and from its query where the operation takes
 * them there.
 */
export function credentialsOf(
  { headers }: Pick<IncomingMessage, 'headers'>,
  operation: Operation,
  query: QueryParameters,
): Credentials {
  const { credentials } = operation
  const inQuery = credentials === 'query' ? query : noParameters
  const appId = oneText(headers.app_id ?? inQuery.app_id)
  return {
    appId,
    appIdHint: appId === undefined && isForwarded(headers) ? droppedHeaders : null,
    accessToken: oneText(headers['access-token'] ?? inQuery['access-token']),
    userId: oneText(headers.user_id),
    groupId: oneText(headers.group_id),
    signed: signedRequestOf(operation, query),
    ticket: credentials === 'ticket' ? oneText(query.ticket) : undefined,
  }
}

/** A HEAD request is signed as the GET request that it stands for. */
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

/** Node reads the bytes of headers as Latin-1; clients put UTF-8 into this one. */
function userAgentOf({ headers }: IncomingMessage): string {
  const text = headers['user-agent'] ?? ''
  if (!notAscii.test(text)) return text
  const bytes = Buffer.from(text, 'latin1')
  return isUtf8(bytes) ? bytes.toString() : text
}

const notAscii = /[^\0-\x7f]/
const noParameters: QueryParameters = {}

/** Joins several values with a comma, as Node joins headers; no valid value contains one. */
function oneText(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'object' ? value.join(', ') : value
}
