import { string, Type, text } from '../schema.js'
import { event, payload } from './event-definition.js'
import { ofActor, ofPair } from './event-keys.js'

const reason = text('The reason of the asking or declining user; "" = none.')

/** An event for the devices of the actor alone, who sees the contact differently. */
const ownEvent = {
  payload: payload({}),
  key: ofPair,
  audience: 'actor',
  userChanges: { contact: 'actor' },
} as const
const registrations = ['user.register.anonymous', 'user.register.push', 'user.register'] as const
const applications = ['contact.apply', 'contact.apply.batch'] as const

/** Events between a user, `actor_id`, and the single other user in `user_ids`. */
export const contactEvents = {
  /** The actor added the other user as a contact without a request. */
  'contact.added': event({
    payload: payload({}),
    key: ofPair,
    audience: 'both',
    userChanges: { contact: 'both', contactRequest: 'both' },
    causedBy: [...registrations, ...applications, 'contact.add'],
  }),
  'contact.removed': event({
    payload: payload({}),
    key: ofPair,
    audience: 'both',
    userChanges: { contact: 'both' },
    causedBy: ['contact.delete'],
  }),
  /** The actor accepted the other user's request. */
  'contact.accepted': event({
    payload: payload({}),
    key: ofPair,
    audience: 'both',
    userChanges: { contact: 'both', contactRequest: 'both' },
    causedBy: ['contact.accept', ...applications],
  }),
  'contact.declined': event({
    payload: payload({ reason }),
    key: ofPair,
    audience: 'both',
    userChanges: { contactRequest: 'both' },
    personalTexts: { reason: '' },
    causedBy: ['contact.decline'],
  }),
  'contact.blocked': event({ ...ownEvent, causedBy: ['contact.block'] }),
  'contact.unblocked': event({ ...ownEvent, causedBy: ['contact.unblock'] }),
  /** The actor requested to become a contact. */
  'contact.applied': event({
    payload: payload({ reason }),
    key: ofPair,
    audience: 'both',
    userChanges: { contactRequest: 'both' },
    personalTexts: { reason: '' },
    causedBy: [...registrations, ...applications],
  }),
  'contact.info_updated': event({
    payload: payload({
      changed: Type.Object(
        { alias: Type.Optional(string()), ext: Type.Optional(string()) },
        { description: 'The new values of what the actor changed about the contact.' },
      ),
    }),
    key: ofPair,
    audience: 'actor',
    userChanges: { contact: 'actor' },
    personalTexts: { changed: {} },
    causedBy: ['contact.update'],
  }),
  /** The actor was deleted, and with it the contact and the requests between them and these users. */
  'contact.user_removed': event({
    payload: payload({}),
    key: ofActor,
    audience: 'users',
    userChanges: { contact: 'users', contactRequest: 'users' },
    causedBy: ['user.delete', 'operator.user.delete'],
  }),
  'contact.muted': event({ ...ownEvent, causedBy: ['contact.update'] }),
  'contact.unmuted': event({ ...ownEvent, causedBy: ['contact.update'] }),
}
