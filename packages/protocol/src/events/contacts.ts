import { string, Type, text } from '../schema.js'
import { payload } from './event-schema.js'

const reason = text('The reason of the asking or declining user; "" = none.')

/** Payloads of events between a user, `actor_id`, and the single other user in `user_ids`. */
export const contactEvents = {
  /** The actor added the other user as a contact without a request. */
  'contact.added': payload({}),
  'contact.removed': payload({}),
  /** The actor accepted the other user's request. */
  'contact.accepted': payload({}),
  'contact.declined': payload({ reason }),
  'contact.blocked': payload({}),
  'contact.unblocked': payload({}),
  /** The actor requested to become a contact. */
  'contact.applied': payload({ reason }),
  'contact.info_updated': payload({
    changed: Type.Object(
      { alias: Type.Optional(string()), ext: Type.Optional(string()) },
      { description: 'The new values of what the actor changed about the contact.' },
    ),
  }),
  /** The actor was deleted, and with it the contact and the requests between them and these users. */
  'contact.user_removed': payload({}),
  'contact.muted': payload({}),
  'contact.unmuted': payload({}),
}
