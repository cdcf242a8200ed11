import { AppError, type Int64 } from '@hermod/protocol'
import type { Queryable } from '../../../db/database.js'
import type { UserKey } from '../../users/user-model.js'
import {
  type Conversation,
  directConversation,
  groupConversation,
  isBroadcastStream,
  peerOf,
} from '../model/conversation-model.js'
import type { BroadcastSenders } from './broadcast-senders.js'
import type { PeerKind, PeerKinds } from './peer-kinds.js'
import type { ReadableLog, ReadRights } from './readable-log.js'

export interface ConversationFinderOptions {
  readonly kinds: PeerKinds
  readonly rights: ReadRights
  readonly broadcastSenders: BroadcastSenders
}

/** Finds the conversations that users name, and checks that they may read them. */
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
   * @throws AppError conversation_not_found when the ID was never given, or the reader is no member
   * of the group
   */
  async getReadable(db: Queryable, reader: UserKey, peerId: Int64): Promise<ReadableLog> {
    const log = await this.findReadable(db, reader, await this.get(db, reader, peerId))
    if (!log) throw new AppError('conversation_not_found')
    return log
  }

  /** @returns null when the user may not read the log */
  async findReadable(db: Queryable, user: UserKey, log: Conversation): Promise<ReadableLog | null> {
    const [readable] = await this.options.rights.check(db, user, [log])
    return readable ?? null
  }

  /**
   * @throws AppError member_required for a group that the user is no member of; else
   * conversation_not_found when the user is no party
   */
  async requireReader(db: Queryable, user: UserKey, log: Conversation): Promise<ReadableLog> {
    const readable = await this.findReadable(db, user, log)
    if (readable) return readable
    const isOfGroup = log.isGroup && (await this.kindOf(db, log.appId, log.lowId)) === 'group'
    throw new AppError(isOfGroup ? 'member_required' : 'conversation_not_found')
  }

  /** @throws AppError conversation_not_found when the ID of the other party is none of a user */
  async requirePeer(db: Queryable, log: ReadableLog): Promise<void> {
    if (log.isGroup) return
    const peerId = isBroadcastStream(log) ? log.highId : peerOf(log, log.userId)
    if ((await this.kindOf(db, log.appId, peerId)) !== 'user')
      throw new AppError('conversation_not_found')
  }

  /**
   * Finds the broadcasts that the other party of a conversation has sent.
   * @param about.mustLook true where the cache of senders must not decide
   * @param about.isLikely true where any broadcast in the app is reason enough to look: reads show
   * new broadcasts before the cache does
   * @returns null when there are none
   */
  async findStream(
    log: ReadableLog,
    about: { readonly mustLook?: boolean; readonly isLikely?: boolean } = {},
  ): Promise<ReadableLog | null> {
    if (log.isGroup) return null
    const senderId = peerOf(log, log.userId)
    const senders = await this.options.broadcastSenders.find(log.appId)
    const mayExist = senders.has(senderId) || about.mustLook || (about.isLikely && senders.size > 0)
    return mayExist ? this.streamOf(log, senderId) : null
  }

  /** The broadcasts of a sender, which all users of the app may read. */
  streamOf(user: UserKey, senderId: Int64): ReadableLog {
    return this.options.rights.streamOf(user, senderId)
  }
}
