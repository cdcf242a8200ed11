import { listPinnedMessages, pinMessage, unpinMessage } from '@hermod/protocol'
import type { PinnedMessageService } from '../../domain/messaging/pinned/pinned-message-service.js'
import { data, type Handler, handle, whenDone } from '../../pipeline/call.js'
import { type MessageAnswers, toReaderMessage } from './message-answers.js'

export function pinnedMessageHandlers({
  messageAnswers,
  pinnedMessages,
}: {
  readonly messageAnswers: MessageAnswers
  readonly pinnedMessages: PinnedMessageService
}): Handler[] {
  return [
    handle(pinMessage, ({ conversation_id: peerId, msg_id: messageId }, { principal }) =>
      whenDone(pinnedMessages.pin(principal, peerId, messageId)),
    ),
    handle(unpinMessage, ({ conversation_id: peerId, msg_id: messageId }, { principal }) =>
      whenDone(pinnedMessages.unpin(principal, peerId, messageId)),
    ),
    handle(listPinnedMessages, async ({ conversation_id: peerId }, { principal }) => {
      const found = await pinnedMessages.list(principal, peerId)
      const messages = found.flatMap((each) => ('message' in each ? [each] : []))
      const reader = await messageAnswers.readerOf(principal, messages)
      return data({
        messages: messages.map(({ conversation, message }) =>
          toReaderMessage(conversation, message, reader),
        ),
        ...reader.quotes,
      })
    }),
  ]
}
