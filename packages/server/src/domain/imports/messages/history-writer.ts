import { alterationKind, type Int64 } from '@hermod/protocol'
import type { Database, Tx } from '../../../db/database.js'
import { leadOf } from '../../../lib/ids/ids.js'
import { groupBy } from '../../../lib/group-by.js'
import type { FileReferenceService } from '../../files/references/file-reference-service.js'
import { mayReferToFiles, messageReferrer } from '../../files/references/reference-model.js'
import { type ImportedItem, type ImportKey, importedKind } from '../import-model.js'
import type { ImportStore } from '../import-store.js'
import type { PinRows, ReactionRows, ReaderRows } from '../ports.js'
import {
  type AdvancedConversation,
  advanceConversations,
  conversationKeyRow,
  type FurthestReadersRow,
  furthestReadersRow,
  idsAheadRow,
  lastMessageIdRow,
  lockFurthestReaders,
  setFurthestReaders,
  setIdsAhead,
  setLastMessageIds,
} from '../../messaging/conversations/conversation-statements.js'
import { insertMessages } from '../../messaging/log/message-statements.js'
import {
  type Conversation,
  compareConversations,
  readersOf,
} from '../../messaging/model/conversation-model.js'
import { withReader } from '../../messaging/model/furthest-readers.js'
import { changedFields } from '../../messaging/model/message-fields.js'
import {
  type MessageRow,
  messageRow,
  type ReplyTo,
  rowValue,
} from '../../messaging/model/message-model.js'
import type { MessageAlterations } from '../../messaging/operations/message-alterations.js'
import type { ReaderKey } from '../../messaging/readers/reader-positions.js'
import {
  advancedReaderRow,
  advanceReaders,
  compareReaders,
  noStart,
  type ReadRange,
  readerOf,
} from '../../messaging/readers/reader-statements.js'
import {
  type ConversationMessages,
  conversationRow,
  firstIdOf,
  lastIdOf,
} from '../../messaging/sending/conversation-messages.js'
import { idInMinute, minuteOf } from './history-model.js'
import { type HistoryPlan, type HistoryWorld, keyOf, type PlannedMessage } from './history-plan.js'

export interface HistoryWriterOptions {
  readonly database: Database
  readonly imports: Pick<ImportStore, 'takeNumbers' | 'insertItems' | 'count'>
  readonly readers: ReaderRows
  readonly alterations: Pick<MessageAlterations, 'append'>
  readonly reactions: ReactionRows
  readonly pinnedMessages: Pick<PinRows, 'insert'>
  readonly files: Pick<FileReferenceService, 'refreshIn'>
}

/** A conversation got a live message meanwhile; the whole call is planned again. */
export class OvertakenImport extends Error {
  override readonly name = 'OvertakenImport'
}

/** The messages of one conversation that are imported together. */
interface ImportedLog extends ConversationMessages {
  readonly conversation: Conversation
  readonly messages: readonly PlannedMessage[]
}

/**
 * Stores planned messages: as sends do, with the times of the past, and without events. The
 * conversations are locked.
 */
export class HistoryWriter {
  constructor(private readonly options: HistoryWriterOptions) {}

  /** @throws OvertakenImport */
  async write(
    tx: Tx,
    key: ImportKey,
    {
      plan,
      world,
      now,
    }: { readonly plan: HistoryPlan; readonly world: HistoryWorld; readonly now: number },
  ): Promise<void> {
    if (plan.messages.length === 0) return
    const { database, imports } = this.options
    await this.#takeIds(tx, key.appId, plan.messages)
    const logs = logsOf(plan.messages)
    await this.#takePositions(tx, logs, world)
    this.#resolveReplies(plan, world, logs)
    await this.#moveReaders(tx, logs, world)
    await database.bulk(
      tx,
      insertMessages,
      logs.flatMap(({ rows }) => rows),
    )
    for (const log of logs) await this.#writeFields(tx, log, now)
    await imports.insertItems(
      tx,
      logs.flatMap((log) => itemsOf(key, log)),
    )
    await imports.count(tx, key, { messages: plan.messages.length, now })
    await this.#referToFiles(tx, key.appId, plan.messages)
  }

