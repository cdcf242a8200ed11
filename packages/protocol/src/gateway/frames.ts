/** The JSON objects of the gateway, one in each text frame. */
import type {
  EventAudience,
  EventKind,
  EventPayloads,
  KindWith,
  TransientEvent,
} from '../events/index.js'
import {
  eventDefinitions,
  eventKinds,
  eventSchemas,
  transientEventSchemas,
} from '../events/index.js'
import { failureMembers } from '../failure-members.js'
import {
  boolean,
  freeObject,
  int32,
  int64,
  object,
  optional,
  type Static,
  string,
  type TSchema,
  Type,
  text,
} from '../schema.js'

/** The path of the WebSocket. */
export const gatewayPath = '/gateway'
/** The subprotocol that both sides name in the handshake. */
export const gatewayProtocol = 'hermod.v1.json'

/** Names a call; its answer repeats it. */
export const frameId = Type.Union([int64(), string({ minLength: 1, maxLength: 64 })], {
  description:
    'chosen by the client and repeated in the answer: an integer, or a text of at most 64 characters',
})

const pos = optional(
  text(
    'everything up to it that concerns this connection stands before this frame; kept for the next session.open and message.sync',
  ),
)

/** A call of an operation. Members with other names are ignored. */
export const callFrame = object({
  id: frameId,
  op: string({ description: 'id of an operation, or session.open', maxLength: 64 }),
  data: optional(
    freeObject({ description: 'all parameters of the operation, of query and body alike' }),
  ),
  user_id: optional(int64({ description: 'with an Admin token: the user that the call acts as' })),
  group_id: optional(
    int64({
      description: 'with an Admin token: the call has the rights of an admin of this group',
    }),
  ),
})

/** The answer to a call: the envelope of the operation, and the id of the call. */
export const answerFrame = Type.Object(
  {
    id: frameId,
    code: int32({ description: '200 on success, else the code of the error' }),
    data: Type.Unknown({ description: 'null on failure' }),
    message: Type.Union([Type.String(), Type.Null()], {
      description: 'null on success, else a sentence',
    }),
  },
  {
    description: 'Other members are those that the operation answers next to data.',
  },
)

/** The answer to a call that failed. */
export const failureFrame = object({
  id: Type.Union([...frameId.anyOf, Type.Null()], {
    description: 'that of the call; null when the frame of the call has no valid id',
  }),
  code: int32({ description: 'code of the error' }),
  data: Type.Null(),
  message: text('a sentence for people'),
  name: text('name of the error'),
  retry: boolean({ description: 'true: the unchanged call may succeed later' }),
  retry_after_ms: optional(int32({ description: 'time to wait before that' })),
  ...failureMembers.stream_refused,
})

/** Sent about every ping_ms, together with a WebSocket ping. */
export const heartbeatFrame = object({ pos })

/** Events were not sent to this connection: the client calls message.sync. */
export const syncNeededFrame = object({ event: Type.Literal('sync.needed') })

/** The last frame before the server closes the connection. */
export const sessionClosingFrame = object({
  event: Type.Literal('session.closing'),
  data: object({
    code: int32({ description: 'close code that follows' }),
    reason: text('a word such as kicked, device_removed or shutdown'),
    retry_after_ms: optional(int32({ description: 'codes below 4500: come back after this time' })),
  }),
})

const allEventSchemas = { ...eventSchemas, ...transientEventSchemas } as const

/** A kind of event for other parts of the service only; devices learn the same from heads and positions. */
export type InternalEventKind = KindWith<{ audience: 'none' }>

/** The kinds of events for other parts of the service only. */
export const internalEventKinds = eventKinds.filter((kind): kind is InternalEventKind =>
  hasAudience(kind, 'none'),
)

/** A kind of event that devices may get. */
export type DeviceEventKind = Exclude<keyof typeof allEventSchemas, InternalEventKind>

/** The kinds of events that devices may get, in the order of the reference. */
export const deviceEventKinds = Object.keys(allEventSchemas).filter(
  (kind) => !internalEventKinds.some((each) => each === kind),
) as readonly DeviceEventKind[]

/** The payloads of the kinds of events that devices may get. */
export const deviceEventSchemas: Pick<typeof allEventSchemas, DeviceEventKind> = allEventSchemas

/** Kinds of events that carry the number of a change of a conversation. */
export const numberedEventKinds: readonly EventKind[] = eventKinds.filter((kind) =>
  hasAudience(kind, 'log'),
)

function hasAudience(kind: EventKind, audience: EventAudience): boolean {
  return eventDefinitions[kind].audience === audience
}

/** The frame of a kind of event. */
export function eventFrame<K extends DeviceEventKind>(kind: K) {
  const isNumbered = numberedEventKinds.some((each) => each === kind)
  const change = int64({
    description:
      'number of the change in its log: the last one + 1 is applied, a smaller one is dropped, anything else is a gap',
  })
  return Type.Object({
    event: Type.Literal(kind),
    data: deviceEventSchemas[kind] as TSchema,
    ...(isNumbered && { change }),
    pos,
  })
}

/** A call of an operation. */
export type CallFrame = Static<typeof callFrame>
/** The answer to a call. */
export type AnswerFrame = Static<typeof answerFrame>
/** The answer to a call that failed. */
export type FailureFrame = Static<typeof failureFrame>
/** A heartbeat; `{}` on a connection that has to sync. */
export type HeartbeatFrame = Static<typeof heartbeatFrame>
/** The request to sync. */
export type SyncNeededFrame = Static<typeof syncNeededFrame>
/** The announcement of a close. */
export type SessionClosingFrame = Static<typeof sessionClosingFrame>

/** Payload of each kind of event that devices may get. */
export type DeviceEventPayloads = Pick<EventPayloads, DeviceEventKind & EventKind> & {
  readonly [E in TransientEvent as E['kind']]: E['data']
}

/** An event of the given kinds. */
export type EventFrame<K extends DeviceEventKind = DeviceEventKind> = {
  readonly [Kind in K]: {
    readonly event: Kind
    readonly data: DeviceEventPayloads[Kind]
    readonly change?: number
    readonly pos?: string
  }
}[K]

/** Everything that the server sends. */
export type ServerFrame =
  | AnswerFrame
  | FailureFrame
  | EventFrame
  | HeartbeatFrame
  | SyncNeededFrame
  | SessionClosingFrame
