/**
 * The records of a store: plain JSON values (an unsent file also has its Blob), in tables by key. A
 * record is never modified, only replaced, so views compare by identity. The store, the tabs and
 * the simulation share these shapes. A change of one raises {@link storeFormat}, unless it adds a
 * member that may be absent: stores of earlier clients lack it.
 */

import type { quoteStates } from './words.js'

/** The version of these shapes. A store of another version is dropped, its unsent messages with it. */
export const storeFormat = 3

/**
 * Names a log: `d5.9` the direct conversation of users 5 and 9, `g7` group 7, `b5` the broadcasts
 * of user 5.
 */
export type LogKey = string

/** Seq numbers from the first to the second, both included. */
export type SeqRange = readonly [from: number, to: number]

/** The one record of the table `meta`, under the key `''`. */
export interface MetaRecord {
  /** The user of the store; 0: not known yet. */
  readonly userId: number
  /** ID of the history of the database; '': none yet. */
  readonly epoch: string
  /** Position up to which the store has everything; '': none. */
  readonly pos: string
  /** The cursor of the rest of the list of logs; '': nothing is left. */
  readonly listCursor: string
  /** Number of the batch that was applied last: 0, 1, 2 …, so that tabs notice a missing one. */
  readonly commit: number
}

/** The record of an empty store. */
export const emptyMeta: MetaRecord = { userId: 0, epoch: '', pos: '', listCursor: '', commit: 0 }

/** The state of a log: its numbers, positions and which of its messages are stored. */
export interface LogRecord {
  readonly key: LogKey
  readonly kind: 'direct' | 'group' | 'broadcast'
  /** The conversation: the other user, 0 for the system, or the group. Both logs of a user share it. */
  readonly conversationId: number
  /** The newest change that is applied. */
  readonly change: number
  /** The newest position. */
  readonly seq: number
  /** Unread messages. */
  readonly unread: number
  /**
   * Positions that the client itself has counted in `unread`, since the server said the number;
   * absent: none.
   */
  readonly counted?: readonly SeqRange[]
  /** True: the server must say `unread` and the positions, by the head of the log. */
  readonly isHeadNeeded: boolean
  readonly readSeq: number
  readonly deliveredSeq: number
  readonly peerReadSeq: number
  readonly peerDeliveredSeq: number
  /** Messages up to this ID are hidden from the user. */
  readonly hiddenMsgId: number
  /**
   * Positions whose messages are stored, or gone: sorted, disjoint, never adjacent. What is missing
   * between 1 and `seq` is a hole.
   */
  readonly ranges: readonly SeqRange[]
  /** The newest visible message; null: none; absent: not known, history has to be read. */
  readonly last?: MessageRecord | null
  /** ID up to which the user has read here while the server has not confirmed it; absent: nothing. */
  readonly pendingReadMsgId?: number
  /**
   * The newest own message of a direct conversation, notifications left out. It reads broadcasts of
   * the other user that are older, also those that arrive later; absent: none is known.
   */
  readonly ownMsgId?: number
  /** The state of a group: 0 normal, 1 dissolved. */
  readonly status?: number
  /** The number of changes of a group, from heads and events. */
  readonly version?: number
  /** The last message of a group before the user joined. */
  readonly joinedMsgId?: number
  /**
   * The type of a group: 0 private, 1 public, 2 chatroom, 3 temporary. Messages of a chatroom are
   * never unread.
   */
  readonly groupType?: number
  /** The user's mute mode in a group. With 2 no event of its messages comes. */
  readonly muteMode?: number
  /** The user's push mode in a group. */
  readonly pushMode?: number
}

/** The members of a message that an edit changes. */
export type MessageTexts = Pick<
  MessageRecord,
  'contentType' | 'content' | 'attachment' | 'config' | 'ext' | 'editTimestamp'
>

/**
 * Members of a message of the wire beside those that a record names, such as `reactions`. They are
 * kept as the server gave them, whether this version knows them or not. Own reactions are members
 * too, see `ownField`.
 */
export type MessageFields = Readonly<Record<string, unknown>>

/** The message of the same log that a message replies to. */
export interface ReplyTo {
  readonly msgId: number
  readonly seq: number
}

/** The visible part of the original of a reply, as the server has said, with the changes since. */
export interface QuoteRecord extends ReplyTo {
  readonly state: (typeof quoteStates)[number]
  /** The sender of a present or recalled original. */
  readonly senderId?: number
  /** The type of a present original, which has `excerpt` too. */
  readonly contentType?: number
  readonly excerpt?: string
}

