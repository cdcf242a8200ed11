import { broadcastKey, directKey, groupKey } from '../model/log-key.js'
import type { LogKey, LogRecord, UnsentRecord } from '../model/records.js'
import { type Hub, memoized, shareList } from './hub.js'

/** A direct conversation includes the broadcasts of its other user. */
export type ConversationKind = 'direct' | 'group'

/** The logs and unsent messages of conversations, as they are now. */
export interface ConversationParts {
  /** Keys of the logs that a conversation may have: direct and broadcasts, or group. */
  keys(id: number, kind: ConversationKind): readonly LogKey[]
  /** The logs that it has. */
  logs(id: number, kind: ConversationKind): readonly LogRecord[]
  /** The kind, from what is stored and what the server has answered. */
  kind(id: number): ConversationKind | undefined
  /** Records that an ID is that of a group, before its log has arrived. */
  addGroup(id: number): void
  /** In the order in which they are sent. */
  unsent(id: number): readonly UnsentRecord[]
  /** Conversations with unsent messages. */
  unsentIds(): Iterable<number>
  /** Other users who type now. */
  typing(id: number): readonly number[]
}

const none: readonly never[] = []

/** Makes the parts of the conversations of one client. */
export function createConversationParts(hub: Hub): ConversationParts {
  const { session } = hub
  const groups = new Set<number>()
  let unsent: Lists<UnsentRecord> = new Map()
  let isUnsentCurrent = false
  let typing: Lists<number> = new Map()

  hub.watch((change) => {
    const isSame =
      change.type === 'live' ||
      (change.type === 'batch' && !change.batch.unsent.length && !change.batch.sent.length)
    if (!isSame) isUnsentCurrent = false
  })
  const unsentLists = () => {
    if (!isUnsentCurrent) {
      isUnsentCurrent = true
      const ordered = [...session.state.unsent.values()].sort((a, b) => a.order - b.order)
      unsent = listsOf(
        ordered.map((entry) => [entry.conversationId, entry]),
        unsent,
      )
    }
    return unsent
  }
  const typingLists = memoized((entries: typeof session.state.live.typing, me: number) => {
    const others = entries.filter(({ userId }) => userId !== me)
    typing = listsOf(
      others.map(({ conversationId, userId }) => [conversationId, userId]),
      typing,
    )
    return typing
  })
  const keys = (id: number, kind: ConversationKind) =>
    kind === 'group' ? [groupKey(id)] : [directKey(hub.me, id), broadcastKey(id)]

  return {
    keys,
    logs: (id, kind) => keys(id, kind).flatMap((key) => session.state.logs.get(key) ?? none),
    kind(id) {
      const { logs, cached } = session.state
      if (logs.has(groupKey(id)) || groups.has(id) || cached.get(`group.${id}`)?.value)
        return 'group'
      if (keys(id, 'direct').some((key) => logs.has(key))) return 'direct'
      const entry = unsentLists().get(id)?.[0]
      return entry && (entry.isGroup ? 'group' : 'direct')
    },
    addGroup: (id) => groups.add(id),
    unsent: (id) => unsentLists().get(id) ?? none,
    unsentIds: () => unsentLists().keys(),
    typing: (id) => typingLists(session.state.live.typing, hub.me).get(id) ?? none,
  }
}

type Lists<T> = ReadonlyMap<number, readonly T[]>

/** Returns lists by key; those that have not changed are the former ones. */
function listsOf<T>(entries: readonly (readonly [number, T])[], former: Lists<T>): Lists<T> {
  const lists = new Map<number, T[]>()
  for (const [key, value] of entries) {
    const list = lists.get(key)
    if (list) list.push(value)
    else lists.set(key, [value])
  }
  return new Map([...lists].map(([key, list]) => [key, shareList(former.get(key), list)]))
}
