/** The public interface of the client: what `createClient` returns. */
import type {
  CallAnswer,
  CallParams,
  ClientEvents,
  GroupMemberInfo,
  GroupRecord,
  OperationId,
  RosterApplication,
  RosterEntry,
  UserProfile,
} from './protocol-types.js'
import type { ConnectionStatus } from './core/live-state.js'

/** A value that changes. `getSnapshot` returns the same object until it changes. */
export interface View<T> {
  getSnapshot(): T
  /** Returns the value of a client that knows nothing yet: what a server renders, and a page hydrates. */
  getServerSnapshot(): T
  /**
   * Calls a listener after each change.
   * @returns ends the listening
   */
  subscribe(listener: () => void): () => void
}

/** Options of every call. */
export interface CallOptions {
  /** Ends the waiting; the server may still run the call. */
  readonly signal?: AbortSignal
}

/** Settings of {@link createClient}. */
export interface ClientOptions {
  /** Address of the service, for example `https://chat.example.org`. */
  readonly url: string
  /** The application. */
  readonly appId: string
  /**
   * Returns an access token. Called before the first connection, and again when the server refuses
   * the token: it must then return another one, or reject. A function that rejects, or does not settle
   * for 30 s, is called again after a pause; one that rejects with a {@link ClientError} without
   * `retry`, such as a wrong password of {@link logIn}, ends the connection with that failure.
   */
  readonly token: (request: TokenRequest) => string | Promise<string>
  /**
   * The user of the token. With it the stored conversations are shown before the network answers;
   * without it they are shown once the session is open. Required with an Admin token, which then acts as
   * this user, without a device.
   */
  readonly userId?: number
  /**
   * The store of messages. `durable`: in IndexedDB, where there is one. Default: durable in
   * browsers, memory in Node.
   */
  readonly storage?: 'durable' | 'memory'
  /**
   * Names the installation, 1 to 128 characters; null: the session has no device, so it is not
   * online, gets no push and displaces no other session. Default: in browsers with Web Locks a text
   * that is made once and kept, else null.
   */
  readonly deviceGuid?: string | null
  /** The platform of the device, a number of the enumeration of the contract. Default: 6, web; in Node 0. */
  readonly platform?: number
  /** Called with errors that no call can return, such as those of listeners. Default: console.error. */
  readonly onError?: (error: unknown) => void
}

/** Why a token is requested. */
export interface TokenRequest {
  /** True: the server has refused the token before, as expired or not valid. */
  readonly isRefused: boolean
  /**
   * The device of the session, for `device_guid` of `/token/issue` and of a login: a token of another
   * device is refused. null: the session has no device.
   */
  readonly deviceGuid: string | null
  readonly signal: AbortSignal
}

/**
 * - `sending`: on its way, or waiting for the connection
 * - `unknown`: sent, and not answered yet
 * - `failed`: refused; see `failure`
 * - `sent`: on the server's disk
 * - `delivered`, `read`: by a device of the other user; of groups `read`: by any other member
 */
export type MessageStatus = 'sending' | 'unknown' | 'failed' | 'sent' | 'delivered' | 'read'

/** A message of a conversation, sent or not. */
export interface Message {
  /** The same for the whole life of the message, also before it has an ID. */
  readonly key: string
  /** 0: not stored by the server yet. */
  readonly id: number
  readonly conversationId: number
  readonly senderId: number
  readonly isOwn: boolean
  /**
   * A number of the enumeration contentType: 0 text, 1 image, 2 audio, 3 video, 4 file, 5 location,
   * 6 command, 7 forward.
   */
  readonly contentType: number
  readonly text: string
  /** The attachment of a message with a file, or of a location; absent: none, or not readable. */
  readonly attachment?: Attachment
  /** Data of the app, as it was sent; '' for none. */
  readonly ext: string
  /** The texts of the contract as they are: attachment and config. */
  readonly raw: { readonly attachment: string; readonly config: string }
  readonly isSystem: boolean
  /** True for a broadcast to all users. */
  readonly isBroadcast: boolean
  /** Milliseconds since 1970, of the server once it is stored. */
  readonly timestamp: number
  readonly isEdited: boolean
  /** The state of an own message; `sent` for those of others. */
  readonly status: MessageStatus
  /** Why a failed message was not sent; `code`, `name`, `message`, `retry`. */
  readonly failure?: {
    readonly code: number
    readonly name: string
    readonly message: string
    readonly retry: boolean
  }
  /** The file of a message that is not stored yet, for example to show it. */
  readonly file?: Blob
  /** The bytes of that file that are uploaded, and all of them. */
  readonly upload?: { readonly sent: number; readonly total: number }
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
  /** Default: that of the file's type, else text. */
  readonly contentType?: number
  /** Members for the attachment next to those of the file, or all of it without a file. */
  readonly attachment?: Readonly<Record<string, unknown>>
  readonly ext?: string
  readonly config?: string
}

