import type { Message, MessageList, View } from '../../api.js'
import type { Failure } from '../../model/failure.js'
import type { MessageRecord, UnsentRecord } from '../../model/records.js'
import { ClientError, failureOf } from '../../errors.js'
import type { StateChange } from '../../sessions/session.js'
import type { ConversationKind, ConversationParts } from '../conversation-parts.js'
import { type Hub, isSameList, shareList, shareObject } from '../hub.js'
import type { Interests } from '../interests.js'
import { statusOf, storedMessage, unsentMessage } from './message.js'
import { LogWindow } from './message-window.js'
import { createView } from '../view.js'

/** Messages of the first page, and of each further one. */
export const pageSize = 50
/** Messages that a list keeps; those that were loaded by request come on top. */
const roomOfList = 500
/** The most pages and holes that one request loads. */
const maxLoads = 20

/** The messages of a conversation: a view, and its request for more. */
export interface LoadedMessages {
  readonly view: View<MessageList>
  /** @throws ClientError */
  loadOlder(limit: number): Promise<void>
}

/** A stored message, and the loaded part that it belongs to. */
interface StoredRow {
  readonly record: MessageRecord
  readonly window: LogWindow
}

/** Parts of a client that a list of messages uses. */
interface Sources {
  readonly id: number
  /** The kind of the conversation, as it is known now. */
  readonly kind: () => ConversationKind
  readonly parts: ConversationParts
  readonly interests: Interests
}

/** Makes the list of the messages of one conversation. */
export function createMessageList(
  hub: Hub,
  { id, kind, parts, interests }: Sources,
): LoadedMessages {
  const { session } = hub
  const compose = createComposer(hub)
  let windows: readonly LogWindow[] = []
  /** Those that replace the windows when they are loaded. */
  let fresh: readonly LogWindow[] = []
  /** Grows with each change of what is loaded. */
  let changes = 0
  let room = roomOfList
  let isWatched = false
  /** True: batches were missed, so everything is read again. */
  let isStale = false
  let failure: Failure | undefined
  let wasOnline = false
  /** Requests that are not finished; they run one after the other. */
  let pending = 0
  let queue: Promise<unknown> = Promise.resolve()
  let isFollowing = false

  const isOnline = () => session.state.live.connection.state === 'online'
  const currentWindows = () => {
    const keys = parts.keys(id, kind())
    if (keys.join() !== windows.map(({ key }) => key).join()) {
      windows = keys.map((key) => new LogWindow(session, key))
      changes++
      interests.changed()
    }
    return windows
  }
  /** The lowest ID from which on the messages of all logs are loaded. */
  const completeFrom = () =>
    Math.max(
      0,
      ...currentWindows().map((each) =>
        // A log that cannot be loaded now does not hide the other one.
        failure && each.rows.size === 0 ? 0 : each.completeFrom,
      ),
    )
  const shown = (): StoredRow[] => {
    const from = completeFrom()
    return currentWindows()
      .flatMap((window) => [...window.rows.values()].map((record) => ({ record, window })))
      .filter(({ record }) => record.msgId >= from)
      .sort((a, b) => a.record.msgId - b.record.msgId)
  }

  /** Loads until so many messages are shown, or all. */
  const loadUpTo = async (goal: number) => {
    const all = currentWindows()
    for (const window of all) if (window.lower === undefined) await window.loadOlder(pageSize)
    for (let loads = 0; loads < maxLoads; loads++) {
      const missing = goal - shown().length
      // The log that hides older messages of the other one.
      const [next] = all
        .filter(({ hasOlder }) => hasOlder)
        .sort((a, b) => b.completeFrom - a.completeFrom)
      if (missing <= 0 || next === undefined) return
      await next.loadOlder(missing)
    }
  }
  const loadAgain = async () => {
    isStale = false
    const former = currentWindows()
    fresh = former.map((window) => new LogWindow(session, window.key, window))
    for (const [index, window] of fresh.entries())
      if (former[index]?.lower !== undefined)
        await window.loadOlder(Math.max(pageSize, former[index].rows.size))
    windows = fresh
    fresh = []
  }
  const isUnloaded = () => currentWindows().some(({ lower }) => lower === undefined)
  /** True: what was loaded is gone. */
  const isEmpty = () => shown().length === 0 && currentWindows().some(({ hasOlder }) => hasOlder)
  const isIncomplete = () =>
    isStale ||
    isUnloaded() ||
    isEmpty() ||
    (isOnline() && currentWindows().some(({ hasHole }) => hasHole))
  /** True: the list of logs is still to come, so there may be messages. */
  const isUnknown = () => {
    const { pos, listCursor } = session.state.meta
    if (hub.isEnded) return false
    return (pos === '' || listCursor !== '') && currentWindows().every(({ record }) => !record)
  }
  const complete = async () => {
    if (isStale) await loadAgain()
    if (isUnloaded() || isEmpty()) await loadUpTo(pageSize)
    for (const window of currentWindows())
      for (let fills = 0; fills < maxLoads && isOnline() && window.hasHole; fills++)
        await window.fillHole()
  }

  /** From the first load on, what is loaded is kept current. */
  const startFollowing = () => {
    if (isFollowing) return
    isFollowing = true
    hub.watch(follow)
  }
  const run = (task: () => Promise<void>): Promise<void> => {
    startFollowing()
    pending++
    const before = changes
    const finish = (error?: unknown) => {
      failure = error === undefined ? undefined : failureFrom(error)
      pending--
      const isFollowed = changes !== before
      changes++
      view.refresh()
      // Something may be incomplete still, or again; but a load that changed nothing is not repeated.
      if (isFollowed || task !== complete) ensure()
    }
    const result = queue.then(task).then(
      () => finish(),
      (error: unknown) => {
        finish(error)
        throw error
      },
    )
    queue = result.catch(() => {})
    view.refresh()
    return result
  }
  /** Loads what a view with listeners has to show. */
  const ensure = () => {
    if (isWatched && pending === 0 && failure === undefined && isIncomplete())
      run(complete).catch(() => {})
  }
  const follow = (change: StateChange) => {
    if (change.type === 'reload') isStale = true
    if (change.type === 'batch')
      for (const window of [...windows, ...fresh])
        if (window.apply(change.batch)) {
          changes++
          window.trim(room)
        }
    // After a failure only a new connection is a reason to try again.
    if (isOnline() && !wasOnline) failure = undefined
    wasOnline = isOnline()
    ensure()
  }

  /** Everything that the view is made of. */
  const inputs = () => {
    const unsent = parts.unsent(id)
    const uploads = unsent.length > 0 && session.state.live.uploads
    const records = currentWindows().map(({ record }) => record)
    return [changes, unsent, uploads, hub.me, pending, failure, isUnknown(), ...records]
  }
  let lastInputs: readonly unknown[] = []

  const view = createView<MessageList>(hub, {
    initial: { messages: [], hasOlder: false, isLoading: true },
    compute(former) {
      const next = inputs()
      if (former && isSameList(lastInputs, next)) return former
      lastInputs = next
      const unsent = parts.unsent(id)
      return shareObject<MessageList>(former, {
        messages: shareList(former?.messages, compose(shown(), unsent)),
        hasOlder: currentWindows().some((window) => window.hasOlder),
        isLoading: pending > 0 || (failure === undefined && (isUnloaded() || isUnknown())),
        ...(failure && { error: failure }),
      })
    },
    start() {
      isWatched = true
      failure = undefined
      wasOnline = isOnline()
      startFollowing()
      const endInterest = interests.add({
        rank: 0,
        things: () => [`${kind() === 'group' ? 'group' : 'user'}.${id}`],
        presence: () => (kind() === 'group' ? [] : [id]),
        logs: () => parts.keys(id, kind()),
      })
      // After the view has told its first value.
      queueMicrotask(ensure)
      return () => {
        isWatched = false
        room = roomOfList
        for (const window of windows) window.trim(pageSize)
        changes++
        endInterest()
      }
    },
  })
  /** The request in progress; an app that scrolls asks more than once for the same page. */
  let older: Promise<void> | undefined
  return {
    view,
    loadOlder(limit) {
      older ??= run(async () => {
        room += limit
        if (isStale) await loadAgain()
        await loadUpTo(shown().length + limit)
      }).finally(() => {
        older = undefined
      })
      return older
    },
  }
}

