import type { MessageList, View } from '../../api.js'
import type { ConversationKind, ConversationParts } from '../conversation-parts.js'
import { type Hub, isSameList, shareList, shareObject } from '../hub.js'
import type { Interests } from '../interests.js'
import { createView } from '../view.js'
import { type Composed, composeMessages } from './compose-messages.js'
import { MessageLoader } from './message-loader.js'

/** The messages of a conversation: a view, and its request for more. */
export interface LoadedMessages {
  readonly view: View<MessageList>
  /** @throws ClientError */
  loadOlder(limit: number): Promise<void>
}

/** Parts of a client that a list of messages uses. */
interface MessageListOptions {
  readonly id: number
  /** The kind of the conversation, as it is known now. */
  readonly kind: () => ConversationKind
  readonly parts: ConversationParts
  readonly interests: Interests
}

/** Makes the list of the messages of one conversation. */
export function createMessageList(
  hub: Hub,
  { id, kind, parts, interests }: MessageListOptions,
): LoadedMessages {
  const keys = () => parts.keys(id, kind())
  const loader = new MessageLoader(hub, {
    keys,
    keysChanged: () => interests.changed(),
    changed: () => view.refresh(),
  })
  let composed: Composed = new Map()
  let lastInputs: readonly unknown[] = []

  /** Everything that the view is made of. */
  const inputs = () => {
    const unsent = parts.unsent(id)
    const uploads = unsent.length > 0 && hub.session.state.live.uploads
    const records = loader.windows.map(({ record }) => record)
    const { changes, pending, failure, isUnknown } = loader
    return [changes, unsent, uploads, hub.me, pending, failure, isUnknown, ...records]
  }

  const view = createView<MessageList>(hub, {
    initial: { messages: [], hasOlder: false, isLoading: true },
    compute(former) {
      const next = inputs()
      if (former && isSameList(lastInputs, next)) return former
      lastInputs = next
      const { me } = hub
      const { uploads } = hub.session.state.live
      composed = composeMessages(loader.rows, parts.unsent(id), { me, uploads, former: composed })
      const messages = Array.from(composed.values(), ({ message }) => message)
      const { hasOlder, isLoading, failure } = loader
      return shareObject<MessageList>(former, {
        messages: shareList(former?.messages, messages),
        hasOlder,
        isLoading,
        ...(failure && { error: failure }),
      })
    },
    start() {
      const endLoads = loader.watch()
      const endInterest = interests.add({
        rank: 0,
        reads: () => [`${kind() === 'group' ? 'group' : 'user'}.${id}`],
        presence: () => (kind() === 'group' ? [] : [id]),
        logs: keys,
      })
      return () => {
        endLoads()
        endInterest()
      }
    },
  })
  return { view, loadOlder: (limit) => loader.loadOlder(limit) }
}
