import { int64, text } from '../schema.js'
import { payload } from './event-schema.js'

/** Payloads of events about endpoints of webhooks. */
export const webhookEvents = {
  /**
   * The service disabled an endpoint; the other endpoints get this event, without its URL: a URL
   * may be a secret.
   */
  'webhook.disabled': payload({
    endpoint_id: int64({ description: 'The endpoint.' }),
    reason: text('gone: it answered 410; failing: nothing but failures for three days.'),
  }),
}
