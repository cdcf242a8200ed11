import { recallMessage } from '@hermod/protocol'
import { MessageOperations } from '../../domain/messaging/operations/message-operations.js'
import type { AccountService } from '../../domain/users/account-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'
import { actingUser } from '../acting-user.js'

interface Services {
  readonly accounts: AccountService
  readonly messageOperations: MessageOperations
}

export function recallHandlers({ accounts, messageOperations }: Services): Handler[] {
  return [
    handle(recallMessage, async ({ conversation_id: peerId, msg_id: messageId }, { caller }) => {
      const { userId } = await actingUser(accounts, caller)
      await messageOperations.recall(MessageOperations.actorOf(caller, userId), peerId, messageId)
      return data(true)
    }),
  ]
}
