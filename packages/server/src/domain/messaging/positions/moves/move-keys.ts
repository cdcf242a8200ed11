/** Keys of the rows that moves lock, each once. Loaded by the writer's thread too. */
import { keyText } from '../../../../lib/ids/key-text.js'
import { conversationKeyRow } from '../../conversations/conversation-statements.js'
import { type ConversationKey, compareConversations } from '../../model/conversation-model.js'

export function conversationText({ appId, lowId, highId }: ConversationKey): string {
  return keyText(appId, lowId, highId)
}

/** The conversations of moves, in the order in which all transactions lock them. */
export function conversationKeys(
  moves: readonly { readonly conversation: ConversationKey }[],
): (readonly unknown[])[] {
  return distinct(moves, ({ conversation }) => conversationText(conversation))
    .map(({ conversation }) => conversation)
    .sort(compareConversations)
    .map(conversationKeyRow)
}

/** The last one of the items with the same text. */
export function distinct<Item>(items: readonly Item[], textOf: (item: Item) => string): Item[] {
  return [...new Map(items.map((item) => [textOf(item), item])).values()]
}