/** A stored message. Its key is `[log, seq]`. */
export interface MessageRecord {
  readonly log: LogKey
  readonly seq: number
  readonly msgId: number
  readonly senderId: number
  readonly senderDeviceSn: number
  readonly contentType: number
  readonly content: string
  readonly attachment: string
  readonly config: string
  readonly ext: string
  readonly isSystem: boolean
  /** Milliseconds since 1970, by the server's clock. */
  readonly timestamp: number
  /** 0: never edited. */
  readonly editTimestamp: number
  /** The sender's number of an own message; text on the wire. */
  readonly transactionId?: number
  /** Absent: it is no reply. */
  readonly replyTo?: ReplyTo
  /** Absent: none. */
  readonly fields?: MessageFields
}

/** The content of a message, without its sender and its place. */
export interface MessageContent {
  readonly contentType: number
  readonly content: string
  readonly attachment: string
  readonly config: string
  readonly ext: string
}

/** A message that an edit or a recall changes, and what the user has seen of it. */
export interface UnsentAlteration {
  readonly kind: 'edit' | 'recall'
  /** 0: the message waits to be sent. */
  readonly msgId: number
  /** The transaction ID of the unsent message; absent for a stored one. */
  readonly of?: number
  /** The `editTimestamp` that the user who edits has seen; absent: any. */
  readonly seenEdit?: number
}

/**
 * - `uploading`: its file is not at the server yet
 * - `queued`: waits for the connection, or for the entry before it
 * - `sending`: the call is in flight
 * - `unknown`: the call got no answer; it is repeated, and nothing behind it is sent
 * - `failed`: refused, or the user must decide; it does not block the queue
 * - `sent`: answered, and what it has done is not in the log yet; the batch that brings it drops the
 *   entry
 */
export type UnsentState = 'uploading' | 'queued' | 'sending' | 'unknown' | 'failed' | 'sent'

/**
 * An own message that is not in its log yet, or an edit or recall. A stored message with its
 * transaction ID hides it.
 */
export interface UnsentRecord extends MessageContent {
  /** Made once, below 2^53; the key. */
  readonly transactionId: number
  /** Present: the entry edits or recalls a message; an edit has the new text as its content. */
  readonly alters?: UnsentAlteration
  readonly conversationId: number
  readonly isGroup: boolean
  /** The order within its conversation. */
  readonly order: number
  readonly state: UnsentState
  /**
   * Milliseconds since 1970 by the client's clock. Shown, and compared only to look for a message that
   * an earlier client may have sent.
   */
  readonly createdAt: number
  /** The log's change number when the entry was queued or, if that is lower, at a try. */
  readonly triedAtChange?: number
  /** The server's time at the first try, milliseconds since 1970. */
  readonly triedAt?: number
  /** The failure of a `failed` one. `undecided`: it may have been stored; only the user can decide. */
  readonly failure?: {
    readonly code: number
    readonly name: string
    readonly message: string
    readonly retry: boolean
  }
  /** The ID in the answer to a `sent` one; 0: the answer had none. */
  readonly msgId?: number
  /** Absent: it is no reply. */
  readonly replyTo?: ReplyTo
  /** The file to upload, before `attachment` is known. */
  readonly file?: UnsentFile
}

/** A file that belongs to an unsent message. */
export interface UnsentFile {
  readonly blob: Blob
  readonly name: string
  /** `file_type` of the upload ticket: 101 …, see enums. */
  readonly fileType: number
}

/**
 * The answer of an operation about the user, kept and read again when it turns stale:
 * `contacts`, `user.5`, `group.7`, `members.7`, `pins`, `profile` … Each kind has a loader in
 * core/cached-reads. `draft.5` is a text that the user has begun to write, `quotes.g7` are
 * the quotes of a log, `features` what the service has announced; these are never read.
 */
export interface CachedRead {
  /** Kind and ref with a dot between, or the kind alone. */
  readonly key: string
  /** The answer of the operation; absent: not read yet. */
  readonly value?: unknown
  /** True: has to be read again. */
  readonly isStale: boolean
}

/** The tables of a store and the record of each. */
export interface Tables {
  readonly meta: MetaRecord
  readonly logs: LogRecord
  readonly messages: MessageRecord
  readonly unsent: UnsentRecord
  readonly cached: CachedRead
}
