import type { ConversationSummary, Message } from '../api.js'
import type { LogRecord, UnsentRecord } from '../model/records.js'
import { fromWire, type WireGroup } from '../wire/from-wire.js'
import type { ConversationKind, ConversationParts } from './conversation-parts.js'
import { type Hub, isSameList, memoized, shareObject } from './hub.js'
import { alterationOf, statusOf, storedMessage, unsentMessage } from './messages/message.js'
import { cachedValueOf, type Users } from './users.js'

/** The conversations of a client, one by one; the same object until one changes. */
export interface Summaries {
  get(id: number, kind: ConversationKind): ConversationSummary
  /** False: the list leaves it out, since it is empty or was deleted. */
  isListed(id: number, kind: ConversationKind): boolean
  /** Forgets conversations that do not exist any more. */
  forget(id: number): void
}

/** Makes the summaries of one client. */
export function createSummaries(hub: Hub, parts: ConversationParts, users: Users): Summaries {
  const { session } = hub
  const known = new Map<number, { inputs: readonly unknown[]; summary: ConversationSummary }>()
  const pinnedSet = memoized(
    (pins: readonly number[] | undefined): ReadonlySet<number> => new Set(pins),
  )
  const joinedSet = memoized(
    (groups: readonly number[] | undefined) => groups && new Set<number>(groups),
  )

  /** Everything that a summary is made of; inputs that are identical make the same summary. */
  const inputsOf = (id: number, kind: ConversationKind) => {
    const { state } = session
    const unsent = parts.unsent(id, kind)
    const newest = unsent.at(-1)
    return [
      kind === 'direct' ? users.find(id) : undefined,
      kind === 'group' ? cachedValueOf<WireGroup | null>(state, `group.${id}`) : undefined,
      joinedSet(cachedValueOf(state, 'groups'))?.has(id),
      pinnedSet(cachedValueOf(state, 'pins')).has(id),
      parts.typing(id),
      hub.me,
      newest && state.live.uploads[newest.transactionId],
      unsent,
      parts.alterations(id, kind),
      ...parts.logs(id, kind),
    ] as const
  }

  return {
    get(id, kind) {
      const inputs = inputsOf(id, kind)
      const former = known.get(id)
      if (former && former.summary.kind === kind && isSameList(former.inputs, inputs))
        return former.summary
      const [user, group, isMember, isPinned, typing, me, upload, unsent, alterations, ...logs] =
        inputs
      const last = lastMessageOf(
        { logs, unsent, alterations, me, upload },
        former?.summary.lastMessage,
      )
      const isGroup = kind === 'group'
      const info = group ? fromWire.group(group) : undefined
      const [log] = logs
      const summary = shareObject<ConversationSummary>(former?.summary, {
        id,
        kind,
        title: (isGroup ? info?.name : user?.name) ?? '',
        avatar: (isGroup ? info?.avatar : user?.avatar) ?? '',
        readSeq: logs.find(({ kind }) => kind !== 'broadcast')?.readSeq ?? 0,
        unread: logs.reduce((sum, { unread }) => sum + unread, 0),
        isPinned,
        isMuted: isGroup
          ? log?.muteMode === undefined
            ? (info?.muteMode ?? 'none') !== 'none'
            : log.muteMode > 0
          : (user?.isMuted ?? false),
        isWritable: !isGroup || (log?.status !== 1 && isMember !== false),
        ...(last !== undefined && { lastMessage: last }),
        lastActivity: last?.timestamp ?? (last === null && info ? info.createdAt : 0),
        isOnline: user?.isOnline ?? false,
        typing,
      })
      known.set(id, { inputs, summary })
      return summary
    },
    isListed(id, kind) {
      if (parts.unsent(id, kind).length > 0) return true
      const logs = parts.logs(id, kind)
      // A group is listed from the moment that the user is in it, until it is deleted.
      return logs.some(
        ({ last, seq, hiddenMsgId, status }) =>
          last || (last === undefined && seq > 0) || (kind === 'group' && !hiddenMsgId && !status),
      )
    },
    forget(id) {
      known.delete(id)
    },
  }
}

/** The newest message: the last unsent one, else the last one of all logs. */
function lastMessageOf(
  {
    logs,
    unsent,
    alterations,
    me,
    upload,
  }: {
    readonly logs: readonly LogRecord[]
    readonly unsent: readonly UnsentRecord[]
    readonly alterations: readonly UnsentRecord[]
    readonly me: number
    readonly upload: Message['upload']
  },
  former: Message | null | undefined,
): Message | null | undefined {
  const entry = unsent.findLast(
    ({ transactionId }) => !logs.some(({ last }) => last?.transactionId === transactionId),
  )
  if (entry) {
    const alteration = alterationOf(alterations, entry)
    return shareMessage(former, unsentMessage(entry, { me, upload, alteration }))
  }
  const [newest] = logs
    .flatMap((log) => (log.last ? [{ log, last: log.last }] : []))
    .sort((a, b) => b.last.msgId - a.last.msgId)
  if (newest === undefined)
    return logs.some(({ last, seq }) => last === undefined && seq > 0) ? undefined : null
  const { log, last } = newest
  const alteration = alterationOf(alterations, last)
  return shareMessage(
    former,
    storedMessage(last, log, { me, status: statusOf(last, log, me), alteration }),
  )
}

/** Returns the former message when it says the same. */
function shareMessage(former: Message | null | undefined, next: Message): Message {
  return former && JSON.stringify(former) === JSON.stringify(next) ? former : next
}
