import { int64, text } from '../schema.js'
import { payload } from './event-schema.js'

/** Payloads of events about endpoints of webhooks. */
export const webhookEvents = {
  /** The service disabled an endpoint; the other endpoints get this event. */
  'webhook.disabled': payload({
    endpoint_id: int64({ description: 'The endpoint.' }),
    url: text('Its address.'),
    reason: text('gone: it answered 410; failing: nothing but failures for three days.'),
  }),
}
