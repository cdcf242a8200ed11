import { listReactions, reactToMessage, targetType } from '@hermod/protocol'
import type { ReactionService } from '../../domain/messaging/reactions/reaction-service.js'
import { type Handler, handle, handleWaiting, whenDone } from '../../pipeline/call.js'

export function reactionHandlers({
  reactions,
}: {
  readonly reactions: ReactionService
}): Handler[] {
  return [
    handleWaiting(
      reactToMessage,
      ({ conversation_id: peerId, type, msg_id: messageId, key, on }, { principal, signal }) =>
        whenDone(
          reactions.react(
            principal,
            {
              peerId,
              targetType: type === targetType.group ? 'group' : 'user',
              messageId,
              key,
              on,
            },
            signal,
          ),
        ),
    ),
    handle(
      listReactions,
      async ({ conversation_id: peerId, msg_id: messageId, ...page }, { principal }) => {
        const found = await reactions.list(principal, { peerId, messageId }, page)
        return {
          data: found.reactions.map(({ userId, key, reactedAt }) => ({
            user_id: userId,
            key,
            time: reactedAt,
          })),
          extras: { ...(found.nextCursor !== null && { cursor: found.nextCursor }) },
        }
      },
    ),
  ]
}
