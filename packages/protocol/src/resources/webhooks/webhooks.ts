import { webhookFormats, webhookOutcomes, webhookStateReasons, webhookStates } from '../../enums.js'
import { instant, resource } from '../../resource.js'
import {
  array,
  boolean,
  freeObject,
  int32,
  int64,
  optional,
  type Static,
  stringEnum,
  text,
} from '../../schema.js'

const webhookFields = {
  endpoint_id: int64({ description: 'endpoint ID' }),
  url: text('address that events are sent to'),
  description: text('what the endpoint is for; "": nothing'),
  kinds: array(text('kind of event'), { description: 'kinds of events; []: all' }),
  receivers: array(int64(), {
    description: 'users or groups that messages and events must concern; []: all',
  }),
  format: stringEnum(webhookFormats, { description: 'form of the body' }),
  concurrency: int32({ description: 'requests at once, at most' }),
  batch_size: int32({ description: 'events in a request, at most' }),
  timeout_ms: int32({ description: 'time for an answer, ms' }),
  state: stringEnum(webhookStates, { description: 'whether events are sent' }),
  state_reason: stringEnum(webhookStateReasons, {
    description: 'why it is disabled; "": it is not',
  }),
  position: int64({
    description: 'everything up to this position of the log is delivered, waits, or is dead',
  }),
  behind: int64({ description: 'positions of the log after it' }),
  waiting: int64({ description: 'events that wait for another attempt' }),
  dead: int64({ description: 'dead letters: events that were refused until the last attempt' }),
  failing_since: instant('first of the failures in a row that are not over; 0: none'),
  next_try_at: instant('when an endpoint that is down is tried again; 0: it is not down'),
  last_success_at: instant('last 2xx answer, to the minute; 0: none'),
  has_previous_secret: boolean({
    description: 'the previous secret signs too, for 24 hours after a change',
  }),
  created_at: instant('when it was made'),
  updated_at: instant('when it was changed last'),
}

/** An endpoint without its secret. */
export const Webhook = resource('Webhook', 'An endpoint that events are sent to.', webhookFields)
/** An endpoint without its secret. */
export type Webhook = Static<typeof Webhook>

/** An endpoint after a call that made its secret. */
export const WebhookWithSecret = resource(
  'WebhookWithSecret',
  'An endpoint, with the secret where the call made or changed it.',
  {
    ...webhookFields,
    secret: text('secret that signs requests, shown only now; "": it has not changed'),
  },
)
/** An endpoint after a call that made its secret. */
export type WebhookWithSecret = Static<typeof WebhookWithSecret>

/** One request to an endpoint, and its answer. */
export const WebhookAttempt = resource(
  'WebhookAttempt',
  'A request to an endpoint, and its answer.',
  {
    attempt_id: int64({ description: 'attempt ID' }),
    at: instant('when it was sent'),
    event_id: text('ID of the first event, as in the header webhook-id'),
    type: text('kind of the first event'),
    key: text('key of the first event'),
    events: int32({ description: 'events in the request' }),
    attempt: int32({ description: 'number of the attempt for the first event, from 1' }),
    outcome: stringEnum(webhookOutcomes, { description: 'what came of it' }),
    status: int32({ description: 'HTTP status; 0: no answer' }),
    duration_ms: int32({ description: 'time until the answer or the failure, ms' }),
    error: text('why there is no answer; "": there is one'),
    answer: text('first KiB of the body of the answer, for operators; "" for Admin tokens'),
    next_at: instant('when the next attempt is; 0: none'),
  },
)
/** One request to an endpoint, and its answer. */
export type WebhookAttempt = Static<typeof WebhookAttempt>

/** A page of attempts. */
export const WebhookAttemptPage = resource(
  'WebhookAttemptPage',
  'Some requests to an endpoint, newest first.',
  {
    attempts: array(WebhookAttempt, { description: 'newest first; the last 1,000 are kept' }),
    next_cursor: text('where the next page starts; "": this was the last one'),
  },
)
/** A page of attempts. */
export type WebhookAttemptPage = Static<typeof WebhookAttemptPage>

/** The events that a replay found. */
export const WebhookReplay = resource('WebhookReplay', 'A replay that was started.', {
  dead: int64({ description: 'dead letters that are sent again' }),
  from_position: int64({
    description: 'position of the first row of the log that is read; 0: none',
  }),
  to_position: int64({ description: 'position of the last one; 0: none' }),
})
/** The events that a replay found. */
export type WebhookReplay = Static<typeof WebhookReplay>

/** An event of the log, as webhooks and readers of the log get it. */
export const LoggedEvent = resource('LoggedEvent', 'An event of an application.', {
  id: text(
    'evt_<app>_<position>, for messages evt_<app>_<position>_<msg_id>; after a restore with a mark of 6 capital letters before the position of new events',
  ),
  type: text('kind of the event'),
  timestamp: instant('when it was committed'),
  app_id: text('application ID'),
  cursor: text('place after the event, for reading on'),
  key: text('events with one key are in order: g:<group>, d:<low>:<high>, u:<user> or app'),
  data: freeObject({ description: 'payload of the kind' }),
})
/** An event of the log. */
export type LoggedEvent = Static<typeof LoggedEvent>

/** Rows of the log that were deleted before they were read. */
export const MissedEvents = resource('MissedEvents', 'A part of the log that is gone.', {
  from_position: int64({ description: 'first position that is gone' }),
  to_position: int64({ description: 'last position that is gone' }),
  positions: int64({ description: 'number of positions, not of messages' }),
  from: instant('time of the last event before them; 0: not known'),
  to: instant('time of the first event after them; 0: not known'),
})
/** A part of the log that is gone. */
export type MissedEvents = Static<typeof MissedEvents>

/** A page of the log. */
export const EventPage = resource('EventPage', 'Events in the order of the log.', {
  events: array(LoggedEvent, {
    description: 'in order; events that the call leaves out are not there',
  }),
  cursor: text('where to read on'),
  more: boolean({ description: 'true: there is more to read now' }),
  missed: optional(MissedEvents),
})
/** A page of the log. */
export type EventPage = Static<typeof EventPage>

/** A named consumer of the log. */
export const EventConsumer = resource('EventConsumer', 'A reader with a stored position.', {
  name: text('name'),
  cursor: text('where it reads on'),
  behind: int64({ description: 'positions of the log after it' }),
  used_at: instant('when it read or acknowledged last'),
})
/** A named consumer of the log. */
export type EventConsumer = Static<typeof EventConsumer>
