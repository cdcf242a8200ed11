import {
  AppError,
  contentType,
  findImportedMessages,
  finishImport,
  type FoundImportedMessage,
  getImportStatus,
  groupType,
  type ImportedGroup,
  type ImportedMember,
  type ImportedMessage,
  type ImportSource,
  importGroups,
  importMembers,
  importMessages,
  type Item,
  memberRole,
  type ParamsOf,
} from '@hermod/protocol'
import type {
  GroupImportService,
  GroupItem,
} from '../../domain/imports/groups/group-import-service.js'
import type { MemberImportService } from '../../domain/imports/groups/member-import-service.js'
import type { MemberItem } from '../../domain/imports/groups/member-model.js'
import type { Import } from '../../domain/imports/import-model.js'
import type { ImportService } from '../../domain/imports/import-service.js'
import { conversationAmong, type HistoryItem } from '../../domain/imports/messages/history-model.js'
import type {
  FoundMessage,
  ImportedMessages,
} from '../../domain/imports/messages/imported-messages.js'
import type { MessageImportService } from '../../domain/imports/messages/message-import-service.js'
import type { ItemOutcome } from '../../domain/item-outcome.js'
import { data, type Handler, handle } from '../../pipeline/call.js'
import { itemResults, rawUserId, textOf } from '../item-list.js'

type ValueOf<I> = [I] extends [Item<infer Value>] ? Value : never
type GroupEntry = ValueOf<ParamsOf<typeof importGroups>['groups'][number]>
type MessageEntry = ValueOf<ParamsOf<typeof importMessages>['messages'][number]>
type MemberEntry = ValueOf<ParamsOf<typeof importMembers>['members'][number]>

export function importHandlers({
  imports,
  groupImports,
  importedMessages,
  messageImports,
  memberImports,
}: {
  readonly imports: ImportService
  readonly groupImports: GroupImportService
  readonly importedMessages: ImportedMessages
  readonly messageImports: MessageImportService
  readonly memberImports: MemberImportService
}): Handler[] {
  return [
    handle(importGroups, async ({ app_id: appId, source, groups }) => {
      const results = await itemResults(groups, {
        toEntry: toGroupItem,
        work: (entries) => groupImports.import({ appId, source }, entries),
        toResult: (outcome, item): ImportedGroup => ({
          external_id: textOf(item, 'external_id'),
          ...(outcome instanceof AppError
            ? failed(outcome)
            : { result: resultOf(outcome), group_id: outcome.id }),
        }),
      })
      return data({ results })
    }),
    handle(importMessages, async ({ app_id: appId, source, messages }) => {
      const results = await itemResults(messages, {
        toEntry: (entry) => toHistoryItem(appId, entry),
        work: (entries) => messageImports.import({ appId, source }, entries),
        toResult: (outcome, item): ImportedMessage => ({
          external_id: textOf(item, 'external_id'),
          ...(outcome instanceof AppError
            ? failed(outcome)
            : {
                result: resultOf(outcome),
                msg_id: outcome.messageId,
                ...(outcome.leftOut.length > 0 && { left_out: [...outcome.leftOut] }),
              }),
        }),
      })
      return data({ results })
    }),
    handle(importMembers, async ({ app_id: appId, source, members }) => {
      const results = await itemResults(members, {
        toEntry: (entry) => toMemberItem(appId, entry),
        work: (entries) => memberImports.import({ appId, source }, entries),
        toResult: (outcome, item): ImportedMember => ({
          ...namesOf(item),
          ...(outcome instanceof AppError ? failed(outcome) : { result: resultOf(outcome) }),
        }),
      })
      return data({ results })
    }),
    handle(findImportedMessages, async ({ app_id: appId, source, external_ids }) => {
      const found = await importedMessages.find({ appId, source }, external_ids)
      return data({ messages: found.map(toFoundMessage) })
    }),
    handle(getImportStatus, async ({ app_id: appId }) =>
      data({ sources: (await imports.list(appId)).map(toSource) }),
    ),
    handle(finishImport, async ({ app_id: appId, source }) =>
      data(toSource(await imports.finish({ appId, source }))),
    ),
  ]
}

