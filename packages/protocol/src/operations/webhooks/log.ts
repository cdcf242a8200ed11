import { committedKinds } from '../../events/index.js'
import { operation } from '../../operation.js'
import { EventConsumer, EventPage } from '../../resources/webhooks/webhooks.js'
import { array, int32, optional, string } from '../../schema.js'
import { appId, done, get, operatorOperation, post } from '../fields.js'

const ofLog = {
  tag: 'Webhooks',
  callers: 'admin',
  scopes: ['app', 'messages:read'],
  origin: 'extension',
} as const

const consumerName = string({
  description: 'name of a consumer, which keeps its position on the server',
  minLength: 1,
  maxLength: 64,
  pattern: '^[A-Za-z0-9_.-]+$',
  form: 'letters, digits, _, . and -',
})
const cursor = string({ description: 'cursor of an earlier answer', maxLength: 512 })

const page = {
  kinds: optional(
    string({ description: 'kinds of events, separated by commas; "": all', maxLength: 4096 }),
  ),
  key: optional(string({ description: 'only events with this key; "": all', maxLength: 64 })),
  limit: optional(
    int32({ description: 'events at most; default 100', minimum: 1, maximum: 1_000 }),
  ),
  wait: optional(
    int32({
      description: 'seconds to wait for an event when there is none; default 0',
      minimum: 0,
      maximum: 30,
    }),
  ),
}
const after = string({
  description: 'cursor; "": from the oldest event that is kept; now: only later events',
  maxLength: 512,
  examples: ['now'],
})

const read = {
  methods: get,
  summary: 'Reads the log of events of an application.',
  data: EventPage,
  waits: true,
  lines: 'events',
} as const
const readDescription =
  'A call looks at 10,000 rows at most and returns about 1 MiB at most. It answers a cursor also without events: read on from there. ' +
  'more tells whether to read on at once. At most 10 calls of an application with wait run at the same time. ' +
  'Two calls of an application read at once; 20 wait for their turn, and further ones are refused with 15006. ' +
  'With Accept: application/x-ndjson each event is a line, and a last line has cursor, more and missed.'

const kindNames: ReadonlySet<string> = new Set(committedKinds)

function kindFaults({ kinds }: Readonly<Record<string, unknown>>): string[] {
  if (typeof kinds !== 'string' || kinds === '') return []
  const unknown = kinds.split(',').find((kind) => !kindNames.has(kind))
  return unknown === undefined
    ? []
    : [`kinds must name kinds of events, separated by commas; ${JSON.stringify(unknown)} is none`]
}

function startFaults({ after, consumer }: Readonly<Record<string, unknown>>): string[] {
  if (after === undefined && consumer === undefined) return ['after or consumer is required']
  return after !== undefined && consumer !== undefined
    ? ['after and consumer must not be given together']
    : []
}

/** The cursor of an answer also passes the events that kinds and key leave out. */
export const readEvents = operation({
  ...ofLog,
  ...read,
  id: 'events.read',
  path: '/events',
  description:
    'Give after, or the name of a consumer. The first use of a name makes a consumer, which begins at the present end of the log. ' +
    'Its position moves by /events/ack only; acknowledge the cursor of an answer without events too. ' +
    `The log is kept for it, for at most 7 days without use. ${readDescription}`,
  query: { after: optional(after), consumer: optional(consumerName), ...page },
  violationsOf: (params) => [...startFaults(params), ...kindFaults(params)],
  errors: ['event_cursor_invalid', 'event_consumer_limit_reached', 'too_many_event_readers'],
})

/** The same as {@link readEvents}, without consumers. */
export const readEventsByOperator = operation({
  ...operatorOperation,
  ...read,
  id: 'operator.events.read',
  path: '/operator/v1/events',
  description: readDescription,
  query: { app_id: appId, after, ...page },
  violationsOf: kindFaults,
  errors: ['app_not_found', 'event_cursor_invalid', 'too_many_event_readers'],
})

/** A position never moves back; a cursor before it changes nothing. */
export const acknowledgeEvents = operation({
  ...ofLog,
  id: 'events.ack',
  methods: post,
  path: '/events/ack',
  summary: 'Moves the position of a consumer to a cursor.',
  body: { consumer: consumerName, cursor },
  data: done,
  errors: ['event_cursor_invalid', 'event_consumer_not_found'],
})

/** Entries include the cursor of each consumer. */
export const listEventConsumers = operation({
  ...ofLog,
  id: 'events.consumer.list',
  methods: get,
  path: '/events/consumer/list',
  summary: 'Lists the consumers of the log.',
  description: 'In the order of their names; always the whole list, at most 20.',
  data: array(EventConsumer),
})

/** The log is not kept for it any more. */
export const deleteEventConsumer = operation({
  ...ofLog,
  id: 'events.consumer.delete',
  methods: post,
  path: '/events/consumer/delete',
  summary: 'Deletes a consumer of the log.',
  body: { consumer: consumerName },
  data: done,
  errors: ['event_consumer_not_found'],
})
