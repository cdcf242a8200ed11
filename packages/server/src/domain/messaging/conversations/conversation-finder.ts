import { AppError, type Int64 } from '@hermod/protocol'
import type { Queryable } from '../../../db/database.js'
import type { GroupCache } from '../../groups/core/group-cache.js'
import type { UserKey } from '../../users/user-model.js'
import {
  broadcastStream,
  type Conversation,
  directConversation,
  groupConversation,
  isBroadcastStream,
  partiesOf,
  peerOf,
} from '../model/conversation-model.js'
import type { BroadcastSenders } from './broadcast-senders.js'
import type { PeerKind, PeerKinds } from './peer-kinds.js'

export interface ConversationFinderOptions {
  readonly kinds: PeerKinds
  readonly groupCache: GroupCache
  readonly broadcastSenders: BroadcastSenders
}

/** Finds the conversation of a user that the ID of another user or of a group names. */
export class ConversationFinder {
  constructor(private readonly options: ConversationFinderOptions) {}

  /** @returns null when the ID was never given */
  async kindOf(db: Queryable, appId: string, peerId: Int64): Promise<PeerKind | null> {
    return this.options.kinds.find(db, appId, peerId)
  }

  /** @returns null when the ID was never given */
  async find(
    db: Queryable,
    { appId, userId }: UserKey,
    peerId: Int64,
  ): Promise<Conversation | null> {
    const kind = await this.options.kinds.find(db, appId, peerId)
    if (kind === 'group') return groupConversation(appId, peerId)
    return kind && directConversation(appId, userId, peerId)
  }

  /** @throws AppError conversation_not_found when the ID was never given */
  async get(db: Queryable, reader: UserKey, peerId: Int64): Promise<Conversation> {
    const conversation = await this.find(db, reader, peerId)
    if (!conversation) throw new AppError('conversation_not_found')
    return conversation
  }

  /**
   * Finds the broadcasts that the other party of a conversation has sent.
   * @param about.mustLook true where the cache of senders must not decide
   * @param about.isLikely true where any broadcast in the app is reason enough to look: reads show new broadcasts before the cache does
   * @returns null when there are none
   */
  async findStream(
    { appId, isGroup, ...pair }: Conversation,
    userId: Int64,
    about: { readonly mustLook?: boolean; readonly isLikely?: boolean } = {},
  ): Promise<Conversation | null> {
    if (isGroup) return null
    const senderId = peerOf(pair, userId)
    const senders = await this.options.broadcastSenders.find(appId)
    const mayExist = senders.has(senderId) || about.mustLook || (about.isLikely && senders.size > 0)
    return mayExist ? broadcastStream(appId, senderId) : null
  }

  /** @throws AppError member_required */
  async requireMember(reader: UserKey, groupId: Int64): Promise<void> {
    if (!(await this.#isMember(reader, groupId))) throw new AppError('member_required')
  }

  /**
   * @throws AppError conversation_not_found when the user is no party of the log, or there is no such user or group; member_required for
   *   a group that the user is no member of
   */
  async requireReader(db: Queryable, reader: UserKey, log: Conversation): Promise<void> {
    const { isGroup, lowId, highId } = log
    const [party] = partiesOf(log, reader.userId)
    if (!isGroup && !isBroadcastStream(log) && party === undefined)
      throw new AppError('conversation_not_found')
    const peerId = isGroup || party === 'second' ? lowId : highId
    const kind = await this.kindOf(db, reader.appId, peerId)
    if (kind !== (isGroup ? 'group' : 'user')) throw new AppError('conversation_not_found')
    if (isGroup) await this.requireMember(reader, lowId)
  }

  /** @throws AppError conversation_not_found for a group that the user is no member of */
  async requireParty({ appId, isGroup, lowId }: Conversation, userId: Int64): Promise<void> {
    if (isGroup && !(await this.#isMember({ appId, userId }, lowId)))
      throw new AppError('conversation_not_found')
  }

  async #isMember({ appId, userId }: UserKey, groupId: Int64): Promise<boolean> {
    return (await this.options.groupCache.findMember({ appId, groupId }, userId)) !== null
  }
}
