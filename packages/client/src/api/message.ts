import type { Failure } from '../errors.js'
import type { contentTypes, quoteStates, streamStates } from '../model/words.js'

/** The kind of a message's content. */
export type ContentType = (typeof contentTypes)[number]

/**
 * - `sending`: on its way, or waiting for the connection
 * - `unknown`: sent, and not answered yet
 * - `failed`: refused; see `failure`
 * - `sent`: on the server's disk
 * - `delivered`, `read`: by a device of the other user; of groups `read`: by any other member
 */
export type MessageStatus = 'sending' | 'unknown' | 'failed' | 'sent' | 'delivered' | 'read'

/**
 * An app's own fields of a message. The app adds them by declaration merging:
 *
 * `declare module '@hermod/client' { interface CustomMessageData { orderId?: number } }`
 */
// biome-ignore lint/suspicious/noEmptyInterface: apps add members to it
export interface CustomMessageData {}

/** The part of a message that its sender has written. */
export interface MessageContent {
  /** `unknown`: a kind that this version of the client does not know. */
  readonly contentType: ContentType | 'unknown'
  readonly text: string
  /** The attachment of a message with a file, or of a location; absent: none, or not readable. */
  readonly attachment?: Attachment
  /**
   * The app's own fields; absent: none. Other users write them, so each may be missing or of another
   * type than the app has declared.
   */
  readonly custom?: Partial<CustomMessageData>
  /** Members of the group who are notified of the message: their IDs, or all; absent: none. */
  readonly mentions?: readonly number[] | 'all'
  /** Members of a group who are asked for a read receipt; absent: none. See {@link Conversation.receipts}. */
  readonly receiptsOf?: readonly number[]
}

/** The message that another one replies to, as much of it as the user may see. */
export interface Quote {
  readonly id: number
  /**
   * - `present`: the quote has its sender, kind and text
   * - `recalled`: it has its sender
   * - `removed`: by the retention of the service
   * - `hidden`: the user may not see it, for example because it is from before the user's time
   */
  readonly state: (typeof quoteStates)[number]
  readonly senderId?: number
  readonly contentType?: ContentType | 'unknown'
  /** The first 200 characters of the present text; '' without any. */
  readonly text?: string
}

/** A reaction to a message, with those who have it. */
export interface Reaction {
  /** The text as the first user wrote it, for example an emoji. */
  readonly key: string
  readonly count: number
  /** The newest of the users, at most 5, the latest last. */
  readonly userIds: readonly number[]
  readonly isOwn: boolean
}

/** A reaction of one user to a message. */
export interface UserReaction {
  readonly userId: number
  readonly key: string
  /** When it was stored, milliseconds since 1970. */
  readonly timestamp: number
}

/** Reactions of users to a message, newest first. */
export interface ReactionPage {
  readonly reactions: readonly UserReaction[]
  /** For the next page; absent: this is the last one. */
  readonly cursor?: string
}

/** The state of a message that is written piece by piece, for example by a bot. */
export interface MessageStream {
  /** The form in which the text is shown. */
  readonly kind: 'text' | 'markdown'
  /**
   * `open`: {@link MessageContent.text} grows, while views show the conversation. `interrupted`: the
   * service has ended it, because its sender was silent for too long.
   */
  readonly state: (typeof streamStates)[number]
  /** Why it ended, if the sender has said so. */
  readonly reason?: string
}

/** A message of a conversation, sent or not. */
export interface Message extends MessageContent {
  /** The same for the whole life of the message, also before it has an ID. */
  readonly key: string
  /** 0: not stored by the server yet. */
  readonly id: number
  /**
   * Its position in the conversation, from 1; 0: not stored by the server yet. Broadcasts have positions
   * of their own.
   */
  readonly seq: number
  /** The other user, or the group. */
  readonly conversationId: number
  readonly senderId: number
  readonly isOwn: boolean
  readonly isSystem: boolean
  /** True for a broadcast to all users. */
  readonly isBroadcast: boolean
  /** Milliseconds since 1970, of the server once it is stored. */
  readonly timestamp: number
  /** False for a message that was written piece by piece. */
  readonly isEdited: boolean
  /** When it was edited last, milliseconds since 1970 by the server's clock; 0: never. */
  readonly editedAt: number
  /** The own edit or recall of it that the server has not confirmed. */
  readonly pending?: PendingChange
  /** The message that it replies to; absent: it is no reply. */
  readonly replyTo?: { readonly id: number; readonly seq: number }
  /** The visible part of that message, in lists of messages; absent: not read yet. */
  readonly quote?: Quote
  /** In the order of their first use; own ones also before the server has them. */
  readonly reactions: readonly Reaction[]
  /**
   * The user who has pinned the message, 0 for an administrator, and the time, milliseconds since 1970,
   * 0 before the server has it; absent: it is not pinned.
   */
  readonly pinned?: { readonly by: number; readonly at: number }
  /** Absent: the message was sent as a whole. */
  readonly stream?: MessageStream
  /** The state of an own message; `sent` for those of others. */
  readonly status: MessageStatus
  /** Why a failed message was not sent. */
  readonly failure?: Failure
  /** The file of a message that is not stored yet, for example to show it. */
  readonly file?: Blob
  /** The bytes of that file that are uploaded, and all of them. */
  readonly upload?: { readonly sent: number; readonly total: number }
}

/** An edit or a recall of a message that waits for the server, or that it has refused. */
export interface PendingChange {
  readonly kind: 'edit' | 'recall'
  /** The text of an edit: that of the message, unless the edit has failed or the message was edited since. */
  readonly text?: string
  readonly status: 'sending' | 'failed'
  /**
   * Why it has failed. `edited_meanwhile`: another edit came first, whose text the message has. A new
   * edit of the message takes its place.
   */
  readonly failure?: Failure
  /** For `retry` and `discard`. */
  readonly key: string
}

/**
 * The JSON object in the attachment of a message; more members are those of the app. `name` and
 * `size` are also read from `dName` and `fLen`, as other clients of the service name them.
 */
export interface Attachment {
  /** Address of the file; absent while it is uploaded. {@link Client.fileUrl} adds the credentials. */
  readonly url?: string
  readonly name?: string
  /** Bytes. */
  readonly size?: number
  readonly width?: number
  readonly height?: number
  /** Length of audio and video, milliseconds. */
  readonly duration?: number
  readonly [extra: string]: unknown
}

/** The content of a new message. */
export interface Draft {
  readonly text?: string
  /** Uploaded before the message is sent. */
  readonly file?: File | Blob
  /** The name for a Blob that has none. */
  readonly fileName?: string
  /** Default: that of the file's type, else `text`. */
  readonly contentType?: ContentType
  /** Members for the attachment next to those of the file, or all of it without a file. */
  readonly attachment?: Readonly<Record<string, unknown>>
  /** The app's own fields. */
  readonly custom?: CustomMessageData
  /** Members of the group to notify: their IDs, or all. */
  readonly mentions?: readonly number[] | 'all'
  /** Members of a group with read receipts who are asked for one, see {@link Conversation.receipts}. */
  readonly receiptsOf?: readonly number[]
  /** A stored message of the same conversation that it replies to. */
  readonly replyTo?: Pick<Message, 'id' | 'seq'>
}