  /** Gives messages their IDs, in their order within each minute. */
  async #takeIds(tx: Tx, appId: string, messages: readonly PlannedMessage[]): Promise<void> {
    const byMinute = groupBy(messages, ({ item }) => minuteOf(item.createdAt))
    const counts = new Map([...byMinute].map(([minute, { length }]) => [minute, length]))
    const firsts = await this.options.imports.takeNumbers(tx, appId, counts)
    for (const [minute, ofMinute] of byMinute)
      for (const [index, message] of ofMinute.entries())
        message.messageId = idInMinute(minute, (firsts.get(minute) ?? 0) + index)
  }

  async #takePositions(tx: Tx, logs: readonly ImportedLog[], world: HistoryWorld): Promise<void> {
    const { database } = this.options
    const ends = await database.bulk<AdvancedConversation>(
      tx,
      advanceConversations,
      logs.map(conversationRow),
    )
    const byKey = new Map(
      ends.map((end) => [keyOf({ lowId: end.low_id, highId: end.high_id }), end]),
    )
    for (const log of logs) {
      const { conversation, rows, messages } = log
      const before = world.stateOf(conversation)?.seq ?? 0
      const end = byKey.get(keyOf(conversation))
      if (end?.seq !== before + rows.length || end.last_msg_id !== firstIdOf(log))
        throw new OvertakenImport('a conversation has changed during an import')
      for (const [index, row] of rows.entries()) {
        rowValue.setSeq(row, before + 1 + index)
        ;(messages[index] as PlannedMessage).seq = before + 1 + index
      }
    }
    const longer = logs.filter(({ rows }) => rows.length > 1)
    await database.bulk(
      tx,
      setLastMessageIds,
      longer.map((log) => lastMessageIdRow(log.conversation, lastIdOf(log))),
    )
    const ahead = logs.flatMap((log) => {
      const leadMs = Math.max(
        ...log.messages.map(({ messageId, item }) => leadOf(messageId, item.createdAt)),
      )
      const known = world.stateOf(log.conversation)?.ids_ahead_ms ?? 0
      return leadMs > known ? [idsAheadRow(log.conversation, leadMs)] : []
    })
    await database.bulk(tx, setIdsAhead, ahead)
  }

  #resolveReplies(plan: HistoryPlan, world: HistoryWorld, logs: readonly ImportedLog[]): void {
    for (const { conversation, messages, rows } of logs)
      for (const [index, { item, seq, leftOut }] of messages.entries()) {
        if (item.replyTo === undefined) continue
        const original = findOriginal(item.replyTo, conversation, { plan, world })
        if (original && original.seq < seq) rowValue.setReplyTo(rows[index] as MessageRow, original)
        else leftOut.push('reply_to: not an earlier message of this source and conversation')
      }
  }

  /** Moves the positions of senders, and of readers who had read everything, to the new end. */
  async #moveReaders(tx: Tx, logs: readonly ImportedLog[], world: HistoryWorld): Promise<void> {
    const { database, readers } = this.options
    const inserted: ReaderKey[] = []
    const advanced: ReadRange[] = []
    const moved = new Map<ImportedLog, ReadonlySet<Int64>>()
    for (const log of logs) {
      const range = rangeOf(log, world)
      const parties = log.isGroup ? [] : readersOf(log.conversation)
      for (const userId of parties) {
        const reader = readerOf(log.conversation, userId)
        if (range.from === 0) inserted.push(reader)
        advanced.push({ reader, ...range })
      }
      if (log.isGroup)
        moved.set(log, new Set(await readers.advanceMembers(tx, log.conversation, range)))
    }
    await readers.insert(tx, inserted, noStart)
    await readers.advanceRead(tx, advanced)
    await database.bulk(
      tx,
      advanceReaders,
      [...moved].flatMap(([log, members]) => senderRows(log, members)),
    )
    await this.#moveFurthest(tx, moved)
  }

  /** Two of the readers at the end stand for all of them. */
  async #moveFurthest(tx: Tx, moved: ReadonlyMap<ImportedLog, ReadonlySet<Int64>>): Promise<void> {
    const { database } = this.options
    const read = [...moved].filter(([, members]) => members.size > 0)
    const found = await database.bulk<FurthestReadersRow>(
      tx,
      lockFurthestReaders,
      read.map(([{ conversation }]) => conversationKeyRow(conversation)),
    )
    const byKey = new Map(
      found.map((row) => [keyOf({ lowId: row.low_id, highId: row.high_id }), row]),
    )
    const rows = read.flatMap(([{ conversation, rows: messages }, members]) => {
      const row = byKey.get(keyOf(conversation))
      if (!row) return []
      const end = rowValue.seq(messages.at(-1) as MessageRow)
      const before = { id: row.furthest_id, seq: row.furthest_seq, othersSeq: row.others_seq }
      const after = [...members]
        .slice(0, 2)
        .reduce((readers, userId) => withReader(readers, userId, end), before)
      return [furthestReadersRow(conversation, after)]
    })
    await database.bulk(tx, setFurthestReaders, rows)
  }

  /** Records reactions and pins, each message with one number of the change log. */
  async #writeFields(tx: Tx, { conversation, messages }: ImportedLog, now: number): Promise<void> {
    const { alterations, reactions, pinnedMessages } = this.options
    const altered = messages.filter(({ sums, pinned }) => sums.length > 0 || pinned)
    if (altered.length === 0) return
    const first = await alterations.append(tx, conversation, altered, alterationKind.updated)
    await reactions.insertMany(
      tx,
      altered.flatMap(({ messageId, reactions: added }, index) =>
        added.map(({ userId, key, at }) => ({
          message: { ...conversation, messageId },
          reaction: { userId, key, change: first + index, reactedAt: Math.min(at, now) },
        })),
      ),
    )
    for (const { messageId, pinned } of altered)
      if (pinned)
        await pinnedMessages.insert(tx, conversation, {
          messageId,
          by: pinned.userId,
          at: pinned.at,
        })
  }

  /** Within the transaction, so that no removal of unused files comes first. */
  async #referToFiles(tx: Tx, appId: string, messages: readonly PlannedMessage[]): Promise<void> {
    const referring = messages.filter(({ item }) => mayReferToFiles(item.attachment))
    await this.options.files.refreshIn(
      tx,
      appId,
      referring.map(({ item: { conversation }, messageId }) =>
        messageReferrer(conversation.lowId, conversation.highId, messageId),
      ),
    )
  }
}

