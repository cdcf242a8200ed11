import { maxPresenceUsers } from '../../limits/presence-limits.js'
import { operation } from '../../operation.js'
import { FailedTarget } from '../../resources/messaging.js'
import { OnlineState } from '../../resources/presence.js'
import { array, int64, list, object, optional } from '../../schema.js'
import { done, id, post } from '../fields.js'

/**
 * Clients send it once the messages are stored on the device, at most once a second. Positions only
 * grow. Groups have no delivery receipts: only reading is acknowledged there. Rule E14a.
 */
export const acknowledgeDelivery = operation({
  id: 'message.delivered',
  methods: post,
  path: '/message/delivered',
  tag: 'Messages',
  summary: 'Tells that messages of direct conversations have reached a device.',
  description:
    'Up to the position seq, everything of the conversation is delivered; a position beyond the end is the end. ' +
    'The senders get an event message.delivered. A group is refused in fails.',
  callers: 'user',
  scopes: ['messages:send'],
  body: {
    conversations: list(
      object({
        conversation_id: id('conversation ID: the other user'),
        seq: int64({ description: 'position up to which all is delivered', minimum: 0 }),
      }),
      { description: 'at most 100 conversations', minItems: 1, maxItems: 100 },
    ),
  },
  data: done,
  extras: {
    fails: optional(
      array(FailedTarget, {
        description: 'the conversations that were refused, with the reason; absent without any',
      }),
    ),
  },
  countsForApp: false,
  origin: 'extension',
})

/**
 * Replaces the list of the connection; an empty list ends it. Only the user itself and contacts
 * that do not block the user are shown; others are offline and are not followed. Rule E15.
 */
export const subscribePresence = operation({
  id: 'presence.subscribe',
  methods: post,
  path: '/presence/subscribe',
  tag: 'Users',
  summary: 'Follows the online states of contacts, over the socket only.',
  description:
    'Answers the states; changes of the last second come together as an event presence. ' +
    'Users who are no contacts are offline and are not followed: subscribe again when one becomes a contact. ' +
    `The lists of all sessions of a user have at most ${maxPresenceUsers} different contacts; a list above that is refused with 42900, and the session then follows none. ` +
    'Costs as much as a look-up. Over HTTP: 50103.',
  callers: 'user',
  scopes: ['users:read'],
  body: {
    user_ids: list(int64(), {
      description: 'at most 500 user IDs; replaces the former list',
      'x-look-up': true,
    }),
  },
  data: array(OnlineState, { description: 'the states in the order of the list, each user once' }),
  socket: 'only',
  origin: 'extension',
})

/** Counts once per device, as /push/report does (rule G1). */
export const receivePush = operation({
  id: 'push.received',
  methods: post,
  path: '/push/received',
  tag: 'Push',
  summary: 'Confirms pushes that came as events push.notification, over the socket only.',
  description:
    'Safe to repeat. The session must have a device; pushes that are not for it are ignored. Over HTTP: 50103, use /push/report.',
  callers: 'user',
  scopes: ['push'],
  body: {
    task_ids: list(int64(), {
      description: 'at most 100 task IDs of events push.notification',
      minItems: 1,
      maxItems: 100,
    }),
  },
  data: done,
  socket: 'only',
  countsForApp: false,
  origin: 'extension',
})
