import { meaningsOf, userChangeKind } from '../enums.js'
import { eventConversation, eventMessage, messageEvents } from '../events/messages.js'
import { ownReactions } from '../message-fields.js'
import { resource } from '../resource.js'
import {
  array,
  boolean,
  int32,
  int64,
  intEnum,
  optional,
  type Static,
  stringEnum,
  Type,
  text,
} from '../schema.js'
import { quotes } from './quotes.js'

/** The log of a conversation; the same object as `conversation` of messages and events. */
export const Log = eventConversation
/** Both parties of a conversation, the smaller ID first; of a group its ID twice. */
export type Log = Static<typeof Log>

/** A message for clients that keep a copy of the log. */
export const SyncMessage = resource(
  'SyncMessage',
  'A message, in the shape that events and sync share.',
  { ...eventMessage.properties, own: ownReactions },
)
/** A message in the shape of events and sync. */
export type SyncMessage = Static<typeof SyncMessage>

const RecalledMessage = resource(
  'RecalledMessage',
  'A message that was recalled.',
  messageEvents['message.recalled'].payload.properties,
)

/** Data of /message/get: one of the two. */
export const FoundMessage = resource('FoundMessage', 'A message, or the rest of a recalled one.', {
  message: optional(SyncMessage),
  recalled: optional(RecalledMessage),
  quotes,
})
/** A message or the tombstone of one. */
export type FoundMessage = Static<typeof FoundMessage>

/** Data of /message/pinned. */
export const PinnedMessages = resource('PinnedMessages', 'The pinned messages of a conversation.', {
  messages: array(SyncMessage, { description: 'the one pinned last first' }),
  quotes,
})

const SkippedChange = resource(
  'SkippedChange',
  'A number whose message the caller does not see.',
  messageEvents['change.skipped'].payload.properties,
)

const SkippedChanges = resource(
  'SkippedChanges',
  'Numbers in a row without anything for the caller, for sessions with the feature changes.skipped.',
  {
    conversation: eventConversation,
    count: int64({ description: 'how many: the number of the entry is the last of them' }),
  },
)

/** A change of a log, in the form of the frame that brings it to connected devices. */
export const LogChange = resource('LogChange', 'A change of a log, as the frame of its event.', {
  event: stringEnum(
    [
      'message.stored',
      'message.replaced',
      'message.recalled',
      'change.skipped',
      'changes.skipped',
    ] as const,
    {
      description:
        'message.replaced stands for every edit, also an append, and for message.updated; the kind of the event of connected devices may differ',
    },
  ),
  change: int64({ description: 'number in the log, dense from 1' }),
  data: Type.Union([SyncMessage, RecalledMessage, SkippedChange, SkippedChanges], {
    description: 'the message of message.stored and message.replaced, with its present texts',
  }),
})
/** A change of a log. Each number of a span has one, or is in one of several numbers. */
export type LogChange = Static<typeof LogChange>

/** Data of /message/changes. */
export const ChangePage = resource('ChangePage', 'A page of the changes of a log.', {
  log: Log,
  from: optional(
    int64({
      description:
        'after_change; absent when the following changes are not stored any more, or the log ends before it',
    }),
  ),
  changes: array(LogChange, {
    description:
      'in order, for each number from from + 1 to next; only changes.skipped has several',
  }),
  next: int64({ description: 'number after which the next page begins' }),
  change: int64({ description: 'number of the latest change of the log' }),
  hidden_msg_id: int64({
    description: 'messages up to and including this one are hidden from the caller',
  }),
  quotes,
})
/** Without `from` the client drops the messages of the log and takes `next` as its number. */
export type ChangePage = Static<typeof ChangePage>

