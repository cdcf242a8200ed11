import { int64 } from '../schema.js'
import { event, payload } from './event-definition.js'
import { ofAccount, ofLog } from './event-keys.js'
import { eventConversation } from './messages.js'

const pin = payload({ conversation_id: int64({ description: 'The other user, or the group.' }) })

/** Events about a user's own view of conversations. */
export const conversationEvents = {
  'conversation.pinned': event({
    payload: pin,
    key: ofAccount,
    audience: 'users',
    userChanges: { pins: 'users' },
    causedBy: ['user.conversation.pin'],
  }),
  /** Users who leave the group get it too. */
  'conversation.unpinned': event({
    payload: pin,
    key: ofAccount,
    audience: 'users',
    userChanges: { pins: 'users' },
    causedBy: ['user.conversation.unpin', 'group.block', 'group.kick', 'group.leave'],
  }),
  /**
   * The actor deleted a conversation for themselves. Direct messages and broadcasts of a peer are
   * deleted together, with an event for each of the two. Both numbers apply as a maximum.
   */
  'conversation.deleted': event({
    payload: payload({
      conversation: eventConversation,
      hidden_msg_id: int64({ description: 'Messages up to this one are hidden.' }),
      seq: int64({ description: 'Messages up to this position are not unread.' }),
    }),
    key: ofLog,
    audience: 'actor',
    userChanges: {},
    causedBy: ['message.conversation.delete'],
  }),
}
