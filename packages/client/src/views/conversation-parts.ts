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
  /** Unsent messages, in the order in which they are sent. */
  unsent(id: number, kind: ConversationKind): readonly UnsentRecord[]
  /** Edits and recalls that are not confirmed, in the same order. */
  alterations(id: number, kind: ConversationKind): readonly UnsentRecord[]
  /** Conversations with unsent messages. */
  unsentIds(): Iterable<number>
  /** Other users who type now. */
  typing(id: number): readonly number[]
}

const none: readonly never[] = []

/** Makes the parts of the conversations of one client. */
export function createConversationParts(hub: Hub): ConversationParts {
  const { session } = hub
  let unsent: Lists<string, UnsentRecord> = new Map()
  let alterations: Lists<string, UnsentRecord> = new Map()
  let isUnsentCurrent = false
  let typing: Lists<number, number> = new Map()

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
      const entries = ordered.map(
        (entry) =>
          [unsentKey(entry.conversationId, entry.isGroup ? 'group' : 'direct'), entry] as const,
      )
      unsent = listsOf(
        entries.filter(([, { alters }]) => !alters),
        unsent,
      )
      alterations = listsOf(
        entries.filter(([, { alters }]) => alters),
        alterations,
      )
    }
    return { unsent, alterations }
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
      if (logs.has(groupKey(id)) || cached.get(`group.${id}`)?.value) return 'group'
      if (keys(id, 'direct').some((key) => logs.has(key))) return 'direct'
      return kinds.find((kind) => unsentLists().unsent.has(unsentKey(id, kind)))
    },
    unsent: (id, kind) => unsentLists().unsent.get(unsentKey(id, kind)) ?? none,
    alterations: (id, kind) => unsentLists().alterations.get(unsentKey(id, kind)) ?? none,
    unsentIds: () => Array.from(unsentLists().unsent.keys(), (key) => Number(key.split(' ')[1])),
    typing: (id) => typingLists(session.state.live.typing, hub.me).get(id) ?? none,
  }
}

type Lists<Key, T> = ReadonlyMap<Key, readonly T[]>

const kinds: readonly ConversationKind[] = ['group', 'direct']

function unsentKey(id: number, kind: ConversationKind): string {
  return `${kind} ${id}`
}

/** Returns lists by key; those that have not changed are the former ones. */
function listsOf<Key, T>(
  entries: readonly (readonly [Key, T])[],
  former: Lists<Key, T>,
): Lists<Key, T> {
  const lists = new Map<Key, T[]>()
  for (const [key, value] of entries) {
    const list = lists.get(key)
    if (list) list.push(value)
    else lists.set(key, [value])
  }
  return new Map([...lists].map(([key, list]) => [key, shareList(former.get(key), list)]))
}