function failureFrom(error: unknown): Failure {
  return error instanceof ClientError ? error : failureOf('not_connected', String(error), true)
}

/** Makes messages of records: the same object for the same record and status. */
function createComposer(hub: Hub) {
  type Made = { readonly inputs: readonly unknown[]; readonly message: Message }
  let made: ReadonlyMap<string, Made> = new Map()
  return (stored: readonly StoredRow[], unsent: readonly UnsentRecord[]): readonly Message[] => {
    const { me } = hub
    const { uploads } = hub.session.state.live
    const next = new Map<string, Made>()
    const make = (key: string, inputs: readonly unknown[], build: () => Message) => {
      const former = made.get(key)
      const each =
        former && isSameList(former.inputs, inputs) ? former : { inputs, message: build() }
      next.set(key, each)
      return each.message
    }
    const arrived = new Set<number | undefined>()
    const messages = stored.flatMap(({ record, window: { record: log } }) => {
      if (log === undefined) return []
      const status = statusOf(record, log, me)
      if (record.senderId === me) arrived.add(record.transactionId)
      return make(`${record.log}/${record.seq}`, [record, status, me], () =>
        storedMessage(record, log, me, status),
      )
    })
    for (const entry of unsent) {
      if (arrived.has(entry.transactionId)) continue
      const upload = uploads[entry.transactionId]
      messages.push(
        make(`${entry.transactionId}`, [entry, upload, me], () => unsentMessage(entry, me, upload)),
      )
    }
    made = next
    return messages
  }
}
