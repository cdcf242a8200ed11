import type { Failure } from '../errors.js'
import type { Draft, Message, ReactionPage } from './message.js'
import type { CallOptions, View } from './view.js'

/** Names a conversation: the other user, 0 for the system, or a group. */
export interface ConversationRef {
  readonly id: number
  readonly kind: 'direct' | 'group'
}

/** A conversation as the list shows it. */
export interface ConversationSummary extends ConversationRef {
  /** Alias, nickname or name of the group; '' until it is read. */
  readonly title: string
  /** Address of the picture; '' for none or not read. */
  readonly avatar: string
  readonly unread: number
  /** Messages up to this position are read, see {@link Message.seq}; broadcasts are not counted. */
  readonly readSeq: number
  readonly isPinned: boolean
  /** The group's messages are silenced, or the contact is muted. */
  readonly isMuted: boolean
  /** False: the group was dissolved or the user is no member any more. */
  readonly isWritable: boolean
  /** Null: none that the user sees; absent: not read yet. */
  readonly lastMessage?: Message | null
  /**
   * Milliseconds since 1970 of the newest message, sent or not; of an empty group when it was made;
   * 0: neither.
   */
  readonly lastActivity: number
  readonly isOnline: boolean
  /** Users who type now, the own user left out. */
  readonly typing: readonly number[]
}

/** Conversations, pinned ones first, then by last activity. */
export interface ConversationList {
  readonly conversations: readonly ConversationSummary[]
  /** Sum of unread messages. */
  readonly unread: number
  /** False: more is to come, since the list has not been read completely yet. */
  readonly isComplete: boolean
}

/**
 * The loaded messages of a conversation, oldest first, unsent ones last. They are the newest ones, or
 * those around a message.
 */
export interface MessageList {
  readonly messages: readonly Message[]
  /** True: older messages exist, or may exist. */
  readonly hasOlder: boolean
  /** True: newer messages exist, which are not loaded. */
  readonly hasNewer: boolean
  /** The key of the oldest unread message; absent: there is none, or it is not loaded. */
  readonly firstUnreadKey?: string
  /**
   * True also before the first load, which the first subscriber begins, and while a first sync may
   * still bring the conversation; false once the connection has `ended`.
   */
  readonly isLoading: boolean
  /** The last page could not be read; `loadOlder` tries again. */
  readonly error?: Failure
}

/**
 * The messages of a conversation. While the view has subscribers, they are kept current and the newest
 * ones are loaded. Loads take messages from the store, or from the server.
 */
export interface Messages extends View<MessageList> {
  /**
   * Loads older messages. A call while another one loads waits for that one.
   * @param options.limit how many, 1 to 1,000; default 50
   */
  loadOlder(options?: CallOptions & { readonly limit?: number }): Promise<void>
  /** Loads newer messages after {@link loadAround}, as `loadOlder` loads older ones. */
  loadNewer(options?: CallOptions & { readonly limit?: number }): Promise<void>
  /**
   * Shows the messages around one, or around its place when it is gone, instead of the loaded ones.
   * @param options.limit how many, 1 to 1,000; default 50
   */
  loadAround(messageId: number, options?: CallOptions & { readonly limit?: number }): Promise<void>
  /** Shows the newest messages again. */
  loadLatest(options?: CallOptions): Promise<void>
}

/**
 * A text that the user has begun to write. A field shows it when the conversation is opened, and sets it
 * as the user writes.
 */
export interface DraftText extends View<string> {
  /** Resolves when the text is stored on this device. */
  set(text: string, options?: CallOptions): Promise<void>
}

/** Options of a message that is written piece by piece. */
export interface StreamOptions extends CallOptions {
  /** The form in which the text is shown; default: `text`. */
  readonly kind?: 'text' | 'markdown'
  /** The text until the end, for clients that show no text while it is written; default: `…`. */
  readonly placeholder?: string
  /**
   * Names the message for 24 hours, 1 to 2^53 - 1: a second call with the same ID, for example after a
   * restart, continues the message of the first one while it is open. Default: a random one.
   */
  readonly transactionId?: number
}

/** The state of a message when its source begins. */
export interface StreamStart {
  /** The text so far, which readers have: '' unless the call continues a message. */
  readonly text: string
  /** Aborted when the source is left before its end, for example because a reader asks to stop. */
  readonly signal: AbortSignal
}

/** Texts in pieces. A function is called once the message is there, unless it has ended already. */
export type StreamSource =
  | AsyncIterable<string>
  | Iterable<string>
  | ((start: StreamStart) => AsyncIterable<string> | Iterable<string>)

/** A message that was written piece by piece. */
export interface WrittenStream {
  /** The ID of the message. */
  readonly id: number
  readonly state: 'done' | 'failed' | 'cancelled'
}

