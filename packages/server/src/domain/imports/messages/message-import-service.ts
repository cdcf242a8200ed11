import { AppError, groupStatus, type Int64 } from '@hermod/protocol'
import type { Database, Tx } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import type { AppService } from '../../apps/app-service.js'
import type { ItemOutcome } from '../../item-outcome.js'
import {
  type Conversation,
  compareConversations,
  peerOf,
} from '../../messaging/model/conversation-model.js'
import { type ImportKey, importedKind } from '../import-model.js'
import type { ImportStore } from '../import-store.js'
import type { GroupRows, PinRows, UserRows } from '../ports.js'
import { type HistoryItem, type ImportedMessageAs, requireGoodItem } from './history-model.js'
import { HistoryPlan, type HistoryWorld, keyOf, type PlannedOutcome } from './history-plan.js'
import {
  type ConversationState,
  conversationKeyRow,
  findTimes,
  findTimesOfRecalled,
  lockConversations,
  messageKeyRow,
  type TimeOfMessage,
} from './history-statements.js'
import { type HistoryWriter, OvertakenImport } from './history-writer.js'

interface MessageImportOptions {
  readonly database: Database
  readonly apps: Pick<AppService, 'get'>
  readonly imports: ImportStore
  readonly users: UserRows
  readonly groups: Pick<GroupRows, 'findMany'>
  readonly pinnedMessages: Pick<PinRows, 'list'>
  readonly writer: HistoryWriter
  readonly clock: Clock
  readonly maxMessageBytes: number
}

const maxAttempts = 5

/** Imports messages of the past. */
export class MessageImportService {
  constructor(private readonly options: MessageImportOptions) {}

  /**
   * Stores the accepted messages in one transaction.
   * @returns invalid_parameter, message_too_large, user_not_found, user_deleted, group_not_found,
   * import_order, import_after_live, import_conflict
   * @throws AppError app_not_found, import_finished, unavailable
   */
  async import(
    key: ImportKey,
    items: readonly HistoryItem[],
  ): Promise<ItemOutcome<ImportedMessageAs>[]> {
    const { database, apps, clock } = this.options
    await apps.get(key.appId)
    for (let attempt = 1; ; attempt++)
      try {
        const now = clock.now()
        return await database.transaction((tx) => this.#store(tx, key, items, now))
      } catch (error) {
        if (!(error instanceof OvertakenImport)) throw error
        if (attempt === maxAttempts)
          throw new AppError('unavailable', 'the conversations are being written to')
      }
  }

  async #store(
    tx: Tx,
    key: ImportKey,
    items: readonly HistoryItem[],
    now: number,
  ): Promise<ItemOutcome<ImportedMessageAs>[]> {
    const { imports, writer, maxMessageBytes } = this.options
    await imports.open(tx, key, now)
    const world = await this.#look(tx, key, { items, now })
    const plan = new HistoryPlan(world, await this.#countPins(tx, items))
    const outcomes = items.map((item): PlannedOutcome => {
      try {
        if (!world.known.has(item.externalId)) requireGoodItem(item, now, maxMessageBytes)
        return plan.add(item)
      } catch (error) {
        if (error instanceof AppError) return error
        throw error
      }
    })
    await writer.write(tx, key, { plan, world, now })
    const isReported = new Set<unknown>()
    return outcomes.map((outcome) => {
      if (outcome instanceof AppError || 'isNew' in outcome) return outcome
      const { messageId, leftOut } = outcome
      const isNew = !isReported.has(outcome)
      isReported.add(outcome)
      return { isNew, messageId, leftOut: isNew ? leftOut : [] }
    })
  }

  /** Reads what the call meets, and locks it: conversations first, then users. */
  async #look(
    tx: Tx,
    key: ImportKey,
    { items, now }: { readonly items: readonly HistoryItem[]; readonly now: number },
  ): Promise<HistoryWorld> {
    const { database, imports, users, groups } = this.options
    const { appId } = key
    const known = await imports.findItems(tx, key, {
      kind: importedKind.message,
      externalIds: items.flatMap(({ externalId, replyTo }) => [externalId, replyTo ?? externalId]),
    })
    const fresh = items.filter(({ externalId }) => !known.has(externalId))
    const conversations = distinct(fresh)
    const rows = await database.bulk<ConversationState>(
      tx,
      lockConversations,
      conversations.map(conversationKeyRow),
    )
    const states = new Map(rows.map((row) => [keyOfRow(row), row]))
    const locked = await users.lockManyKeyShare(tx, appId, usersOf(fresh))
    const present = new Map(locked.map(({ userId, isDeleted }) => [userId, !isDeleted]))
    const ofGroups = conversations.filter(({ isGroup }) => isGroup).map(({ lowId }) => lowId)
    const found = await groups.findMany(tx, appId, ofGroups)
    const open = [...found.values()].filter(({ status }) => status === groupStatus.normal)
    const times = await this.#lastTimes(tx, conversations, states)
    return {
      now,
      known,
      stateOf: (conversation) => states.get(keyOf(conversation)),
      lastTimeOf: (conversation) => times.get(keyOf(conversation)) ?? 0,
      isPresent: (userId) => present.get(userId),
      groupIds: new Set(open.map(({ groupId }) => groupId)),
    }
  }

  async #lastTimes(
    tx: Tx,
    conversations: readonly Conversation[],
    states: ReadonlyMap<string, ConversationState>,
  ): Promise<Map<string, number>> {
    const { database } = this.options
    const rows = conversations.flatMap((conversation) => {
      const state = states.get(keyOf(conversation))
      return state && state.seq > 0 ? [messageKeyRow(conversation, state.last_msg_id)] : []
    })
    const stored = await database.bulk<TimeOfMessage>(tx, findTimes, rows)
    const recalled = await database.bulk<TimeOfMessage>(tx, findTimesOfRecalled, rows)
    return new Map([...stored, ...recalled].map((row) => [keyOfRow(row), row.sent_at]))
  }

  async #countPins(tx: Tx, items: readonly HistoryItem[]): Promise<Map<string, number>> {
    const counts = new Map<string, number>()
    for (const conversation of distinct(items.filter(({ pinned }) => pinned))) {
      const pins = await this.options.pinnedMessages.list(tx, conversation)
      counts.set(keyOf(conversation), pins.length)
    }
    return counts
  }
}

/** The conversations of messages, in the order in which all transactions lock them. */
function distinct(items: readonly HistoryItem[]): Conversation[] {
  const byKey = new Map(items.map(({ conversation }) => [keyOf(conversation), conversation]))
  return [...byKey.values()].sort(compareConversations)
}

function usersOf(items: readonly HistoryItem[]): Int64[] {
  return items.flatMap(({ conversation, senderId, reactions, pinned }) => [
    senderId,
    ...(conversation.isGroup ? [] : [peerOf(conversation, senderId)]),
    ...reactions.map(({ userId }) => userId),
    ...(pinned ? [pinned.userId] : []),
  ])
}

function keyOfRow(row: Pick<ConversationState, 'low_id' | 'high_id'>): string {
  return keyOf({ lowId: row.low_id, highId: row.high_id })
}
