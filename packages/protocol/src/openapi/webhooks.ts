/** The requests that webhooks send, one for each kind of event. */
import { eventSchemas } from '../events/index.js'
import { type JsonSchema, mapValues, plainSchema } from '../json-schema.js'
import { LoggedEvent, MissedEvents } from '../resources/webhooks/webhooks.js'
import { int64, object, type TSchema } from '../schema.js'
import type { Content, OpenApiParameter, OpenApiResponse } from './parts.js'

/** A request to an endpoint. */
export interface OpenApiWebhook {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description: string
  /** None: its signature is among the headers. */
  readonly security: readonly never[]
  readonly parameters: readonly OpenApiParameter[]
  readonly requestBody: {
    readonly required: true
    readonly content: Content
  }
  readonly responses: Readonly<Record<string, OpenApiResponse>>
}

const { 'change.skipped': _skipped, 'message.updated': _updated, ...committedEvents } = eventSchemas

/** The payload of each kind: of events of the application, and of those about the endpoint. */
const payloads: Readonly<Record<string, TSchema>> = {
  ...committedEvents,
  'events.missed': MissedEvents,
  'webhook.test': object({ endpoint_id: int64({ description: 'the endpoint that is tested' }) }),
}

const summaries: Readonly<Record<string, string>> = {
  'events.missed': 'Rows of the log were deleted before the endpoint got them.',
  'webhook.test': 'A test of the endpoint.',
}

const description =
  'With a batch size above 1 the body is a list of such events, which may be of several kinds. ' +
  'Events with the same key arrive in order. An event may arrive more than once, with the same id.'

const parameters: readonly OpenApiParameter[] = [
  {
    name: 'webhook-id',
    in: 'header',
    required: true,
    description: 'The id of the event, of a batch that of its first event.',
    schema: { type: 'string' },
  },
  {
    name: 'webhook-timestamp',
    in: 'header',
    required: true,
    description: 'The time of the attempt, seconds since 1970.',
    schema: { type: 'string' },
  },
  {
    name: 'webhook-signature',
    in: 'header',
    required: true,
    description:
      'By Standard Webhooks 1.0: `v1,` and the base64 of the HMAC-SHA256 of `id.timestamp.body` ' +
      'with the secret. For 24 hours after a change of the secret there are two, separated by a space.',
    schema: { type: 'string' },
  },
]

const responses: Readonly<Record<string, OpenApiResponse>> = {
  '2XX': { description: 'The events are delivered.' },
  '410': { description: 'Disables the endpoint.' },
  '4XX': {
    description:
      'The events are refused: five attempts within an hour, then they are dead letters. ' +
      '408, 425 and 429 count as 5XX.',
  },
  default: {
    description:
      'The endpoint is not available: it is tried again later. Retry-After is honored, redirects are not followed.',
  },
}

/**
 * Returns the requests by kind of event.
 * @param schemas the component schemas of the document; titled schemas are added
 */
export function describeWebhooks(
  schemas: Record<string, JsonSchema>,
): Readonly<Record<string, { readonly post: OpenApiWebhook }>> {
  return mapValues(
    Object.fromEntries(Object.entries(payloads).map((entry) => [entry[0], entry])),
    ([kind, payload]) => ({
      post: {
        operationId: `webhook.event.${kind}`,
        tags: ['Webhooks'],
        summary: summaries[kind] ?? `An event of the kind ${kind}.`,
        description,
        security: [],
        parameters,
        requestBody: {
          required: true,
          content: { 'application/json': { schema: envelopeSchema(kind, payload, schemas) } },
        },
        responses,
      },
    }),
  )
}

/** The members of {@link LoggedEvent}, with the payload of one kind. */
function envelopeSchema(
  kind: string,
  payload: TSchema,
  schemas: Record<string, JsonSchema>,
): JsonSchema {
  const members = mapValues(LoggedEvent.properties, (schema) => plainSchema(schema, schemas))
  return {
    type: 'object',
    properties: {
      ...members,
      type: { type: 'string', const: kind, description: 'kind of the event' },
      data: plainSchema(payload, schemas),
    },
    required: Object.keys(members),
  }
}
