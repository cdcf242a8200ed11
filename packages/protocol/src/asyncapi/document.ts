/** The AsyncAPI 3.1 document of the gateway, derived from its frames, the events and the operations. */
import { describeCallers } from '../callers.js'
import { type CloseName, closeCodes, closeMeanings } from '../close-codes.js'
import {
  callFrame,
  deviceEventKinds,
  eventFrame,
  failureFrame,
  frameId,
  gatewayPath,
  gatewayProtocol,
  heartbeatFrame,
  sessionClosingFrame,
  sessionOpenData,
  sessionOpenOp,
  sessionOpenParameters,
  syncNeededFrame,
} from '../gateway/index.js'
import { exampleValue, type JsonSchema, plainSchema } from '../json-schema.js'
import { isWholeBody, type Operation } from '../operation.js'
import { openSession, operations } from '../operations/index.js'
import { object, optional, type TProperties, type TSchema, Type } from '../schema.js'

/** A pointer into the document. */
export interface AsyncApiReference {
  readonly $ref: string
}

/** A message: one frame of the gateway. */
export interface AsyncApiMessage {
  readonly name: string
  readonly title?: string
  readonly summary: string
  readonly description?: string
  readonly payload: JsonSchema
  readonly examples: readonly { readonly payload: unknown }[]
}

/** The action of the server: `receive` takes a call of a client, `send` writes a frame to it. */
export interface AsyncApiOperation {
  readonly action: 'send' | 'receive'
  readonly channel: AsyncApiReference
  readonly summary: string
  readonly description?: string
  readonly messages: readonly AsyncApiReference[]
  readonly reply?: {
    readonly channel: AsyncApiReference
    readonly messages: readonly AsyncApiReference[]
  }
}

/** The served document: AsyncAPI 3.1, restricted to the parts in use. */
export interface AsyncApiDocument {
  readonly asyncapi: '3.1.0'
  readonly info: Readonly<Record<string, unknown>>
  readonly defaultContentType: 'application/json'
  readonly servers: Readonly<Record<string, unknown>>
  readonly channels: {
    readonly gateway: Readonly<Record<string, unknown>> & {
      readonly messages: Readonly<Record<string, AsyncApiReference>>
    }
  }
  readonly operations: Readonly<Record<string, AsyncApiOperation>>
  readonly components: {
    readonly messages: Readonly<Record<string, AsyncApiMessage>>
    readonly schemas: Readonly<Record<string, JsonSchema>>
    readonly securitySchemes: Readonly<Record<string, unknown>>
  }
}

/** Contents of the document other than the frames. */
export interface AsyncApiOptions {
  /** Version of the service, not of the protocol. */
  readonly version: string
  /** Ids of the available operations; the others are left out. */
  readonly builtOperationIds: ReadonlySet<string>
  /** Address of the service, such as https://im.example; default: the usual address of this machine. */
  readonly serverUrl?: string
}

const channel: AsyncApiReference = { $ref: '#/channels/gateway' }

