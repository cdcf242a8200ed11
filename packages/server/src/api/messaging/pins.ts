import { listPinnedConversations, pinConversation, unpinConversation } from '@hermod/protocol'
import { data, type Handler, handle, whenDone } from '../../pipeline/call.js'
import type { HandlerServices } from '../services.js'

export function pinHandlers({ pins }: Pick<HandlerServices, 'pins'>): Handler[] {
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
