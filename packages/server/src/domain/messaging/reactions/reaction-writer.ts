import { AppError, type Int64, type ReactionMode, systemUserId } from '@hermod/protocol'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import { PacedBatches } from '../../../lib/concurrency/paced-batches.js'
import type { Outbox } from '../../../outbox/outbox.js'
import type { AppService } from '../../apps/app-service.js'
import type { GroupCache } from '../../groups/core/group-cache.js'
import type { GroupKey } from '../../groups/core/group-model.js'
import type { User } from '../../users/user-model.js'
import type { ConversationStore } from '../conversations/conversation-store.js'
import type { LoggedMessage, MessageStore } from '../log/message-store.js'
import { type Conversation, toEventConversation } from '../model/conversation-model.js'
import { fieldsOf } from '../model/message-fields.js'
import type { MessageAlterations } from '../operations/message-alterations.js'
import type { RecipientRules } from '../sending/recipient-rules.js'
import {
  changedSums,
  changeReactions,
  keysToRead,
  type ReactionChanges,
  reactionLimits,
  type ReactionSum,
  type WantedReaction,
} from '../model/reaction-model.js'
import type { ReactionStore } from '../log/reaction-store.js'

export interface ReactionWriterOptions {
  readonly database: Database
  readonly store: ReactionStore
  readonly messages: Pick<MessageStore, 'find'>
  readonly conversations: Pick<ConversationStore, 'lockForUpdate'>
  readonly alterations: Pick<MessageAlterations, 'setFields'>
  readonly members: {
    findMany(
      db: Queryable,
      group: GroupKey,
      userIds: readonly Int64[],
    ): Promise<ReadonlyMap<Int64, unknown>>
  }
  readonly users: {
    /** Prevents the deletion of users until the transaction ends. */
    lockManyKeyShare(tx: Tx, appId: string, userIds: readonly Int64[]): Promise<readonly User[]>
  }
  readonly groupCache: Pick<GroupCache, 'findGroup'>
  readonly recipients: Pick<RecipientRules, 'refusal'>
  readonly apps: Pick<AppService, 'get'>
  readonly outbox: Pick<Outbox, 'append'>
  readonly clock: Clock
  readonly maxWaiting: number
}

/** A reaction of a user who may read the message. */
export interface RequestedReaction extends WantedReaction {
  readonly conversation: Conversation
  readonly messageId: number
  /** The other user, or the group. */
  readonly peerId: Int64
  readonly isAdminToken: boolean
}

/** The effect of a transaction on a message. */
interface Written {
  readonly refused: readonly boolean[]
  /** The number of reactions to the message. */
  readonly total: number
}

const maxBatchReactions = 100

/**
 * The times between two transactions for one message: a large group gets each of them as an event for
 * all of its members. A full batch waits for the usual time everywhere, so that no call waits for long.
 */
const paceMs = { usual: 200, many: 1_000, crowd: 5_000 } as const
const manyMembers = 200
const manyReactions = 20
const crowdMembers = 1_000

/**
 * Writes reactions, those that wait for one message together: rows, sums, number and events in one
 * transaction, after which their callers are answered.
 */
export class ReactionWriter {
  readonly #batches: PacedBatches<RequestedReaction>

