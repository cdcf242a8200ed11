import { actorEvent } from '@hermod/protocol/events'
import { ConversationStore } from '../../dist/domain/messaging/conversations/conversation-store.js'
import {
  directConversation,
  toEventConversation,
} from '../../dist/domain/messaging/log/conversation-model.js'
import { MessageStore } from '../../dist/domain/messaging/log/message-store.js'
import type { OutboxNode } from './outbox-node.js'

/** Recalls a message between two users as the service does, without its rules. */
export async function recallMessage(
  node: OutboxNode,
  appId: string,
  [from, to]: readonly [number, number],
  messageId: number,
): Promise<void> {
  const conversation = directConversation(appId, from, to)
  const store = new MessageStore(node.database)
  const conversations = new ConversationStore(node.database)
  await node.database.transaction(async (tx) => {
    await conversations.lockForUpdate(tx, conversation)
    const message = await store.find(tx, conversation, messageId)
    if (!message) throw new Error('no such message')
    await store.recall(tx, conversation, message, { by: from, at: node.clock.now() })
    node.outbox.append(
      tx,
      actorEvent(
        'message.recalled',
        { appId, actorId: from, userIds: [from, to] },
        { conversation: toEventConversation(conversation), msg_id: messageId },
      ),
    )
  })
}
