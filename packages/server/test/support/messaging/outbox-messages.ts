import type { Tx } from '../../../dist/db/database.js'
import { ConversationStore } from '../../../dist/domain/messaging/conversations/conversation-store.js'
import { insertMessages } from '../../../dist/domain/messaging/log/message-statements.js'
import { MessageStore } from '../../../dist/domain/messaging/log/message-store.js'
import {
  broadcastStream,
  directConversation,
  toEventConversation,
} from '../../../dist/domain/messaging/model/conversation-model.js'
import { messageRow, rowValue } from '../../../dist/domain/messaging/model/message-model.js'
import { encodeRanges } from '../../../dist/domain/messaging/model/message-ranges.js'
import { draft, type OutboxNode } from '../database/outbox-node.js'

const systemId = 0

/**
 * Stores texts to everybody from the system as the service does, without its rules: in a
 * transaction that appends nothing else. Positions begin with 1 in each call.
 */
export async function storeBroadcast(
  node: OutboxNode,
  tx: Tx,
  appId: string,
  texts: readonly string[],
): Promise<void> {
  const conversation = broadcastStream(appId, systemId)
  const messageIds = node.ids.takeReserved(texts.length, await node.outbox.lock(tx, appId))
  const rows = texts.map((text, index) =>
    messageRow(
      { ...draft(appId, [systemId, systemId], text), conversation },
      messageIds[index] as number,
      { now: node.clock.now(), transactionId: null },
    ),
  )
  for (const [index, row] of rows.entries()) rowValue.setSeq(row, index + 1)
  await node.database.bulk(tx, insertMessages, rows)
  const [firstId, lastId] = [messageIds[0] as number, messageIds.at(-1) as number]
  const numbers = { firstSeq: 1, firstChange: 1 }
  const range = { conversation, firstId, lastId, count: texts.length, ...numbers }
  node.outbox.appendBroadcast(tx, appId, lastId, encodeRanges([range]))
}

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
    const recalledSeq = message.seq
    const { seq, alterations } = await conversations.countAlterations(tx, conversation, {
      count: 1,
      recalledSeq,
    })
    node.outbox.append(tx, {
      kind: 'message.recalled',
      appId,
      payload: {
        actor_id: from,
        user_ids: [from, to],
        conversation: toEventConversation(conversation),
        msg_id: messageId,
        seq: recalledSeq,
        sender_id: from,
        is_system: false,
        timestamp: node.clock.now(),
      },
      change: seq + alterations,
    })
  })
}
