import { listPinnedConversations, pinConversation, unpinConversation } from '@hermod/protocol'
import type { PinService } from '../../domain/messaging/reading/pin-service.js'
import type { AccountService } from '../../domain/users/account-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'
import { actingUser } from '../acting-user.js'

interface Services {
  readonly accounts: AccountService
  readonly pins: PinService
}

export function pinHandlers({ accounts, pins }: Services): Handler[] {
  return [
    handle(pinConversation, async ({ conversation_id: conversationId }, { caller }) => {
      await pins.pin(await actingUser(accounts, caller), conversationId)
      return data(true)
    }),
    handle(unpinConversation, async ({ conversation_id: conversationId }, { caller }) => {
      await pins.unpin(await actingUser(accounts, caller), conversationId)
      return data(true)
    }),
    handle(listPinnedConversations, async (_, { caller }) =>
      data({ conversation_ids: await pins.list(await actingUser(accounts, caller)) }),
    ),
  ]
}