/** Builds the document. The same contract gives the same text. */
export function asyncApiDocument(options: AsyncApiOptions): AsyncApiDocument {
  const parts = new Parts()
  parts.addCall({ op: sessionOpenOp, ...sessionOpenCall })
  for (const operation of operations)
    if (options.builtOperationIds.has(operation.id) && operation.socket !== false)
      parts.addCall(callOf(operation))
  for (const kind of deviceEventKinds) parts.addFrame(kind, `The event ${kind}.`, eventFrame(kind))
  for (const [name, { summary, schema }] of Object.entries(ownFrames))
    parts.addFrame(name, summary, schema)
  return {
    asyncapi: '3.1.0',
    info: {
      title: 'Hermod gateway',
      version: options.version,
      description: introduction,
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    defaultContentType: 'application/json',
    servers: { gateway: serverEntry(options.serverUrl ?? 'http://127.0.0.1:8080') },
    channels: {
      gateway: {
        address: gatewayPath,
        description: `The WebSocket, with the subprotocol ${gatewayProtocol}: text frames with one JSON object each.`,
        messages: parts.channelMessages(),
        bindings: { ws: { method: 'GET', bindingVersion: '0.1.0' } },
      },
    },
    operations: parts.operations,
    components: {
      messages: parts.messages,
      schemas: parts.schemas,
      securitySchemes: { accessToken },
    },
  }
}

const closeTable = (Object.entries(closeCodes) as [CloseName, number][])
  .map(([name, code]) => `- ${code}: ${closeMeanings[name]}`)
  .join('\n')

const introduction = [
  `The document describes the server: it receives calls and sends answers, events and heartbeats. One channel, the WebSocket at ${gatewayPath} with the subprotocol ${gatewayProtocol}, carries everything as text frames with one JSON object each. The first call of a connection is session.open; it comes within 5 seconds, in a frame of at most 16 KiB.`,
  'Every call with an id is answered. Calls run side by side; a client that needs an order waits for the answer. `data` of a call has all parameters of the operation. Unknown members of frames, and unknown events without a change number, are ignored. IDs are JSON integers below 2^63; every ID of the service is below 2^53.',
  'A client keeps the latest `pos` of a frame, except between sync.needed (or a session.open that is not current) and the end of the sync that it then asks for.',
  `Close codes. After 4000 to 4499 a client comes back, after 4500 to 4999 it does not reconnect without the user:\n\n${closeTable}`,
].join('\n\n')

const accessToken = {
  type: 'apiKey',
  in: 'password',
  description:
    'The access_token of session.open, never a part of the URL. User tokens start with hmu_, Admin tokens with hma_.',
}

function serverEntry(url: string): Readonly<Record<string, unknown>> {
  const [, scheme, host = '', pathname = ''] = /^(https?):\/\/([^/]+)(.*?)\/?$/.exec(url) ?? []
  return {
    host,
    protocol: scheme === 'https' ? 'wss' : 'ws',
    ...(pathname !== '' && { pathname }),
    security: [{ $ref: '#/components/securitySchemes/accessToken' }],
  }
}

/** Frames of the gateway itself, by the names of their messages. */
const ownFrames: Readonly<Record<string, { summary: string; schema: TSchema }>> = {
  heartbeat: {
    summary: 'A heartbeat with the pos up to which the client has everything.',
    schema: heartbeatFrame,
  },
  'sync.needed': {
    summary: 'The connection has missed events; the client calls message.sync.',
    schema: syncNeededFrame,
  },
  'session.closing': {
    summary: 'The server closes the connection after this frame.',
    schema: sessionClosingFrame,
  },
}

interface DocumentedCall {
  readonly op: string
  readonly summary: string
  readonly description: string
  readonly parameters: TProperties
  /** The members of a successful answer next to id, code and message. */
  readonly answer: TProperties
}

const sessionOpenCall = {
  summary: 'Opens the session of the connection.',
  description: `Once on each connection, before any other call. A failed one is answered, then the connection is closed. Callers: ${describeCallers(openSession.callers, openSession.scopes)}`,
  parameters: sessionOpenParameters,
  answer: { data: sessionOpenData },
}

function callOf(operation: Operation): DocumentedCall {
  const { id: op, summary, query, body, data, extras, callers, scopes } = operation
  return {
    op,
    summary,
    description: [operation.description, `Callers: ${describeCallers(callers, scopes)}`]
      .filter(Boolean)
      .join('\n\n'),
    parameters: { ...query, ...(isWholeBody(body) ? { [body.whole]: body.schema } : body) },
    answer: { data, ...extras },
  }
}

const { user_id: userId, group_id: groupId } = callFrame.properties

function inChannel(message: string): AsyncApiReference {
  return { $ref: `#/channels/gateway/messages/${message}` }
}

/** Messages, schemas and operations of the document so far. */
class Parts {
  readonly messages: Record<string, AsyncApiMessage> = {}
  readonly schemas: Record<string, JsonSchema> = {}
  readonly operations: Record<string, AsyncApiOperation> = {}

  constructor() {
    this.#addMessage('failure', 'The answer to a call that failed.', failureFrame)
  }

  /** Adds a call of a client with its answers. */
  addCall({ op, summary, description, parameters, answer }: DocumentedCall): void {
    const acting = op === sessionOpenOp ? {} : { user_id: userId, group_id: groupId }
    const required = object(parameters).required !== undefined
    const data = required ? object(parameters) : optional(object(parameters))
    const call = { id: frameId, op: Type.Literal(op), data, ...acting }
    this.#addMessage(op, summary, object(call))
    const success = { id: frameId, code: Type.Literal(200), message: Type.Null(), ...answer }
    this.#addMessage(`${op}.answer`, `The answer to a successful ${op}.`, object(success))
    this.operations[op] = {
      action: 'receive',
      channel,
      summary,
      description,
      messages: [inChannel(op)],
      reply: { channel, messages: [inChannel(`${op}.answer`), inChannel('failure')] },
    }
  }

  /** Adds a frame that the server sends unasked. */
  addFrame(name: string, summary: string, schema: TSchema): void {
    const key = `event.${name}`
    this.#addMessage(key, summary, schema)
    this.operations[key] = { action: 'send', channel, summary, messages: [inChannel(key)] }
  }

  /** References to all messages, for the channel. */
  channelMessages(): Record<string, AsyncApiReference> {
    return Object.fromEntries(
      Object.keys(this.messages).map((name) => [name, { $ref: `#/components/messages/${name}` }]),
    )
  }

  #addMessage(name: string, summary: string, schema: TSchema): void {
    const payload = plainSchema(schema, this.schemas)
    const examples = [{ payload: exampleValue(this.schemas, payload) }]
    this.messages[name] = { name, summary, payload, examples }
  }
}
