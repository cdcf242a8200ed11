import { recallMessage } from '@hermod/protocol'
import type { MessageOperations } from '../../domain/messaging/operations/message-operations.js'
import { type Handler, handle, whenDone } from '../../pipeline/call.js'

export function recallHandlers({
  messageOperations,
}: {
  readonly messageOperations: MessageOperations
}): Handler[] {
  return [
    handle(recallMessage, ({ conversation_id: peerId, msg_id: messageId }, { principal }) =>
      whenDone(messageOperations.recall(principal, peerId, messageId)),
    ),
  ]
}
