import { boolean, int32, int64, Type, text } from '../schema.js'
import { payload } from './event-schema.js'

/** A conversation: its two parties, the smaller ID first; a group is its ID twice. */
export const eventConversation = Type.Object({
  low_id: int64({
    description:
      '-1: what high_id, a user or the system, has broadcast to all users; each has it in the conversation with the sender',
  }),
  high_id: int64(),
  is_group: boolean(),
})

const ofMessage = payload({ conversation: eventConversation, msg_id: int64() })

/** Payloads of events about messages. */
export const messageEvents = {
  /**
   * A message was sent. Its texts are those at the time of reading; a recalled message is left out.
   */
  'message.stored': Type.Object({
    conversation: eventConversation,
    msg_id: int64(),
    sent_at: int64({ description: 'Milliseconds since 1970.' }),
    seq: int64({ description: 'Position in the conversation, dense from 1.' }),
    sender_id: int64(),
    sender_device_sn: int32(),
    content_type: int32(),
    content: text('As it was sent, or edited last.'),
    attachment: text('As it was sent, or edited last.'),
    config: text('As it was sent, or edited last.'),
    ext: text('As it was sent, or edited last.'),
    is_system: boolean(),
  }),
  'message.read': ofMessage,
  /** The actor has read everything in all conversations. */
  'message.read_all': payload({}),
  'message.recalled': ofMessage,
  'message.appended': ofMessage,
  'message.replaced': ofMessage,
  'message.delivered': ofMessage,
  /**
   * Retention removed the messages up to this one. Sent where one of them may have referred to a
   * file.
   */
  'message.expired': ofMessage,
}
