import {
  type ChangePage,
  type FoundMessage,
  getMessage,
  type Log,
  type LogChange,
  type LogHead,
  type LogPage,
  listReceipts,
  readChanges,
  readLogHistory,
  type SyncPage,
  syncMessages,
} from '@hermod/protocol'
import type { Change, Tombstone } from '../../domain/messaging/model/change-model.js'
import {
  type Conversation,
  toEventConversation,
} from '../../domain/messaging/model/conversation-model.js'
import type { AnsweredMessage } from '../../domain/messaging/model/message-model.js'
import type { ChangeService } from '../../domain/messaging/reading/change-service.js'
import type { LogHistoryService } from '../../domain/messaging/reading/log-history-service.js'
import type { MessageLookupService } from '../../domain/messaging/reading/message-lookup-service.js'
import { maxSyncBytes } from '../../domain/messaging/reading/page-reads.js'
import { lastChange, logKind } from '../../domain/messaging/sync/head-model.js'
import type { MessageReceiptService } from '../../domain/messaging/sync/message-receipt-service.js'
import type {
  FilledHead,
  SyncResult,
  SyncService,
} from '../../domain/messaging/sync/sync-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'
import { chargeRowsTo } from '../../pipeline/call-cost.js'
import type { Session } from '../../sessions/session.js'
import { type AnsweredReader, type MessageAnswers, toReaderMessage } from './message-answers.js'

const defaultLimit = 100
const defaultWindow = 20

export function syncHandlers({
  changes,
  logHistory,
  messageAnswers,
  messageLookup,
  messageReceipts,
  sync,
}: {
  readonly changes: ChangeService
  readonly logHistory: LogHistoryService
  readonly messageAnswers: MessageAnswers
  readonly messageLookup: MessageLookupService
  readonly messageReceipts: MessageReceiptService
  readonly sync: SyncService
}): Handler[] {
  return [
    handle(syncMessages, async (params, { principal, allowance, session }) => {
      const { after = '', list = false, cursor = '', have = [] } = params
      const { limit = defaultLimit, window = defaultWindow } = params
      const held = have.map(({ log, change }) => ({
        log: namedConversation(principal.appId, log),
        change: Number(change),
      }))
      const joinsSkipped = knowsRuns(session)
      const request = { after, list, cursor, have: held, limit, window, joinsSkipped }
      const page = await sync.sync(principal, request, chargeRowsTo(allowance))
      const messages = page.heads.flatMap(({ head, content }) =>
        content.kind === 'none' ? [] : messagesOf(head.log, content),
      )
      const reader = await messageAnswers.readerOf(principal, messages)
      return data({ ...toSyncPage(page, reader), ...reader.quotes })
    }),
    handle(readChanges, async (params, { principal, session }) => {
      const { log, after_change: after, limit = defaultLimit } = params
      const conversation = namedConversation(principal.appId, log)
      const page = await changes.changesAfter(principal, conversation, {
        after: Number(after),
        limit,
        maxBytes: maxSyncBytes,
        joinsSkipped: knowsRuns(session),
      })
      const reader = await messageAnswers.readerOf(principal, messagesOf(conversation, page))
      const answer: ChangePage = {
        log: toEventConversation(conversation),
        ...(page.changes && { from: Number(after) }),
        changes: (page.changes ?? []).map((each) => toLogChange(conversation, each, reader)),
        next: page.next,
        change: page.end,
        hidden_msg_id: page.hiddenMessageId,
        ...reader.quotes,
      }
      return data(answer)
    }),
    handle(readLogHistory, async (params, { principal }) => {
      const { log, before_seq: before = 0, limit = defaultLimit } = params
      const conversation = namedConversation(principal.appId, log)
      const bounds = { beforeSeq: Number(before), limit, maxBytes: maxSyncBytes }
      const page = await logHistory.messagesBefore(principal, conversation, bounds)
      const reader = await messageAnswers.readerOf(principal, messagesOf(conversation, page))
      const answer: LogPage = {
        log: toEventConversation(conversation),
        messages: page.messages.map((each) => toReaderMessage(conversation, each, reader)),
        from_seq: page.fromSeq,
        before_seq: page.beforeSeq,
        hidden_msg_id: page.hiddenMessageId,
        ...reader.quotes,
      }
      return data(answer)
    }),
    handle(getMessage, async ({ conversation_id: peerId, msg_id: messageId }, { principal }) => {
      const found = await messageLookup.get(principal, peerId, messageId)
      const { conversation } = found
      if ('tombstone' in found) return data({ recalled: toRecalled(conversation, found.tombstone) })
      const reader = await messageAnswers.readerOf(principal, [found])
      const message = toReaderMessage(conversation, found.message, reader)
      return data<FoundMessage>({ message, ...reader.quotes })
    }),
    handle(listReceipts, async ({ conversation_id: groupId, msg_id: messageId }, { principal }) => {
      const { read, unread, gone } = await messageReceipts.list(principal, groupId, messageId)
      return data({ read: [...read], unread: [...unread], gone: [...gone] })
    }),
  ]
}

