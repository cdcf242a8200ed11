import { listPinnedConversations, pinConversation, unpinConversation } from '@hermod/protocol'
import type { PinService } from '../../domain/messaging/conversations/pin-service.js'
import { data, type Handler, handle, whenDone } from '../../pipeline/call.js'

export function pinHandlers({ pins }: { readonly pins: PinService }): Handler[] {
  return [
    handle(pinConversation, ({ conversation_id: conversationId }, { principal }) =>
      whenDone(pins.pin(principal, conversationId)),
    ),
    handle(unpinConversation, ({ conversation_id: conversationId }, { principal }) =>
      whenDone(pins.unpin(principal, conversationId)),
    ),
    handle(listPinnedConversations, async (_, { principal }) =>
      data({ conversation_ids: await pins.list(principal) }),
    ),
  ]
}
