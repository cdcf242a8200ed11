'use client'
/** The client in React: a provider and hooks. Works with React 18 and 19. */
import {
  createContext,
  createElement,
  type ReactNode,
  useContext,
  useMemo,
  useSyncExternalStore,
} from 'react'
import type {
  Client,
  ContactRequest,
  Conversation,
  ConversationList,
  ConversationSummary,
  GroupInfo,
  GroupInvitation,
  GroupMember,
  JoinRequest,
  Message,
  MessageList,
  Profile,
  ServiceFeatures,
  User,
  UserSettings,
  View,
} from '../api.js'
import type { ConnectionStatus } from '../core/live-state.js'

const Context = createContext<{ readonly client: Client } | undefined>(undefined)

/** Gives a client to the components below. It does not connect, and does not close the client. */
export function HermodProvider({
  client,
  children,
}: {
  readonly client: Client
  readonly children?: ReactNode
}): ReactNode {
  const hasToken = useView(client.hasToken)
  // Another object with the token, so that components that call client.fileUrl render again.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the token changes what the client answers
  const value = useMemo(() => ({ client }), [client, hasToken])
  return createElement(Context.Provider, { value }, children)
}

/**
 * Returns the client of the next provider above.
 * @throws Error without a provider
 */
export function useClient(): Client {
  const value = useContext(Context)
  if (!value) throw new Error('useClient needs a HermodProvider above it')
  return value.client
}

/**
 * Returns the value of a view, and renders again when it changes. On a server, and while a page
 * hydrates, it is that of a client that knows nothing yet.
 */
export function useView<T>(view: View<T>): T {
  return useSyncExternalStore(view.subscribe, view.getSnapshot, view.getServerSnapshot)
}

/** Returns the state of the connection. */
export function useConnection(): ConnectionStatus {
  return useView(useClient().connection)
}

/** Returns whether a store keeps what is shown, see {@link Client.isDurable}. */
export function useIsDurable(): boolean {
  return useView(useClient().isDurable)
}

/** Returns whether {@link Client.fileUrl} has addresses. */
export function useHasToken(): boolean {
  return useView(useClient().hasToken)
}

/** Returns what the service can do. */
export function useFeatures(): ServiceFeatures {
  return useView(useClient().features)
}

/** Returns all conversations, pinned ones first, then by last activity. */
export function useConversations(): ConversationList {
  return useView(useClient().conversations)
}

/** Returns a conversation as the list shows it. */
export function useSummary(conversation: Conversation): ConversationSummary {
  return useView(conversation.summary)
}

/** Returns the loaded messages of a conversation, and keeps them current. */
export function useMessages(conversation: Conversation): MessageList {
  return useView(conversation.messages)
}

/** Returns the pinned messages of a conversation, the newest pin first; undefined: not read yet. */
export function usePinnedMessages(conversation: Conversation): readonly Message[] | undefined {
  return useView(conversation.pinned)
}

/** Returns the text that the user has begun to write; '' for none. */
export function useDraft(conversation: Conversation): string {
  return useView(conversation.draft)
}

/** Returns a user with presence; undefined: not read yet, or no such user. */
export function useUser(id: number): User | undefined {
  return useView(useClient().user(id))
}

/** Returns the own profile; undefined: not read yet. */
export function useProfile(): Profile | undefined {
  return useView(useClient().profile)
}

/** Returns the settings of the own user; undefined: not read yet. */
export function useSettings(): UserSettings | undefined {
  return useView(useClient().settings)
}

/** Returns the contacts by name; undefined: not read yet. */
export function useContacts(): readonly User[] | undefined {
  return useView(useClient().contacts.list)
}

/** Returns contact requests that wait for an answer; undefined: not read yet. */
export function useContactRequests(): readonly ContactRequest[] | undefined {
  return useView(useClient().contacts.requests)
}

/** Returns the groups of the user, oldest first; undefined: not read yet. */
export function useGroups(): readonly GroupInfo[] | undefined {
  return useView(useClient().groups.list)
}

/** Returns a group; undefined: not read yet, or not visible. */
export function useGroup(id: number): GroupInfo | undefined {
  return useView(useClient().group(id).info)
}

/** Returns the members of a group; undefined: not read yet. */
export function useMembers(groupId: number): readonly GroupMember[] | undefined {
  return useView(useClient().group(groupId).members)
}

/** Returns invitations to groups that wait for an answer; undefined: not read yet. */
export function useInvitations(): readonly GroupInvitation[] | undefined {
  return useView(useClient().groups.invitations)
}

/** Returns requests to join groups that the user may answer; undefined: not read yet. */
export function useJoinRequests(): readonly JoinRequest[] | undefined {
  return useView(useClient().groups.joinRequests)
}