/** The messages by conversation, in the order in which all transactions lock conversations. */
function logsOf(messages: readonly PlannedMessage[]): ImportedLog[] {
  const byKey = groupBy(messages, ({ item }) => keyOf(item.conversation))
  const logs = [...byKey.values()].map((ofLog): ImportedLog => {
    const { conversation } = (ofLog[0] as PlannedMessage).item
    const { isGroup } = conversation
    return {
      ...{ conversation, isGroup, messages: ofLog, rows: ofLog.map(rowOf) },
      ...{ alterations: 0, receipts: [] },
    }
  })
  return logs.sort((a, b) => compareConversations(a.conversation, b.conversation))
}

function rowOf({ item, messageId, sums, pinned }: PlannedMessage): MessageRow {
  const draft = { ...item, senderDeviceSn: 0, isSystem: false, replyTo: undefined }
  const row = messageRow(draft, messageId, { now: item.createdAt, transactionId: null })
  const set = {
    ...(sums.length > 0 && { reactions: [...sums] }),
    ...(pinned && { pinned: { by: pinned.userId, at: pinned.at } }),
  }
  rowValue.setFields(row, changedFields({ fields: null }, set))
  return row
}

/** The position before the messages, and that of the last one. */
function rangeOf({ conversation, rows }: ImportedLog, world: HistoryWorld) {
  const from = world.stateOf(conversation)?.seq ?? 0
  return { from, to: from + rows.length }
}

/** Finds the original of a reply among the messages of this call and the stored ones. */
function findOriginal(
  externalId: string,
  conversation: Conversation,
  { plan, world }: { readonly plan: HistoryPlan; readonly world: HistoryWorld },
): ReplyTo | null {
  const planned = plan.find(externalId)
  const isHere = planned && keyOf(planned.item.conversation) === keyOf(conversation)
  if (isHere) return { messageId: planned.messageId, seq: planned.seq }
  const known = world.known.get(externalId)
  return known && keyOf(known) === keyOf(conversation)
    ? { messageId: Number(known.itemId), seq: known.seq }
    : null
}

/** The positions of senders who had not read everything. */
function senderRows({ conversation, messages }: ImportedLog, moved: ReadonlySet<Int64>) {
  const positions = new Map(messages.map(({ item, seq }) => [item.senderId, seq]))
  return [...positions]
    .filter(([userId]) => !moved.has(userId))
    .map(([userId, seq]) => ({ reader: readerOf(conversation, userId), seq }))
    .sort((a, b) => compareReaders(a.reader, b.reader))
    .map(({ reader, seq }) => advancedReaderRow(reader, seq))
}

function itemsOf({ appId, source }: ImportKey, { conversation, messages }: ImportedLog) {
  const { lowId, highId } = conversation
  return messages.map(
    ({ item: { externalId, senderId }, hash, messageId, seq }): ImportedItem => ({
      ...{ appId, source, kind: importedKind.message, externalId, itemId: messageId },
      ...{ lowId, highId, seq, hash, userId: senderId },
    }),
  )
}
