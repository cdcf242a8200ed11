/** The client in React: a provider and hooks. Works with React 18 and 19. */
import {
  createContext,
  createElement,
  type ReactNode,
  useContext,
  useMemo,
  useSyncExternalStore,
} from 'react'
import type { Client, Conversation, ConversationList, MessageList, User, View } from '../api.js'
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

/** Returns all conversations, pinned ones first, then by last activity. */
export function useConversations(): ConversationList {
  return useView(useClient().conversations)
}

/** Returns the loaded messages of a conversation, and keeps them current. */
export function useMessages(conversation: Conversation): MessageList {
  return useView(conversation.messages)
}

/** Returns a user with presence; undefined: not read yet, or no such user. */
export function useUser(id: number): User | undefined {
  return useView(useClient().user(id))
}

/** Returns the state of the connection. */
export function useConnection(): ConnectionStatus {
  return useView(useClient().connection)
}