function toFoundMessage({ lowId, highId, ...message }: FoundMessage): FoundImportedMessage {
  const { externalId, messageId, seq, senderId, sentAt, contentType, replyToId } = message
  const { content, attachment, config, ext } = message
  // A group is the same ID twice, and so is the conversation with oneself.
  const isGroup = lowId === highId && lowId !== senderId
  return {
    ...{ external_id: externalId, msg_id: messageId, seq, sender_id: senderId },
    ...(isGroup ? { group_id: lowId } : { peer_id: lowId === senderId ? highId : lowId }),
    ...{ created_at: sentAt, content_type: contentType, content, attachment, config, ext },
    ...(replyToId !== null && { reply_to: replyToId }),
  }
}

function toGroupItem({
  external_id: externalId,
  owner_id: ownerId,
  name = '',
  avatar = '',
  description = '',
  ext = '',
  type = groupType.private,
  history_visible: isHistoryVisible = true,
  capacity,
  created_at,
}: GroupEntry): GroupItem {
  const createdAt = created_at === undefined ? undefined : Number(created_at)
  return {
    ...{ externalId, ownerId, name, avatar, description, ext, type },
    ...{ isHistoryVisible, capacity, createdAt },
  }
}

function toHistoryItem(appId: string, entry: MessageEntry): ItemOutcome<HistoryItem> {
  const { sender_id: senderId, group_id, peer_id, pinned } = entry
  const conversation = conversationAmong(appId, senderId, { group_id, peer_id })
  if (conversation instanceof AppError) return conversation
  const createdAt = Number(entry.created_at)
  return {
    externalId: entry.external_id,
    createdAt,
    senderId,
    conversation,
    contentType: entry.content_type ?? contentType.text,
    content: entry.content ?? '',
    attachment: entry.attachment ?? '',
    config: entry.config ?? '',
    ext: entry.ext ?? '',
    replyTo: entry.reply_to,
    reactions: (entry.reactions ?? []).map(({ user_id: userId, key, created_at: at }) => ({
      ...{ userId, key, createdAt: Number(at ?? createdAt) },
    })),
    pinned: pinned && { userId: pinned.user_id, at: Number(pinned.at ?? createdAt) },
  }
}

function toMemberItem(appId: string, entry: MemberEntry): ItemOutcome<MemberItem> {
  const { user_id: userId, group_id, peer_id, role, joined_at, last_read } = entry
  const conversation = conversationAmong(appId, userId, { group_id, peer_id })
  if (conversation instanceof AppError) return conversation
  if (peer_id !== undefined && (role !== undefined || joined_at !== undefined))
    return new AppError('invalid_parameter', 'role and joined_at are for groups')
  return {
    userId,
    conversation,
    role: role ?? memberRole.member,
    joinedAt: joined_at === undefined ? undefined : Number(joined_at),
    lastRead: last_read === undefined ? undefined : Number(last_read),
  }
}

function resultOf({ isNew }: { readonly isNew: boolean }) {
  return isNew ? ('stored' as const) : ('known' as const)
}

function failed(error: AppError) {
  return { result: 'failed' as const, code: error.entry.code, reason: error.message }
}

function namesOf(
  item: Item<MemberEntry>,
): Pick<ImportedMember, 'user_id' | 'group_id' | 'peer_id'> {
  if (!('value' in item)) return { user_id: rawUserId(item) }
  const { user_id, group_id, peer_id } = item.value
  return {
    user_id,
    ...(group_id !== undefined && { group_id }),
    ...(peer_id !== undefined && { peer_id }),
  }
}

function toSource(found: Import): ImportSource {
  const { source, itemGroups, itemMessages, startedAt, updatedAt, finishedAt } = found
  return {
    ...{ source, groups: itemGroups, messages: itemMessages },
    ...{ started_at: startedAt, updated_at: updatedAt, finished_at: finishedAt ?? 0 },
  }
}
