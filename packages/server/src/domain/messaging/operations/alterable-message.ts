import { AppError, groupType, systemUserId } from '@hermod/protocol'
import type { GroupCache } from '../../groups/core/group-cache.js'
import { type Conversation, isBroadcastStream } from '../model/conversation-model.js'

/**
 * Checks that messages of the conversation may have reactions and be pinned: not those of
 * broadcasts, of the system conversation and of chatrooms.
 * @throws AppError message_type_refused
 */
export async function requireAlterable(
  conversation: Conversation,
  groups: Pick<GroupCache, 'findGroup'>,
): Promise<void> {
  const { appId, lowId, isGroup } = conversation
  if (isBroadcastStream(conversation) || lowId === systemUserId)
    throw new AppError(
      'message_type_refused',
      'not for broadcasts and the conversation with the system',
    )
  const group = isGroup ? await groups.findGroup({ appId, groupId: lowId }) : null
  if (group?.type === groupType.chatroom)
    throw new AppError('message_type_refused', 'not in chatrooms')
}