/** A handle on a conversation. Two calls for the same one return the same handle. */
export interface Conversation extends ConversationRef {
  readonly summary: View<ConversationSummary>
  readonly messages: Messages
  /**
   * The messages that are pinned for all who read the conversation, the newest pin first; undefined: not
   * read yet. While the view has subscribers and the client is connected, it is kept current.
   */
  readonly pinned: View<readonly Message[] | undefined>
  /** The text that the user has begun to write, kept on this device; '' for none. */
  readonly draft: DraftText
  /**
   * Queues a message: it is kept and sent as soon as possible, also after a reload.
   * @returns the key of the message once it is stored on this device
   */
  send(draft: string | Draft, options?: CallOptions): Promise<string>
  /**
   * Sends a failed message, edit or recall again.
   * @param options.anyway also a message that failed as `undecided`: it may have been stored, so the
   *   other users may see it twice; and an edit that failed as `edited_meanwhile`, in place of the other
   */
  retry(key: string, options?: CallOptions & { readonly anyway?: boolean }): Promise<void>
  /** Drops a message, edit or recall that was not sent. */
  discard(key: string, options?: CallOptions): Promise<void>
  /**
   * Queues an edit, as `send` queues a message; `pending` of the message shows what becomes of it. The
   * text of a message that is not sent yet is changed at once.
   */
  edit(message: Message, text: string, options?: CallOptions): Promise<void>
  /** Queues a recall in the same way. A message that is not sent yet is dropped. */
  recall(message: Message, options?: CallOptions): Promise<void>
  /**
   * Sends a message whose text comes in pieces, for example from a language model: readers see it grow.
   * Resolves when it has ended. A reader may ask to end it, see {@link cancelStream}: then the source is
   * left, and the state is `cancelled`. An error of the source ends it as `failed`.
   * @throws ClientError stream_refused, with the state, when the message was ended by others, for example
   *   `interrupted`; the error of the source
   */
  stream(source: StreamSource, options?: StreamOptions): Promise<WrittenStream>
  /** Asks the sender to end a message that is being written. */
  cancelStream(message: Message, options?: CallOptions): Promise<void>
  /**
   * Shows the others what the user does: `client.on('activity', …)`. Call it at most once a second.
   * @param state such as `thinking` or `searching`, at most 32 characters; '' for nothing any more
   * @param text more about it, at most 100 characters
   */
  showActivity(state: string, text?: string, options?: CallOptions): Promise<void>
  /** Reads up to a message, by default all. Kept and repeated until the server has it. */
  markRead(message?: Message, options?: CallOptions): Promise<void>
  /**
   * Signals that the user types; call it at each key. Sent at most every 3 s.
   * @param isTyping false: not any more, for example when the field is empty again. A sent message ends
   *   it too, and so does silence after 6 s.
   */
  typing(isTyping?: boolean): void
  /**
   * Returns which members, of those that an own message has asked for a receipt, have read it. Both lists
   * are empty when the group had `hasReadReceipts` off.
   * @throws ClientError invalid_argument, when it was sent without `receiptsOf`
   */
  receipts(
    message: Message,
    options?: CallOptions,
  ): Promise<{ readonly read: readonly number[]; readonly unread: readonly number[] }>
  /**
   * Adds an own reaction to a message. Kept and repeated until the server has it; of the wanted states
   * the last one counts. One that the server refuses ends without a word.
   * @param key what is shown, such as an emoji, at most 64 bytes
   * @param options.isOn false: removes it
   */
  react(
    message: Message,
    key: string,
    options?: CallOptions & { readonly isOn?: boolean },
  ): Promise<void>
  /**
   * Reads from the server who has reacted to a message.
   * @param options.key reactions with this key alone
   * @param options.cursor of the page before
   * @param options.limit how many, 1 to 200; default 200
   */
  reactions(
    message: Message,
    options?: CallOptions & {
      readonly key?: string
      readonly cursor?: string
      readonly limit?: number
    },
  ): Promise<ReactionPage>
  /**
   * Reads one message from the server, as it is now. It is not kept current: `messages.loadAround` shows
   * it in the list.
   * @returns null: it was recalled
   * @throws ClientError message_not_found, when it is hidden from the user, removed, or of another
   *   conversation
   */
  getMessage(messageId: number, options?: CallOptions): Promise<Message | null>
  /** Pins a message for all who read the conversation, as `react` reacts. */
  pinMessage(message: Message, options?: CallOptions): Promise<void>
  /** Unpins a message. */
  unpinMessage(message: Message, options?: CallOptions): Promise<void>
  /** Pins the conversation in the own list. */
  pin(options?: CallOptions): Promise<void>
  unpin(options?: CallOptions): Promise<void>
  /** Hides everything so far from this user, on all devices. */
  delete(options?: CallOptions): Promise<void>
}