/** A conversation as the list shows it. */
export interface ConversationSummary {
  readonly id: number
  readonly kind: 'direct' | 'group'
  /** Alias, nickname or name of the group; '' until it is read. */
  readonly title: string
  /** Address of the picture; '' for none or not read. */
  readonly avatar: string
  readonly unread: number
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

/** The loaded messages of a conversation, oldest first, unsent ones last. */
export interface MessageList {
  readonly messages: readonly Message[]
  /** True: older messages exist, or may exist. */
  readonly hasOlder: boolean
  /**
   * True also before the first load, which the first subscriber begins, and while a first sync may
   * still bring the conversation; false once the connection has `ended`.
   */
  readonly isLoading: boolean
  /** The last page could not be read; `loadOlder` tries again. */
  readonly error?: { readonly code: number; readonly name: string; readonly message: string }
}

/** A handle on a conversation. Two calls for the same one return the same handle. */
export interface Conversation {
  readonly id: number
  readonly kind: 'direct' | 'group'
  readonly summary: View<ConversationSummary>
  /** While it has subscribers the messages are kept current and the newest ones are loaded. */
  readonly messages: View<MessageList>
  /**
   * Loads older messages, from the store or from the server. A call while another one loads waits
   * for that one.
   * @param options.limit how many, 1 to 1,000; default 50
   */
  loadOlder(options?: CallOptions & { readonly limit?: number }): Promise<void>
  /**
   * Queues a message: it is kept and sent as soon as possible, also after a reload.
   * @param options.receipts members of a group with `read_ack` who are asked for a read receipt,
   *   see `receipts`
   * @returns the key of the message once it is stored on this device
   */
  send(
    draft: string | Draft,
    options?: CallOptions & { readonly receipts?: readonly number[] },
  ): Promise<string>
  /**
   * Sends a failed message again.
   * @param options.anyway also one that failed as `undecided`: it may have been stored, so the other
   *   users may see it twice
   */
  retry(key: string, options?: CallOptions & { readonly anyway?: boolean }): Promise<void>
  /** Drops a message that was not sent. */
  discard(key: string, options?: CallOptions): Promise<void>
  edit(message: Message, text: string, options?: CallOptions): Promise<void>
  recall(message: Message, options?: CallOptions): Promise<void>
  /** Reads up to a message, by default all. Kept and repeated until the server has it. */
  markRead(message?: Message, options?: CallOptions): Promise<void>
  /** Signals that the user types; call it at each key. Sent at most every 3 s. */
  typing(): void
  /**
   * Returns which members, of those that an own message has asked for a receipt, have read it. Both lists
   * are empty when the group had `read_ack` off.
   * @throws ClientError invalid_argument, when it was sent without `receipts`
   */
  receipts(
    message: Message,
    options?: CallOptions,
  ): Promise<{ readonly read: readonly number[]; readonly unread: readonly number[] }>
  pin(options?: CallOptions): Promise<void>
  unpin(options?: CallOptions): Promise<void>
  /** Hides everything so far from this user, on all devices. */
  delete(options?: CallOptions): Promise<void>
}

/** A user as the own user sees them. */
export interface User {
  readonly id: number
  /** Alias, else nickname, else username. */
  readonly name: string
  readonly avatar: string
  readonly isContact: boolean
  readonly isBlocked: boolean
  readonly isOnline: boolean
  /** The fields of the contract. */
  readonly raw: RosterEntry
}

/** Contacts of the user. */
export interface Contacts {
  /** By name; undefined: not read yet. */
  readonly list: View<readonly User[] | undefined>
  /** Requests that wait for an answer. */
  readonly requests: View<readonly RosterApplication[] | undefined>
  /** Requests to become a contact. */
  add(userId: number, options?: CallOptions & { readonly reason?: string }): Promise<void>
  accept(userId: number, options?: CallOptions): Promise<void>
  decline(userId: number, options?: CallOptions & { readonly reason?: string }): Promise<void>
  remove(userId: number, options?: CallOptions): Promise<void>
  block(userId: number, options?: CallOptions): Promise<void>
  unblock(userId: number, options?: CallOptions): Promise<void>
  setAlias(userId: number, alias: string, options?: CallOptions): Promise<void>
  /** @returns undefined: no such user, also for a text that is longer than a username can be */
  findByName(username: string, options?: CallOptions): Promise<User | undefined>
}

/** Groups of the user. */
export interface Groups {
  /** Oldest first; undefined: not read yet. Groups that are not read yet are left out. */
  readonly list: View<readonly GroupRecord[] | undefined>
  group(id: number): Group
  /** @returns the ID of the new group */
  create(
    group: {
      readonly name: string
      readonly userIds?: readonly number[]
      readonly description?: string
    },
    options?: CallOptions,
  ): Promise<number>
}

/** A handle on a group. */
export interface Group {
  readonly id: number
  /** Undefined: not read yet, or not visible. */
  readonly info: View<GroupRecord | undefined>
  readonly members: View<readonly GroupMemberInfo[] | undefined>
  /**
   * Invites users; those who want no question join at once.
   * @returns users that were not invited; empty: all were
   */
  invite(
    userIds: readonly number[],
    options?: CallOptions & { readonly reason?: string },
  ): Promise<readonly NotDone[]>
  /** @returns users that were not removed; empty: all were */
  kick(userIds: readonly number[], options?: CallOptions): Promise<readonly NotDone[]>
  rename(name: string, options?: CallOptions): Promise<void>
  setMuted(isMuted: boolean, options?: CallOptions): Promise<void>
  leave(options?: CallOptions): Promise<void>
  destroy(options?: CallOptions): Promise<void>
}

/** A user for which an operation on several users failed. */
export interface NotDone {
  readonly userId: number
  /** A sentence for people. */
  readonly reason: string
}

/**
 * A client of one user. Everything works offline; what needs the server then waits, or fails with
 * `not_connected`.
 */
export interface Client {
  /** Undefined until the first session, when the options do not name it. */
  readonly userId: number | undefined
  readonly connection: View<ConnectionStatus>
  /** False: what is shown lives in memory only, as `storage` says or because the browser gives no store. */
  readonly isDurable: View<boolean>
  /** True once the app has returned a token, so that {@link fileUrl} has addresses. */
  readonly hasToken: View<boolean>
  readonly conversations: View<ConversationList>
  readonly contacts: Contacts
  readonly groups: Groups
  /** The own profile; undefined: not read yet. */
  readonly profile: View<UserProfile | undefined>
  /** A direct conversation with a user, 0 for the system, or a group. */
  conversation(id: number, kind?: 'direct' | 'group'): Conversation
  user(id: number): View<User | undefined>
  /**
   * Connects, and stays connected until `disconnect`.
   * @returns resolves when everything that was missed is stored; rejects when the server refuses
   */
  connect(options?: CallOptions): Promise<void>
  disconnect(): void
  /** Any operation of the contract, for example `client.call('user.settings.get', {})`. */
  call<Id extends OperationId>(
    id: Id,
    params: CallParams<Id>,
    options?: CallOptions & ActingAs,
  ): Promise<CallAnswer<Id>>
  /** Listens to events of the server. @returns ends the listening */
  on<Kind extends keyof ClientEvents>(
    kind: Kind,
    listener: (data: ClientEvents[Kind]) => void,
  ): () => void
  /**
   * The address of a file of a message or an avatar, for `<img src>` and downloads. It has the access
   * token, since elements of a page cannot send headers: do not log or share it.
   * @param options.thumbnail pixels: a smaller picture that fits into a square of this side
   * @returns undefined: there is no file, its address has no host and is no download of the service, or
   *   the app has not returned a token yet
   */
  fileUrl(url: string, options?: { readonly thumbnail?: number }): string | undefined
  /** Ends the client; what is stored stays. */
  close(): Promise<void>
  /** Logs the device out at the server if it can be reached, and deletes what is stored here, in all tabs. */
  logOut(): Promise<void>
}

/** The user and group that a call with an Admin token acts for. */
export interface ActingAs {
  readonly userId?: number
  readonly groupId?: number
}
