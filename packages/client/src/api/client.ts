import type { ConnectionStatus } from '../core/live-state.js'
import type { CallAnswer, CallParams, ClientEvents, OperationId } from '../protocol-types.js'
import type { Conversation, ConversationList, ConversationRef } from './conversation.js'
import type { Group, Groups } from './groups.js'
import type { Message } from './message.js'
import type { Contacts, Profile, ProfileChanges, User, UserSettings } from './users.js'
import type { CallOptions, View } from './view.js'

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
  /** The abilities of the service, as it has named them last; none before the first session. */
  readonly features: View<ServiceFeatures>
  readonly conversations: View<ConversationList>
  readonly contacts: Contacts
  readonly groups: Groups
  /** The own profile; undefined: not read yet. */
  readonly profile: View<Profile | undefined>
  /** Undefined: not read yet. */
  readonly settings: View<UserSettings | undefined>
  /** The direct conversation with a user; 0: the system. */
  direct(userId: number): Conversation
  group(id: number): Group
  /** The conversation that a summary or an event names: `direct(id)`, or `group(id).conversation`. */
  conversation(ref: ConversationRef): Conversation
  user(id: number): View<User | undefined>
  updateProfile(changes: ProfileChanges, options?: CallOptions): Promise<void>
  /** Sets the own picture. @param picture null: none */
  setAvatar(picture: File | Blob | null, options?: CallOptions): Promise<void>
  /** Changes settings; absent members stay as they are. */
  updateSettings(changes: Partial<UserSettings>, options?: CallOptions): Promise<void>
  /**
   * Connects, and stays connected until `disconnect`.
   * @returns resolves when everything that was missed is stored; rejects when the server refuses
   */
  connect(options?: CallOptions): Promise<void>
  disconnect(): void
  /**
   * Calls any operation, with the parameters and the answer of the contract, for example
   * `client.call('group.public_list', {})`.
   */
  call<Id extends OperationId>(
    id: Id,
    params: CallParams<Id>,
    options?: CallOptions & ActingAs,
  ): Promise<CallAnswer<Id>>
  /**
   * Listens to new messages of other users, each once and in the order of its conversation, whether it
   * comes while the client is connected or was missed and comes with the next connection. What is there
   * when the client has caught up for the first time is not new; a durable store remembers that.
   * @param options.unread true: what is unread then is new too, so a bot that marks as read what it has
   *   done misses nothing while it is away
   * @param options.after returns the `seq` of the last message of a conversation that the app is done
   *   with, for an app that keeps them itself; undefined: none is known, and `unread` decides
   * @returns ends the listening
   */
  onMessage(
    listener: (message: Message, conversation: Conversation) => unknown,
    options?: {
      readonly unread?: boolean
      readonly after?: (conversation: ConversationRef) => number | undefined
    },
  ): () => void
  /**
   * Listens to events of the server, which come only while the client is connected.
   * @returns ends the listening
   */
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

/** The abilities of a service, which may be older than this client. Apps hide the others. */
export interface ServiceFeatures {
  readonly replies: boolean
  readonly reactions: boolean
  readonly pinnedMessages: boolean
  /** Messages that are written piece by piece. */
  readonly streams: boolean
}

/** The user and group that a call with an Admin token acts for. */
export interface ActingAs {
  readonly userId?: number
  readonly groupId?: number
}
