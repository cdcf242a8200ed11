import { recallMessage } from '@hermod/protocol'
import { type Handler, handle, whenDone } from '../../pipeline/call.js'
import type { HandlerServices } from '../services.js'

export function recallHandlers({
  messageOperations,
}: Pick<HandlerServices, 'messageOperations'>): Handler[] {
  return [
    handle(recallMessage, ({ conversation_id: peerId, msg_id: messageId }, { principal }) =>
      whenDone(messageOperations.recall(principal, peerId, messageId)),
    ),
  ]
}