  constructor(private readonly options: ReactionWriterOptions) {
    this.#batches = new PacedBatches({
      maxBatchSize: maxBatchReactions,
      fullPaceMs: paceMs.usual,
      maxWaiting: options.maxWaiting,
      run: (requests) => this.#write(requests),
      full: () => new AppError('unavailable', 'too many reactions are waiting'),
      dropped: () => new AppError('unavailable', 'the call has ended before the reaction began'),
    })
  }

  /**
   * Resolves when the reaction is durable.
   * @param gone drops the reaction when it is aborted before it has begun
   * @throws AppError reaction_or_pin_limit_reached, message_not_found, member_required, user_deleted,
   * unavailable, storage_failed, and the refusals of a send
   */
  async react(request: RequestedReaction, gone: AbortSignal): Promise<void> {
    const { conversation, messageId } = request
    const { appId, lowId, highId } = conversation
    await this.#batches.add(`${appId}/${lowId}/${highId}/${messageId}`, request, gone)
  }

  /**
   * Returns the reason why the user may not add the reaction now, or null. Removing needs no right
   * but to read.
   */
  async refusal(request: RequestedReaction): Promise<AppError | null> {
    const { conversation, peerId: id, userId, isAdminToken, on } = request
    if (!on) return null
    const target = { type: conversation.isGroup ? 'group' : 'user', id } as const
    const sender = { userId, isAdminToken }
    const name = await this.options.recipients.refusal(conversation.appId, target, sender)
    return name && new AppError(name)
  }

  /** Removes all reactions of a deleted user to a message. The event does not name them. */
  async removeAll(
    tx: Tx,
    conversation: Conversation,
    messageId: number,
    userId: Int64,
  ): Promise<void> {
    const { store, alterations } = this.options
    const message = await this.#lock(tx, conversation, messageId)
    if (!message) return
    const removed = await store.listOfUsers(tx, { ...conversation, messageId }, [userId])
    if (removed.length === 0) return
    const sums = await this.#nextSums(tx, conversation, message, { removed, added: [] })
    const set = { reactions: sums.length === 0 ? null : sums }
    await alterations.setFields(tx, conversation, [{ message, set, actorId: systemUserId }])
  }

  async #write(requests: readonly RequestedReaction[]) {
    const { database, apps } = this.options
    const refusals = await Promise.all(requests.map((each) => this.refusal(each)))
    const [{ conversation, messageId }] = requests as readonly [RequestedReaction]
    const { settings } = await apps.get(conversation.appId)
    const { outcomes, total } = await database.transaction(async (tx) => {
      const { absent, message } = await this.#lockAll(tx, conversation, messageId, requests)
      const errors = requests.map(
        ({ userId }, index) =>
          (message ? null : new AppError('message_not_found')) ??
          absent.get(userId) ??
          refusals[index] ??
          null,
      )
      const accepted = requests.filter((_, index) => errors[index] === null)
      const written = message
        ? await this.#change(tx, conversation, message, {
            wanted: accepted,
            mode: settings.reaction_mode,
          })
        : { refused: [], total: 0 }
      const limited = new Set(accepted.filter((_, index) => written.refused[index]))
      return {
        outcomes: requests.map((each, index) =>
          limited.has(each)
            ? new AppError('reaction_or_pin_limit_reached')
            : (errors[index] ?? null),
        ),
        total: written.total,
      }
    })
    return { outcomes, paceMs: await this.#pace(conversation, total) }
  }

  /**
   * Locks the conversation and the users, so that no reaction of a deleted user is left: of a group
   * the users first, of a direct conversation the conversation first, as a deletion does.
   * @returns the message, and the errors of users who are deleted or no members
   */
  async #lockAll(
    tx: Tx,
    conversation: Conversation,
    messageId: number,
    requests: readonly RequestedReaction[],
  ) {
    const userIds = [...new Set(requests.map(({ userId }) => userId))]
    if (conversation.isGroup) {
      const absent = await this.#lockUsers(tx, conversation, userIds)
      return { absent, message: await this.#lock(tx, conversation, messageId) }
    }
    const message = await this.#lock(tx, conversation, messageId)
    return { absent: await this.#lockUsers(tx, conversation, userIds), message }
  }

  async #lockUsers(
    tx: Tx,
    { appId, lowId: groupId, isGroup }: Conversation,
    userIds: readonly Int64[],
  ): Promise<ReadonlyMap<Int64, AppError>> {
    const { users, members } = this.options
    const errors = new Map<Int64, AppError>()
    const locked = await users.lockManyKeyShare(tx, appId, userIds)
    for (const { userId, isDeleted } of locked)
      if (isDeleted) errors.set(userId, new AppError('user_deleted'))
    if (!isGroup) return errors
    const found = await members.findMany(tx, { appId, groupId }, userIds)
    for (const userId of userIds)
      if (!found.has(userId) && !errors.has(userId))
        errors.set(userId, new AppError('member_required'))
    return errors
  }

  async #lock(
    tx: Tx,
    conversation: Conversation,
    messageId: number,
  ): Promise<LoggedMessage | null> {
    const { conversations, messages } = this.options
    const locked = await conversations.lockForUpdate(tx, conversation)
    return locked && messages.find(tx, conversation, messageId)
  }

  async #change(
    tx: Tx,
    conversation: Conversation,
    message: LoggedMessage,
    { wanted, mode }: { readonly wanted: readonly WantedReaction[]; readonly mode: ReactionMode },
  ): Promise<Written> {
    const { store, alterations, outbox, clock } = this.options
    const { appId } = conversation
    const place = { ...conversation, messageId: message.messageId }
    const sums: readonly ReactionSum[] = fieldsOf(message).reactions ?? []
    if (wanted.length === 0) return { refused: [], total: totalOf(sums) }
    const userIds = [...new Set(wanted.map(({ userId }) => userId))]
    const held = await store.listOfUsers(tx, place, userIds)
    const changes = changeReactions(sums, held, wanted, mode)
    const { refused, removed, added } = changes
    if (removed.length + added.length === 0) return { refused, total: totalOf(sums) }
    const reactions = await this.#nextSums(tx, conversation, message, changes)
    const reacted = [
      ...removed.map(({ userId, key }) => ({ user_id: userId, key, on: false })),
      ...added.map(({ userId, key }) => ({ user_id: userId, key, on: true })),
    ]
    const reactedIds = [...new Set(reacted.map(({ user_id }) => user_id))]
    const actorId = reactedIds.length === 1 ? (reactedIds[0] ?? systemUserId) : systemUserId
    const set = { reactions: reactions.length === 0 ? null : reactions }
    const change = await alterations.setFields(tx, conversation, [
      { message, set, actorId, reacted },
    ])
    const reactedAt = clock.now()
    const rows = added.map((each) => ({ ...each, change, reactedAt }))
    await store.insert(tx, place, rows)
    outbox.append(tx, {
      kind: 'message.reaction',
      appId,
      payload: {
        actor_id: actorId,
        user_ids: reactedIds,
        conversation: toEventConversation(conversation),
        msg_id: message.messageId,
        seq: message.seq,
        reacted,
      },
    })
    return { refused, total: totalOf(reactions) }
  }

  /** Deletes the removed rows. @returns the sums after all changes */
  async #nextSums(
    tx: Tx,
    conversation: Conversation,
    message: LoggedMessage,
    changes: Pick<ReactionChanges, 'removed' | 'added'>,
  ): Promise<ReactionSum[]> {
    const { store } = this.options
    const place = { ...conversation, messageId: message.messageId }
    const sums: readonly ReactionSum[] = fieldsOf(message).reactions ?? []
    await store.delete(tx, place, changes.removed)
    const newest = new Map<string, Int64[]>()
    for (const key of keysToRead(sums, changes))
      newest.set(key, await store.listNewest(tx, place, { key, limit: reactionLimits.latest }))
    return changedSums(sums, changes, newest)
  }

  async #pace(
    { appId, lowId: groupId, isGroup }: Conversation,
    reactions: number,
  ): Promise<number> {
    const group = isGroup ? await this.options.groupCache.findGroup({ appId, groupId }) : null
    const members = group?.memberCount ?? 0
    if (members > crowdMembers) return paceMs.crowd
    return members > manyMembers || reactions > manyReactions ? paceMs.many : paceMs.usual
  }
}

function totalOf(sums: readonly ReactionSum[]): number {
  return sums.reduce((total, { count }) => total + count, 0)
}