/** Data of /message/history. */
export const LogPage = resource('LogPage', 'A page of the messages of a log.', {
  log: Log,
  messages: array(SyncMessage, { description: 'newest first' }),
  from_seq: int64({
    description: 'the page has all messages from this position on; 1: the first position',
  }),
  before_seq: int64({
    description: 'the page ends before this position: that of the call, or the end of the log',
  }),
  hidden_msg_id: int64({
    description: 'messages up to and including this one are hidden from the caller, or removed',
  }),
  quotes,
})
/** A page of the messages of a log. */
export type LogPage = Static<typeof LogPage>

/** The state of a log for one user, read at one moment. */
export const LogHead = resource('LogHead', 'The state of a log for the caller.', {
  log: Log,
  kind: stringEnum(['direct', 'group', 'broadcast'] as const, { description: 'kind of the log' }),
  change: int64({ description: 'number of the latest change; 0: none yet' }),
  seq: int64({ description: 'position of the newest message; 0: none yet' }),
  unread: int64({ description: 'messages that the caller has not read' }),
  read_seq: int64({ description: 'the caller has read up to this position' }),
  delivered_seq: int64({ description: 'a device of the caller has received up to this position' }),
  peer_read_seq: int64({
    description:
      'the other party has read up to this position; in a group with read_ack, any other member; else 0',
  }),
  peer_delivered_seq: int64({
    description: 'a device of the other party has received up to this position; else 0',
  }),
  latest_msg_id: int64({ description: 'newest message that the caller sees; 0: none' }),
  hidden_msg_id: int64({
    description: 'messages up to and including this one are hidden from the caller, or removed',
  }),
  status: optional(int32({ description: 'of a group: 0 normal, 1 dissolved' })),
  version: optional(int64({ description: 'of a group: number of its changes' })),
  group_type: optional(
    int32({ description: 'of a group: 0 private, 1 public, 2 chatroom, 3 temporary' }),
  ),
  joined_msg_id: optional(
    int64({ description: 'of a group: last message before the caller joined' }),
  ),
  msg_mute_mode: optional(int32({ description: "of a group: the caller's mode" })),
  msg_push_mode: optional(int32({ description: "of a group: the caller's mode" })),
  from: optional(int64({ description: 'when present, changes are all changes above this number' })),
  changes: array(LogChange, { description: 'in order; empty without from' }),
  messages: optional(
    array(SyncMessage, {
      description:
        'without from: the newest messages, newest first; absent when they do not fit in the page',
    }),
  ),
})
/** The state of a log. */
export type LogHead = Static<typeof LogHead>

const UserChange = resource('UserChange', 'A thing of the user that a client reads again.', {
  kind: intEnum(meaningsOf(userChangeKind)),
  ref: int64({ description: 'the other user or the group; 0 for a thing that a user has once' }),
})

/** Data of /message/sync. */
export const SyncPage = resource('SyncPage', 'Changes that a client has missed.', {
  epoch: text('ID of the history of the database'),
  reset: optional(
    stringEnum(['epoch'] as const, {
      description:
        'the history of the client is not that of the server: the client drops its store, keeps unsent messages, and syncs from the start',
    }),
  ),
  pos: optional(
    text('value of after for the next call, stored with the page; absent with reset or cursor'),
  ),
  list: boolean({ description: 'true: a page of the list of all logs' }),
  heads: array(LogHead, { description: 'states of logs; of a list newest first' }),
  gone: array(Log, { description: 'logs that the caller does not have (any more)' }),
  user: array(UserChange, { description: 'things of the user that have changed' }),
  more: boolean({ description: 'true: call again with pos' }),
  cursor: optional(text('where the rest of the list starts; absent on its last page')),
  quotes,
})
/** A page of sync. */
export type SyncPage = Static<typeof SyncPage>

/** Data of /message/receipts. */
export const MessageReceipts = resource('MessageReceipts', 'Who has read a group message.', {
  read: array(int64(), { description: 'members who have read it' }),
  unread: array(int64(), { description: 'members who have not read it yet' }),
  gone: array(int64(), { description: 'users who left the group, or joined it after the message' }),
})
/** IDs of the users whose receipts the message requested. */
export type MessageReceipts = Static<typeof MessageReceipts>
