import type { ConversationRef, Message } from '../api.js'
import { badAnswer, ClientError } from '../errors.js'
import type { HistoryResult } from '../core/inputs.js'
import type { LogKey, LogRecord, MessageRecord } from '../model/records.js'
import type { Clock } from '../ports/clock.js'
import type { Hub } from '../views/hub.js'
import { storedMessage } from '../views/messages/message.js'

/** Messages that one step reads. */
const pageSize = 100
/** Time before a history that could not be read is tried again. */
const retryMs = 5_000

/** Options of a follower. */
interface FollowerOptions {
  readonly clock: Clock
  /** True: what is unread when it begins is new too. */
  readonly isFromUnread: boolean
  /** Returns the position up to which messages of a conversation are taken; undefined: the rules below. */
  readonly after: (conversation: ConversationRef) => number | undefined
  /** Takes a new message, in the order of its log. */
  take(message: Message, conversation: ConversationRef): void
}

/**
 * Follows the new messages of other users. For each log it keeps the position up to which it has
 * taken the messages, and goes on from there whenever the client is current: so it does not matter
 * whether a message came as an event, by a sync, or is still a hole of the store.
 *
 * - A log that is known when the list of logs is complete for the first time begins at its end, or at
 *   the read position.
 * - A log that comes later begins at its first message, a group at the first one after the join,
 *   broadcasts at the read position.
 *
 * @returns ends it
 */
export function followNewMessages(hub: Hub, options: FollowerOptions): () => void {
  const { session } = hub
  const { clock, isFromUnread, after, take } = options
  const { state } = session
  /** The position up to which a log is taken; null: of a group that the user has joined since. */
  const taken = new Map<LogKey, number | null>()
  const waiting = new Set<LogKey>()
  let isListed = false
  let isRunning = false
  let wasOnline = false
  let isEnded = false
  let cancelRetry: () => void = () => {}

  const look = (log: LogRecord) => {
    const { key, kind, seq, readSeq, unread } = log
    const position = taken.get(key)
    if (position === undefined) {
      const first = { group: null, direct: 0, broadcast: readSeq }[kind]
      const known = kind === 'broadcast' ? undefined : after(conversationRef(log))
      const start = isListed ? first : isFromUnread && unread > 0 ? readSeq : seq
      taken.set(key, known === undefined ? start : Math.min(known, seq))
    } else if (position !== null && position > seq) taken.set(key, seq)
    waiting.add(key)
  }
  const lookAtAll = () => {
    for (const log of state.logs.values()) look(log)
    const { pos, listCursor } = state.meta
    if (pos !== '' && listCursor === '') isListed = true
  }
  const isOnline = () => state.live.connection.state === 'online'

  const unwatch = hub.watch((change) => {
    if (change.type === 'batch') {
      const { logs, goneLogs, isReset } = change.batch
      for (const key of goneLogs) taken.delete(key)
      for (const { key } of logs) {
        const log = state.logs.get(key)
        if (log) look(log)
      }
      if (isReset || !isListed) lookAtAll()
    }
    if (change.type === 'reload' || (isOnline() && !wasOnline)) lookAtAll()
    wasOnline = isOnline()
    void run()
  })
  lookAtAll()
  wasOnline = isOnline()
  void run()

  async function run(): Promise<void> {
    if (isRunning || isEnded) return
    isRunning = true
    try {
      for (const key of waiting) {
        if (!isListed || !isOnline() || isEnded) return
        waiting.delete(key)
        await takeNew(key)
      }
    } catch (error) {
      cancelRetry = clock.after(retryMs, () => void run())
      if (!(error instanceof ClientError)) hub.report(error)
    } finally {
      isRunning = false
    }
  }

  async function takeNew(key: LogKey): Promise<void> {
    try {
      while (!isEnded && isOnline()) {
        const log = state.logs.get(key)
        const position = taken.get(key)
        if (log === undefined || position === undefined) return
        if (position === null) taken.set(key, await joinedAt(log))
        else if (position >= log.seq) return
        else await takePage(log, position)
      }
    } catch (error) {
      if (!(error instanceof ClientError) || error.retry) {
        waiting.add(key)
        throw error
      }
      // What the server refuses for good is not new for this user.
      taken.set(key, state.logs.get(key)?.seq ?? 0)
    }
  }

  /** Takes the next messages after a position: those that are stored, else it fills the hole there. */
  async function takePage(log: LogRecord, position: number): Promise<void> {
    const { key, ranges, seq } = log
    const from = position + 1
    const range = ranges.find(([first, last]) => first <= from && from <= last)
    const above = ranges.find(([first]) => first > from)?.[0] ?? seq + 1
    const end = Math.min(range ? range[1] : above - 1, position + pageSize)
    if (!range) {
      await fill(key, end + 1)
      const isFilled = state.logs
        .get(key)
        ?.ranges.some(([first, last]) => first <= end && end <= last)
      if (!isFilled) throw new ClientError(badAnswer('message.history'))
      return
    }
    const conversation = conversationRef(log)
    for (const message of (await read(key, from, end)).reverse()) {
      if (isEnded) return
      taken.set(key, message.seq)
      const isSeen = message.senderId === hub.me || message.msgId <= (log.joinedMsgId ?? 0)
      if (!isSeen) take(storedMessage(message, log, { me: hub.me, status: 'sent' }), conversation)
    }
    taken.set(key, end)
  }

  /** Returns the position of the last message before the user joined a group. */
  async function joinedAt({ key, seq, joinedMsgId = 0 }: LogRecord): Promise<number> {
    let before = seq + 1
    while (joinedMsgId > 0 && before > 1) {
      const fromSeq = await fill(key, before)
      const messages = await read(key, fromSeq, before - 1)
      const earlier = messages.find(({ msgId }) => msgId <= joinedMsgId)
      if (earlier) return earlier.seq
      // The history before the join is not for this user.
      if (messages.length === 0) return before - 1
      before = fromSeq
    }
    return 0
  }

  /** Reads history below a position into the store. @returns the position down to which it is there */
  async function fill(log: LogKey, beforeSeq: number): Promise<number> {
    const command = { type: 'history', log, beforeSeq, limit: pageSize } as const
    return ((await session.execute(command)) as HistoryResult).fromSeq
  }

  async function read(log: LogKey, fromSeq: number, toSeq: number): Promise<MessageRecord[]> {
    return [...(await session.messages({ log, fromSeq, toSeq, limit: toSeq - fromSeq + 1 }))]
  }

  return () => {
    isEnded = true
    cancelRetry()
    unwatch()
  }
}

function conversationRef({ kind, conversationId: id }: LogRecord): ConversationRef {
  return { id, kind: kind === 'group' ? 'group' : 'direct' }
}
