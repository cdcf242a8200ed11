import { int64 } from '../schema.js'
import { payload } from './event-schema.js'
import { eventConversation } from './messages.js'

const pin = payload({ conversation_id: int64({ description: 'The other user, or the group.' }) })

/** Payloads of events about a user's own view of conversations. */
export const conversationEvents = {
  'conversation.pinned': pin,
  /** Users who leave the group get it too. */
  'conversation.unpinned': pin,
  /**
   * The actor deleted a conversation for themselves. Direct messages and broadcasts of a peer are
   * deleted together, with an event for each of the two. Both numbers apply as a maximum.
   */
  'conversation.deleted': payload({
    conversation: eventConversation,
    hidden_msg_id: int64({ description: 'Messages up to this one are hidden.' }),
    seq: int64({ description: 'Messages up to this position are not unread.' }),
  }),
}
