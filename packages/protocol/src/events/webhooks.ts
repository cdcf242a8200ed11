import { int64, text } from '../schema.js'
import { event, payload } from './event-definition.js'
import { ofApp } from './event-keys.js'

/** Events about endpoints of webhooks. */
export const webhookEvents = {
  /**
   * The service disabled an endpoint; the other endpoints get this event, without its URL: a URL
   * may be a secret.
   */
  'webhook.disabled': event({
    payload: payload({
      endpoint_id: int64({ description: 'The endpoint.' }),
      reason: text('gone: it answered 410; failing: nothing but failures for three days.'),
    }),
    key: ofApp,
    audience: 'none',
    userChanges: {},
    causedBy: [],
  }),
}
