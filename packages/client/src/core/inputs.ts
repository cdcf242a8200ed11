import type { StoredState, StoreFailure } from '../ports/store.js'
import type { UploadAnswer } from '../ports/transport.js'
import type { Failure } from '../errors.js'
import type { Wish } from '../model/wishes.js'
import type {
  LogKey,
  MessageContent,
  MessageRecord,
  UnsentAlteration,
  ReplyTo,
  UnsentFile,
} from '../model/records.js'

/** A request of the app, in any tab. Its outcome is an effect `result` or `failure`. */
export type Command =
  /** Any operation of the socket; its value is the {@link Answer}. */
  | {
      readonly type: 'call'
      readonly op: string
      readonly data: object
      readonly userId?: number
      readonly groupId?: number
    }
  /** Queues a message. Succeeds when it is in the store; a repeat with the same ID does nothing. */
  | {
      readonly type: 'send'
      readonly transactionId: number
      readonly conversationId: number
      readonly isGroup: boolean
      readonly content: MessageContent
      readonly file?: UnsentFile
      readonly replyTo?: ReplyTo
      readonly createdAt: number
    }
  /**
   * Queues an edit or a recall of a message, behind the messages of its conversation. One that is not
   * sent yet is changed, or dropped, itself. Succeeds when it is in the store.
   */
  | {
      readonly type: 'alter'
      readonly transactionId: number
      readonly conversationId: number
      readonly isGroup: boolean
      readonly kind: UnsentAlteration['kind']
      /** 0: the message is not stored by the server. */
      readonly msgId: number
      /** The transaction ID of an own message. */
      readonly of?: number
      /** The text of an edit, and `editTimestamp` of the message that the user has seen. */
      readonly text?: string
      readonly seenEdit?: number
      readonly createdAt: number
    }
  /**
   * Sends a failed entry again. `anyway`: also an undecided message, which may have been stored, with
   * another ID, and an edit of a message that was edited meanwhile.
   */
  | { readonly type: 'retry'; readonly transactionId: number; readonly anyway?: boolean }
  /**
   * Drops an unsent entry and ends its upload. Fails as `not_found` while it is being sent, and
   * after it.
   */
  | { readonly type: 'discard'; readonly transactionId: number }
  /** Reads up to a message; confirmed by the server as soon as it can be reached. */
  | { readonly type: 'read'; readonly conversationId: number; readonly msgId: number }
  /**
   * Fills holes below a position. Succeeds when the messages are in the store; value:
   * {@link HistoryResult}.
   */
  | {
      readonly type: 'history'
      readonly log: LogKey
      /** Exclusive. */
      readonly beforeSeq: number
      readonly limit: number
    }
  /** Keys to read now and whenever they turn stale; replaces the former list of the caller. */
  | { readonly type: 'watch'; readonly caller: string; readonly keys: readonly string[] }
  /** Replies on screen whose quotes are missing; replaces the former list of the caller. */
  | { readonly type: 'quotes'; readonly caller: string; readonly replies: readonly ShownReply[] }
  /** Users whose presence is shown; replaces the former list of the caller. */
  | { readonly type: 'presence'; readonly caller: string; readonly userIds: readonly number[] }
  /**
   * The user types here: sent at most every 3 s, and only when connected. `isEnd`: not any more: sent when
   * the others see the user type. Never fails.
   */
  | {
      readonly type: 'typing'
      readonly conversationId: number
      readonly isGroup: boolean
      readonly isEnd?: boolean
    }
  /** Keeps a text that the user has begun to write; '' for none. Succeeds when it is in the store. */
  | { readonly type: 'draft'; readonly conversationId: number; readonly text: string }
  /**
   * A reaction, or the pin of a message. Succeeds when it is in the store; called until the server
   * answers, also after a restart.
   */
  | { readonly type: 'wish'; readonly wish: Wish }
  /** Conversations on screen; replaces the former list of the caller. */
  | { readonly type: 'onScreen'; readonly caller: string; readonly logs: readonly LogKey[] }
  /** No view needs messages below a position: a client in memory drops them. */
  | { readonly type: 'forget'; readonly log: LogKey; readonly beforeSeq: number }

/** A reply that a view shows without the quote of its original. */
export interface ShownReply {
  readonly log: LogKey
  readonly msgId: number
  readonly original: ReplyTo
}

/** The value of a command `history`. */
export interface HistoryResult {
  /** Everything from this position to the bound is in the store; 1: the beginning. */
  readonly fromSeq: number
}

/** A successful answer: `data`, and the other members of the envelope. */
export interface Answer {
  readonly data: unknown
  readonly [extra: string]: unknown
}

/** Everything that happens to the core. `now` is the clock's, milliseconds that only grow. */
export type Input = { readonly now: number } & (
  | { readonly type: 'start'; readonly state: StoredState }
  /** The app wants a connection, or does not want one any more. */
  | { readonly type: 'connect' }
  | { readonly type: 'disconnect' }
  | { readonly type: 'token'; readonly token: string }
  /** Without `retry` the app is not asked again until it connects. */
  | { readonly type: 'tokenFailed'; readonly failure: Failure }
  /** No connection can be opened here, now or later. */
  | { readonly type: 'impossible'; readonly connection: number; readonly failure: Failure }
  | { readonly type: 'opened'; readonly connection: number }
  | { readonly type: 'frame'; readonly connection: number; readonly text: string }
  | {
      readonly type: 'ended'
      readonly connection: number
      readonly code: number
      readonly reason: string
    }
  /** The network is back, or the page is shown again. */
  | { readonly type: 'wakeup' }
  | { readonly type: 'timer'; readonly key: string }
  /** The batch of the last effect `apply` is committed. */
  | { readonly type: 'applied' }
  | { readonly type: 'storeFailed'; readonly failure: StoreFailure }
  | {
      readonly type: 'messages'
      readonly request: number
      readonly messages: readonly MessageRecord[]
    }
  | { readonly type: 'command'; readonly id: string; readonly command: Command }
  /** The app does not wait for the outcome of a command any more. */
  | { readonly type: 'cancel'; readonly id: string }
  | { readonly type: 'uploadProgress'; readonly transactionId: number; readonly sentBytes: number }
  /** The end of an upload; without `answer` none came. */
  | { readonly type: 'uploaded'; readonly transactionId: number; readonly answer?: UploadAnswer }
)

/** An input without its time. */
export type InputBody = Input extends infer I ? (I extends unknown ? Omit<I, 'now'> : never) : never
