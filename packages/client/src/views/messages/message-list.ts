import type { MessageList, View } from '../../api.js'
import type { ConversationKind, ConversationParts } from '../conversation-parts.js'
import { wishesKey, wishesOf } from '../../model/wishes.js'
import { type Hub, isSameList, shareList, shareObject } from '../hub.js'
import type { Interests } from '../interests.js'
import { createView } from '../view.js'
import type { ShownReply } from '../../core/inputs.js'
import { quotesKey } from '../../model/quotes.js'
import type { MessageRecord } from '../../model/records.js'
import { type Composed, composeMessages, type StoredRow } from './compose-messages.js'
import { keyOfStored } from './message.js'
import { MessageLoader } from './message-loader.js'
import { quotesOfList } from './shown-quotes.js'

/** The messages of a conversation: a view, and its loader. */
export interface LoadedMessages {
  readonly view: View<MessageList>
  readonly loader: Pick<MessageLoader, 'loadOlder' | 'loadNewer' | 'loadAround' | 'loadLatest'>
}

/** Parts of a client that a list of messages uses. */
interface MessageListOptions {
  readonly id: number
  readonly kind: ConversationKind
  readonly parts: ConversationParts
  readonly interests: Interests
}

/** Makes the list of the messages of one conversation. */
export function createMessageList(
  hub: Hub,
  { id, kind, parts, interests }: MessageListOptions,
): LoadedMessages {
  const keys = () => parts.keys(id, kind)
  const loader = new MessageLoader(hub, {
    keys,
    keysChanged: () => interests.changed(),
    changed: () => view.refresh(),
  })
  const quotesOf = quotesOfList(hub)
  let composed: Composed = new Map()
  let missing: readonly ShownReply[] = []
  let lastInputs: readonly unknown[] = []

  /** Everything that the view is made of. */
  const inputs = () => {
    const unsent = parts.unsent(id, kind)
    const uploads = unsent.length > 0 && hub.session.state.live.uploads
    const records = loader.windows.map(({ record }) => record)
    const { changes, pending, failure, isUnknown } = loader
    const alterations = parts.alterations(id, kind)
    const { live, cached } = hub.session.state
    const quotes = keys().map((key) => cached.get(quotesKey(key)))
    return [
      ...[changes, unsent, alterations, uploads, live.streams, hub.me, pending, failure, isUnknown],
      ...[...records, cached.get(wishesKey), ...quotes],
    ]
  }

  const view = createView<MessageList>(hub, {
    initial: { messages: [], hasOlder: false, hasNewer: false, isLoading: true },
    compute(former) {
      const next = inputs()
      if (former && isSameList(lastInputs, next)) return former
      lastInputs = next
      const { me } = hub
      const { live, cached } = hub.session.state
      const { uploads, streams } = live
      const { rows, hasOlder, hasNewer, isLoading, failure } = loader
      const unsent = hasNewer ? [] : parts.unsent(id, kind)
      const alterations = parts.alterations(id, kind)
      const wishes = wishesOf(cached.get(wishesKey))
      const quotes = quotesOf(loader.windows)
      const [keyOfUnsent = ''] = keys()
      composed = composeMessages(rows, unsent, {
        ...{ me, uploads, streams, alterations, wishes, quotes, keyOfUnsent },
        former: composed,
      })
      const isSameMissing = namesOf(missing) === namesOf(quotes.missing)
      missing = quotes.missing
      if (!isSameMissing) interests.changed()
      const messages = Array.from(composed.values(), ({ message }) => message)
      const firstUnread = firstUnreadOf(rows, me)
      return shareObject<MessageList>(former, {
        messages: shareList(former?.messages, messages),
        hasOlder,
        hasNewer,
        isLoading,
        ...(firstUnread && { firstUnreadKey: keyOfStored(firstUnread, me) }),
        ...(failure && { error: failure }),
      })
    },
    start() {
      const endLoads = loader.watch()
      const endInterest = interests.add({
        rank: 0,
        reads: () => [`${kind === 'group' ? 'group' : 'user'}.${id}`],
        presence: () => (kind === 'group' ? [] : [id]),
        logs: keys,
        quotes: () => missing,
      })
      return () => {
        endLoads()
        endInterest()
      }
    },
  })
  return { view, loader }
}

function namesOf(replies: readonly ShownReply[]): string {
  return replies.map(({ log, msgId }) => `${log}/${msgId}`).join()
}

/** Returns the oldest unread message of others; undefined: none, or it is not loaded. */
function firstUnreadOf(rows: readonly StoredRow[], me: number): MessageRecord | undefined {
  const first = rows.find(({ record: { senderId, seq }, window }) => {
    const { unread = 0, readSeq = 0 } = window.record ?? {}
    return senderId !== me && unread > 0 && seq > readSeq
  })
  const isAllLoaded = rows.every(
    ({ window: { lower = 0, record } }) => lower <= (record?.readSeq ?? 0) + 1,
  )
  return isAllLoaded ? first?.record : undefined
}
