import type { ConversationList, ConversationSummary, View } from '../api.js'
import type { Batch } from '../model/batch.js'
import type { StateChange } from '../sessions/session.js'
import type { ConversationKind, ConversationParts } from './conversation-parts.js'
import { type Hub, shareObject } from './hub.js'
import type { Interests } from './interests.js'
import type { Summaries } from './summaries.js'
import { createView } from './view.js'

/** Parts of a client that the list uses. */
interface ListSources {
  readonly parts: ConversationParts
  readonly summaries: Summaries
  readonly interests: Interests
}

/**
 * Makes the list of all conversations. While it has listeners, a change costs only the
 * conversations that it names, and one walk over the list.
 */
export function createConversationList(
  hub: Hub,
  { parts, summaries, interests }: ListSources,
): View<ConversationList> {
  const { session } = hub
  const changes = createChanges(hub, parts)
  const listed = new Map<number, ConversationSummary>()
  let conversations: readonly ConversationSummary[] = []

  /** Brings one conversation up to date. @returns true: the list has changed */
  const look = (id: number, kind: ConversationKind | undefined): boolean => {
    const former = listed.get(id)
    const next =
      kind !== undefined && summaries.isListed(id, kind) ? summaries.get(id, kind) : undefined
    if (next) listed.set(id, next)
    else listed.delete(id)
    if (kind === undefined) summaries.forget(id)
    return former !== next
  }
  const lookAtAll = () => {
    const all = new Map<number, ConversationKind>()
    for (const { conversationId, kind } of session.state.logs.values())
      all.set(conversationId, kind === 'group' ? kind : 'direct')
    for (const id of parts.unsentIds()) all.set(id, parts.kind(id) ?? 'direct')
    let isChanged = false
    for (const id of [...listed.keys()])
      if (!all.has(id)) isChanged = look(id, undefined) || isChanged
    for (const [id, kind] of all) isChanged = look(id, kind) || isChanged
    if (isChanged) conversations = [...listed.values()].sort(inOrder)
  }
  const lookAt = (ids: ReadonlySet<number>) => {
    const moved = new Set([...ids].filter((id) => look(id, parts.kind(id))))
    if (moved.size === 0) return
    conversations = merge(
      conversations.filter(({ id }) => !moved.has(id)),
      [...moved].flatMap((id) => listed.get(id) ?? []).sort(inOrder),
    )
  }
  return createView<ConversationList>(hub, {
    initial: { conversations, unread: 0, isComplete: false },
    compute(former) {
      const { length } = conversations
      const ids = changes.take()
      if (ids === 'all') lookAtAll()
      else lookAt(ids)
      if (conversations.length !== length) interests.changed()
      const { meta } = session.state
      return shareObject(former, {
        conversations,
        unread: conversations.reduce((sum, { unread }) => sum + unread, 0),
        isComplete: hub.isEnded || (meta.pos !== '' && meta.listCursor === ''),
      })
    },
    start() {
      const stopChanges = changes.start()
      const stopInterest = interests.add({
        rank: 3,
        *reads() {
          yield 'pins'
          yield 'groups'
          for (const { kind, id } of conversations)
            yield `${kind === 'group' ? kind : 'user'}.${id}`
        },
        *presence() {
          for (const { kind, id } of conversations) if (kind === 'direct') yield id
        },
      })
      return () => {
        stopChanges()
        stopInterest()
      }
    },
  })
}

/** Collects the conversations that changes of the state name. */
function createChanges(hub: Hub, parts: ConversationParts) {
  const { session } = hub
  let ids: Set<number> | 'all' = 'all'
  let isWatched = false
  let me = 0
  let online: readonly number[] = []
  /** Conversations with typing users, uploads or unsent messages, which may end without being named. */
  let shortLived: readonly number[] = []

  const takeFleeting = (): readonly number[] => {
    const { live, unsent } = session.state
    const uploads = Object.keys(live.uploads).flatMap(
      (id) => unsent.get(Number(id))?.conversationId ?? [],
    )
    const typing = live.typing.map(({ conversationId }) => conversationId)
    const taken = [...shortLived, ...(online === live.online ? [] : [...online, ...live.online])]
    online = live.online
    shortLived = [...typing, ...uploads, ...parts.unsentIds()]
    return [...taken, ...shortLived]
  }
  const collect = (change: StateChange) => {
    if (ids === 'all') return
    const isOtherUser = hub.me !== me
    const isFar = change.type === 'batch' && isFarReaching(change.batch)
    if (isOtherUser || isFar || change.type === 'reload') {
      me = hub.me
      ids = 'all'
      return
    }
    if (change.type === 'batch') for (const id of changedConversations(change.batch)) ids.add(id)
    if (change.type === 'live' || change.batch.unsent.length > 0 || change.batch.sent.length > 0)
      for (const id of takeFleeting()) ids.add(id)
  }
  return {
    /** The list is current now: from here on changes are collected. */
    start() {
      isWatched = true
      ids = new Set()
      me = hub.me
      takeFleeting()
      const unwatch = hub.watch(collect)
      return () => {
        isWatched = false
        ids = 'all'
        unwatch()
      }
    },
    /** Returns the conversations that may have changed since the last time. */
    take(): ReadonlySet<number> | 'all' {
      const taken = ids
      ids = isWatched ? new Set() : 'all'
      return taken
    },
  }
}

/** Tests whether a batch may change conversations that it does not name. */
function isFarReaching({ isReset, goneLogs, cached }: Batch): boolean {
  return (
    isReset || goneLogs.length > 0 || cached.some(({ key }) => key === 'pins' || key === 'groups')
  )
}

function changedConversations({ logs, unsent, cached }: Batch): number[] {
  return [
    ...logs.map(({ conversationId }) => conversationId),
    ...unsent.map(({ conversationId }) => conversationId),
    ...cached.map(({ key }) => Number(key.split('.')[1])),
  ]
}

function inOrder(a: ConversationSummary, b: ConversationSummary): number {
  return Number(b.isPinned) - Number(a.isPinned) || b.lastActivity - a.lastActivity || b.id - a.id
}

/** Merges two lists that are in order. */
function merge(
  a: readonly ConversationSummary[],
  b: readonly ConversationSummary[],
): readonly ConversationSummary[] {
  const merged: ConversationSummary[] = []
  let next = 0
  for (const each of a) {
    for (let other = b[next]; other && inOrder(other, each) < 0; other = b[++next])
      merged.push(other)
    merged.push(each)
  }
  return [...merged, ...b.slice(next)]
}
