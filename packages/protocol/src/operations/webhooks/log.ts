import { operation } from '../../operation.js'
import { EventConsumer, EventPage } from '../../resources/webhooks/webhooks.js'
import { array, int32, optional, string } from '../../schema.js'
import { done, get, post } from '../fields.js'

const ofLog = { tag: 'Webhooks', callers: 'admin', origin: 'extension' } as const

const consumerName = string({
  description: 'name of a consumer, which keeps its position on the server',
  minLength: 1,
  maxLength: 64,
  pattern: '^[A-Za-z0-9_.-]+$',
  form: 'letters, digits, _, . and -',
})
const cursor = string({ description: 'cursor of an earlier answer', maxLength: 512 })

/**
 * With Accept: application/x-ndjson each event is a line, and the last line has cursor, more and
 * missed.
 */
export const readEvents = operation({
  ...ofLog,
  id: 'events.read',
  methods: get,
  path: '/events',
  summary: 'Reads the log of events of the application.',
  description:
    'Give after, or the name of a consumer. A call looks at 10,000 rows at most; more tells whether to go on at once. ' +
    'At most 10 calls of an application wait at the same time.',
  query: {
    after: optional(
      string({ description: 'cursor; "": from the oldest event that is kept', maxLength: 512 }),
    ),
    consumer: optional(consumerName),
    kinds: optional(
      string({ description: 'kinds of events, separated by commas; "": all', maxLength: 4096 }),
    ),
    key: optional(string({ description: 'only events with this key', maxLength: 64 })),
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
  },
  data: EventPage,
  errors: ['event_cursor_invalid', 'event_consumer_limit_reached', 'too_many_event_readers'],
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

/** By name. */
export const listEventConsumers = operation({
  ...ofLog,
  id: 'events.consumer.list',
  methods: get,
  path: '/events/consumer/list',
  summary: 'Lists the consumers of the log.',
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
