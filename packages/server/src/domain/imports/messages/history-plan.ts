/** The decision which messages of a call are imported, without a database. */
import { AppError, type Int64, systemUserId } from '@hermod/protocol'
import { isImportedId, timestampOf } from '../../../lib/ids/ids.js'
import type { ItemOutcome } from '../../item-outcome.js'
import type { ImportedItem } from '../import-model.js'
import { type Conversation, peerOf } from '../../messaging/model/conversation-model.js'
import {
  changedSums,
  changeReactions,
  reactionForm,
  type ReactionSum,
} from '../../messaging/model/reaction-model.js'
import { pinsPerConversation } from '../../messaging/pinned/pinned-message-service.js'
import { type HistoryItem, hashOf, type ImportedMessageAs } from './history-model.js'
import type { ConversationState } from './history-statements.js'

/** The stored state that a call meets. */
export interface HistoryWorld {
  readonly now: number
  /** Items of the source that are stored, by external ID. */
  readonly known: ReadonlyMap<string, ImportedItem>
  /** undefined: the conversation has no message yet, and no row unless it is a group's. */
  stateOf(conversation: Conversation): ConversationState | undefined
  /** The time of the newest message; 0 = none */
  lastTimeOf(conversation: Conversation): number
  /** true: lives, false: is deleted, undefined: there was no such user */
  isPresent(userId: Int64): boolean | undefined
  /** The groups that take messages. */
  readonly groupIds: ReadonlySet<Int64>
}

/** A message that is imported. */
export interface PlannedMessage {
  readonly item: HistoryItem
  readonly hash: string
  readonly leftOut: string[]
  readonly reactions: readonly {
    readonly userId: Int64
    readonly key: string
    readonly at: number
  }[]
  readonly sums: readonly ReactionSum[]
  readonly pinned: HistoryItem['pinned'] | null
  /** Set by the writer. */
  messageId: number
  seq: number
}

/** For each item what becomes of it. */
export type PlannedOutcome = ItemOutcome<ImportedMessageAs | PlannedMessage>

/** Plans a call. Each item is decided with those before it as if they were stored. */
export class HistoryPlan {
  readonly messages: PlannedMessage[] = []
  readonly #byExternalId = new Map<string, PlannedMessage>()
  readonly #lastTimes = new Map<string, number>()

  constructor(
    private readonly world: HistoryWorld,
    /** The pinned messages of conversations that get more. */
    private readonly pins: Map<string, number>,
  ) {}

  add(item: HistoryItem): PlannedOutcome {
    const hash = hashOf(item)
    const known = this.world.known.get(item.externalId)
    if (known) return repeated(known.hash === hash, () => known.itemId as number)
    const before = this.#byExternalId.get(item.externalId)
    if (before) return before.hash === hash ? before : new AppError('import_conflict')
    const refusal = this.#refusal(item)
    if (refusal) return refusal
    const planned = this.#planned(item, hash)
    this.messages.push(planned)
    this.#byExternalId.set(item.externalId, planned)
    this.#lastTimes.set(keyOf(item.conversation), item.createdAt)
    return planned
  }

  /** Finds the message of this call with an external ID. */
  find(externalId: string): PlannedMessage | undefined {
    return this.#byExternalId.get(externalId)
  }

  #refusal({ conversation, senderId, createdAt }: HistoryItem): AppError | null {
    const { world } = this
    const users = conversation.isGroup ? [senderId] : [senderId, peerOf(conversation, senderId)]
    for (const userId of users) {
      const isPresent = userId === systemUserId ? undefined : world.isPresent(userId)
      if (isPresent !== true)
        return new AppError(isPresent === false ? 'user_deleted' : 'user_not_found', `${userId}`)
    }
    if (conversation.isGroup && !world.groupIds.has(conversation.lowId))
      return new AppError('group_not_found')
    const state = world.stateOf(conversation)
    if (state && state.seq > 0 && !isImportedId(state.last_msg_id))
      return new AppError('import_after_live')
    const last = this.#lastTimes.get(keyOf(conversation)) ?? world.lastTimeOf(conversation)
    const lastTime = state && state.seq > 0 && last === 0 ? timestampOf(state.last_msg_id) : last
    return createdAt < lastTime
      ? new AppError('import_order', `created_at must not be before ${lastTime}`)
      : null
  }

  #planned(item: HistoryItem, hash: string): PlannedMessage {
    const leftOut: string[] = []
    const { reactions, sums } = this.#reactions(item, leftOut)
    const pinned = this.#pin(item, leftOut)
    return { item, hash, leftOut, reactions, sums, pinned, messageId: 0, seq: 0 }
  }

  #reactions(
    { reactions }: HistoryItem,
    leftOut: string[],
  ): Pick<PlannedMessage, 'reactions' | 'sums'> {
    if (reactions.length === 0) return { reactions: [], sums: [] }
    const present = reactions.filter(({ userId }) => this.world.isPresent(userId) === true)
    const inOrder = present.toSorted((a, b) => a.createdAt - b.createdAt)
    const { added, refused } = changeReactions(
      [],
      [],
      inOrder.map(({ userId, key }) => ({ userId, key, on: true })),
      'distinct',
    )
    const refusals = refused.filter((each) => each).length
    const absent = reactions.length - present.length
    if (absent > 0) leftOut.push(`reactions: ${absent} of users who do not exist`)
    if (refusals > 0) leftOut.push(`reactions: ${refusals} more than a message takes`)
    // The first one of a user in each form is the one that is kept.
    const times = new Map(
      inOrder
        .toReversed()
        .map(({ userId, key, createdAt }) => [`${userId} ${reactionForm(key)}`, createdAt]),
    )
    return {
      reactions: added.map(({ userId, key }) => ({
        ...{ userId, key },
        at: times.get(`${userId} ${reactionForm(key)}`) ?? 0,
      })),
      sums: changedSums([], { removed: [], added }, new Map()),
    }
  }

  #pin({ pinned, conversation }: HistoryItem, leftOut: string[]): PlannedMessage['pinned'] {
    if (!pinned) return null
    if (pinned.userId !== systemUserId && this.world.isPresent(pinned.userId) !== true) {
      leftOut.push('pinned: of a user who does not exist')
      return null
    }
    const key = keyOf(conversation)
    const count = this.pins.get(key) ?? 0
    if (count >= pinsPerConversation) {
      leftOut.push(`pinned: the conversation has ${count} pinned messages already`)
      return null
    }
    this.pins.set(key, count + 1)
    return { ...pinned, at: Math.min(pinned.at, this.world.now) }
  }
}

function repeated(isSame: boolean, messageId: () => number): PlannedOutcome {
  return isSame
    ? { isNew: false, messageId: messageId(), leftOut: [] }
    : new AppError('import_conflict')
}

/** The name of a conversation in its app. */
export function keyOf({ lowId, highId }: Pick<Conversation, 'lowId' | 'highId'>): string {
  return `${lowId}/${highId}`
}