/** The messages of a page, or of a part of one. */
function messagesOf(
  conversation: Conversation,
  page: {
    readonly messages?: readonly AnsweredMessage['message'][]
    readonly changes?: readonly Change[] | null
  },
): AnsweredMessage[] {
  const { messages = [], changes } = page
  const changed = (changes ?? []).flatMap((change) => ('message' in change ? [change.message] : []))
  return [...messages, ...changed].map((message) => ({ conversation, message }))
}

/** Reports whether the client knows entries of several skipped numbers. */
function knowsRuns(session: Session | null): boolean {
  return session?.features.has('changes.skipped') ?? false
}

function namedConversation(
  appId: string,
  { low_id: lowId, high_id: highId, is_group: isGroup }: Log,
): Conversation {
  return { appId, lowId, highId, isGroup }
}

function toSyncPage(page: SyncResult, reader: AnsweredReader): SyncPage {
  return {
    epoch: page.epoch,
    ...(page.isReset && { reset: 'epoch' as const }),
    ...(page.pos !== null && { pos: page.pos }),
    list: page.isList,
    heads: page.heads.map((each) => toLogHead(each, reader)),
    gone: page.gone.map(toEventConversation),
    user: page.userChanges.map(({ kind, ref }) => ({ kind, ref })),
    more: page.hasMore,
    ...(page.cursor !== null && { cursor: page.cursor }),
  }
}

function toLogHead({ head, content }: FilledHead, reader: AnsweredReader): LogHead {
  const { log, group } = head
  const { kind } = content
  return {
    log: toEventConversation(log),
    kind: logKind(log),
    change: lastChange(head),
    seq: head.seq,
    unread: head.unread,
    read_seq: head.readSeq,
    delivered_seq: head.deliveredSeq,
    peer_read_seq: head.peerReadSeq,
    peer_delivered_seq: head.peerDeliveredSeq,
    latest_msg_id: head.latestMessageId,
    hidden_msg_id: head.hiddenMessageId,
    ...(group && {
      status: group.status,
      version: group.version,
      group_type: group.type,
      joined_msg_id: group.joinedMessageId,
      msg_mute_mode: group.muteMode,
      msg_push_mode: group.pushMode,
    }),
    ...(kind === 'changes' && { from: content.from }),
    changes:
      kind === 'changes' ? content.changes.map((each) => toLogChange(log, each, reader)) : [],
    ...(kind === 'messages' && {
      messages: content.messages.map((each) => toReaderMessage(log, each, reader)),
    }),
  }
}

function toLogChange(
  conversation: Conversation,
  change: Change,
  reader: AnsweredReader,
): LogChange {
  const number = change.change
  switch (change.kind) {
    case 'stored':
    case 'edited': {
      const event = change.kind === 'stored' ? 'message.stored' : 'message.replaced'
      return { event, change: number, data: toReaderMessage(conversation, change.message, reader) }
    }
    case 'recalled': {
      const recalled = toRecalled(conversation, change.tombstone)
      return { event: 'message.recalled', change: number, data: recalled }
    }
    case 'skipped':
      if (change.count !== undefined)
        return {
          event: 'changes.skipped',
          change: number,
          data: { conversation: toEventConversation(conversation), count: change.count },
        }
      return {
        event: 'change.skipped',
        change: number,
        data: {
          conversation: toEventConversation(conversation),
          ...(change.recalled && {
            seq: change.recalled.seq,
            sender_id: change.recalled.senderId,
            is_system: change.recalled.isSystem === 1,
          }),
        },
      }
  }
}

function toRecalled(conversation: Conversation, tombstone: Tombstone) {
  const { messageId, seq, senderId, isSystem, recalledBy, recalledAt } = tombstone
  return {
    actor_id: recalledBy,
    user_ids: [],
    conversation: toEventConversation(conversation),
    msg_id: messageId,
    seq,
    sender_id: senderId,
    is_system: isSystem === 1,
    timestamp: recalledAt,
  }
}
