/** Messages of another system, and the rules that need no database. */
import { createHash } from 'node:crypto'
import { AppError, type Int64 } from '@hermod/protocol'
import { minuteMs } from '../../../lib/clock.js'
import {
  epochMs,
  importedId,
  importedIdsPerMinute,
  importedIdsPerTick,
} from '../../../lib/ids/ids.js'
import type { ItemOutcome } from '../../item-outcome.js'
import {
  type Conversation,
  directConversation,
  groupConversation,
} from '../../messaging/model/conversation-model.js'
import {
  type MessageContent,
  requireSize,
  typingStateOf,
} from '../../messaging/model/message-content.js'

/** A message to import. */
export interface HistoryItem extends MessageContent {
  readonly externalId: string
  readonly createdAt: number
  readonly senderId: Int64
  readonly conversation: Conversation
  /** The external ID of the original of a reply. */
  readonly replyTo: string | undefined
  readonly reactions: readonly {
    readonly userId: Int64
    readonly key: string
    readonly createdAt: number
  }[]
  /** `userId` 0: an administrator */
  readonly pinned: { readonly userId: Int64; readonly at: number } | undefined
}

/** The result of one message. */
export interface ImportedMessageAs {
  readonly isNew: boolean
  readonly messageId: number
  /** The parts that the stored message lacks, with the reasons. */
  readonly leftOut: readonly string[]
}

/** Messages are not older. */
const firstInstant = Date.UTC(2000, 0, 1)

/**
 * Checks a message by itself.
 * @throws AppError invalid_parameter, message_too_large
 */
export function requireGoodItem(item: HistoryItem, now: number, maxMessageBytes: number): void {
  if (!(item.createdAt >= firstInstant && item.createdAt <= now))
    throw new AppError('invalid_parameter', 'created_at must be from 2000 on and not in the future')
  if (item.content === '' && item.attachment === '')
    throw new AppError('invalid_parameter', 'content is required without attachment')
  if (typingStateOf(item) !== null)
    throw new AppError('invalid_parameter', 'a typing signal is no message')
  requireSize(item, maxMessageBytes)
}

/** Returns the conversation that an item names: that of a group, or of a user with a peer. */
export function conversationAmong(
  appId: string,
  userId: Int64,
  {
    group_id,
    peer_id,
  }: { readonly group_id?: Int64 | undefined; readonly peer_id?: Int64 | undefined },
): ItemOutcome<Conversation> {
  if (group_id !== undefined && peer_id === undefined) return groupConversation(appId, group_id)
  if (peer_id !== undefined && group_id === undefined)
    return directConversation(appId, userId, peer_id)
  return new AppError('invalid_parameter', 'either group_id or peer_id is required')
}

/** A hash of what makes two messages the same. */
export function hashOf(item: HistoryItem): string {
  const { conversation, senderId, createdAt, contentType, content, attachment, config, ext } = item
  const { lowId, highId, isGroup } = conversation
  const same = [lowId, highId, senderId].map(String)
  const text = JSON.stringify([
    ...same,
    ...[isGroup, createdAt, contentType, content, attachment, config, ext],
  ])
  return createHash('sha256').update(text).digest('base64url').slice(0, 22)
}

/**
 * The minute whose IDs a message gets, counted from the epoch of IDs. Messages from before the epoch
 * share the first one.
 */
export function minuteOf(createdAt: number): number {
  return Math.max(0, Math.floor((createdAt - epochMs) / minuteMs))
}

/** The ID of a message by its number among the imported messages of its minute, from 0. */
export function idInMinute(minute: number, number: number): number {
  if (number >= importedIdsPerMinute)
    throw new AppError(
      'invalid_parameter',
      `created_at: an application takes at most ${importedIdsPerMinute} imported messages of one minute`,
    )
  const ms = epochMs + minute * minuteMs
  return importedId(ms + Math.floor(number / importedIdsPerTick), number % importedIdsPerTick)
}
