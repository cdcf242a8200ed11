/** What the model server answers to reads: heads, pages of sync, changes and history. */
import type { Json } from '@hermod/testkit'
import {
  broadcastLowId,
  broadcasts,
  type Database,
  direct,
  group,
  hasLog,
  hiddenFrom,
  isReader,
  keyOf,
  kindOf,
  type LogName,
  logOf,
  type ModelChange,
  type ModelLog,
  type ModelMessage,
  peerOf,
  unreadOf,
} from './state.js'

/** Bounds that a real server has too, small ones here. */
export interface AnswerLimits {
  /** Logs of a page. */
  readonly maxLogs: number
  /** Changes and messages of a page, in place of its bytes. */
  readonly maxItems: number
  /** Rows behind the end beyond which the list is answered. */
  readonly maxRows: number
  /** Changes, or messages of history, of a page. */
  readonly maxChanges: number
  readonly maxUserChanges: number
}

/** A message as an event has it. */
export function eventMessageFor(log: ModelLog, message: ModelMessage, userId: number): Json {
  const transaction = log.transactions[message.seq - 1] ?? 0
  const { reacted: _, written: _text, ...shared } = message
  return {
    conversation: log.name,
    ...shared,
    ...(message.sender_id === userId && transaction > 0 && { transaction_id: `${transaction}` }),
  }
}

/** What a reader sees of the original of a reply. */
export function quoteFor(
  database: Database,
  log: ModelLog,
  { msg_id, seq }: NonNullable<ModelMessage['reply_to']>,
  userId: number,
): Json {
  if (msg_id <= hiddenFrom(database, log, userId)) return { msg_id, seq, state: 'hidden' }
  const original = log.messages[seq - 1]
  const sender = { msg_id, seq, sender_id: log.senders[seq - 1] }
  if (!original) return { ...sender, state: 'recalled' }
  const { content_type, content: excerpt } = original
  return { ...sender, state: 'present', content_type, excerpt }
}

/** The quotes of originals that messages of an answer name and that are not among them. */
function quotesOf(
  database: Database,
  log: ModelLog,
  { messages, userId }: { readonly messages: readonly Json[]; readonly userId: number },
): Json[] {
  const held = new Set(messages.map(({ msg_id }) => msg_id))
  return messages.flatMap(({ reply_to }) =>
    reply_to && !held.has(reply_to.msg_id) ? [quoteFor(database, log, reply_to, userId)] : [],
  )
}

/** A message as an answer to its reader has it. */
export function messageFor(log: ModelLog, message: ModelMessage, userId: number): Json {
  const own = ownReactions(message, userId)
  const { stream, written } = message
  const { text, next: next_index } = written ?? {}
  return {
    ...eventMessageFor(log, message, userId),
    ...(own.length > 0 && { own }),
    ...(written && { stream: { ...stream, next_index, text } }),
  }
}

/** The keys of a user's reactions to a message. */
export function ownReactions({ reacted = [] }: ModelMessage, userId: number): string[] {
  return reacted.filter((each) => each.userId === userId).map(({ key }) => key)
}

/** A number as a reader lists it later; the texts are those of now. */
export function changeFor(database: Database, log: ModelLog, change: number, userId: number): Json {
  const { kind, seq, actorId, timestamp } = log.changes[change - 1] as ModelChange
  const message = log.messages[seq - 1]
  const isHidden = (log.ids[seq - 1] ?? 0) <= hiddenFrom(database, log, userId)
  const skipped = (at?: number) => ({
    event: 'change.skipped',
    change,
    data: { conversation: log.name, ...(at !== undefined && goneAt(log, at)) },
  })
  if (kind === 'stored') {
    if (isHidden) return skipped()
    if (!message) return skipped(seq)
    return { event: 'message.stored', change, data: messageFor(log, message, userId) }
  }
  const isLatest = !log.changes.some((each, index) => index >= change && each.seq === seq)
  if (isHidden || !isLatest) return skipped()
  if (kind !== 'recalled' && message)
    return { event: 'message.replaced', change, data: messageFor(log, message, userId) }
  return { event: 'message.recalled', change, data: recallOf(log, seq, { actorId, timestamp }) }
}

/** The place of a recalled message and its sender. */
export function goneAt({ senders, notifications }: ModelLog, seq: number): Json {
  return { seq, sender_id: senders[seq - 1], is_system: notifications.has(seq) }
}

export function recallOf(
  log: ModelLog,
  seq: number,
  { actorId, timestamp }: { readonly actorId: number; readonly timestamp: number },
): Json {
  return {
    actor_id: actorId,
    user_ids: [],
    conversation: log.name,
    msg_id: log.ids[seq - 1],
    ...goneAt(log, seq),
    timestamp,
  }
}

/** The messages that a reader sees, newest first. */
export function visibleMessages(database: Database, log: ModelLog, userId: number): ModelMessage[] {
  const hidden = hiddenFrom(database, log, userId)
  return log.messages
    .filter((each) => each !== undefined && each.msg_id > hidden)
    .reverse() as ModelMessage[]
}

/** The numbers and positions of a log for a user, without its messages. */
export function headOf(database: Database, log: ModelLog, userId: number): Json {
  const { name, changes, messages } = log
  const kind = kindOf(name)
  const own = log.positions.get(userId) ?? { read: 0, delivered: 0 }
  const isOwnStream = kind === 'broadcast' && name.high_id === userId
  const peer = kind === 'direct' ? log.positions.get(peerOf(name, userId)) : undefined
  const of = name.is_group ? database.groups.get(name.low_id) : undefined
  const membership = of?.members.get(userId)
  return {
    log: name,
    kind,
    change: changes.length,
    seq: messages.length,
    unread: unreadOf(database, log, userId),
    read_seq: isOwnStream ? messages.length : own.read,
    delivered_seq: isOwnStream ? messages.length : own.delivered,
    peer_read_seq: peer?.read ?? 0,
    peer_delivered_seq: peer?.delivered ?? 0,
    latest_msg_id: visibleMessages(database, log, userId)[0]?.msg_id ?? 0,
    hidden_msg_id: hiddenFrom(database, log, userId),
    ...(of &&
      membership && {
        status: of.status,
        version: of.version,
        joined_msg_id: membership.joinedMsgId,
        msg_mute_mode: membership.muteMode,
        msg_push_mode: membership.pushMode,
      }),
  }
}

/** All changes above a number, the newest messages, or none because the log has no new changes. */
type Wanted = number | 'newest' | 'unchanged'

interface Walk {
  readonly logs: Map<string, Wanted | null>
  readonly pos: number
  readonly more: boolean
}

const maxListedChanges = 100

/** Answers of one server to reads. */
export class Answers {
  constructor(
    private readonly database: Database,
    private readonly limits: AnswerLimits,
  ) {}

  /** The pos of a position. */
  pos(position: number): string {
    return `${this.database.epoch}/${position}/${this.database.rows[position - 1]?.time ?? 0}`
  }

  /** How a client at a pos begins: as `sync` of session.open says. */
  stateAt(pos: string | undefined, userId: number): 'current' | 'needed' | 'reset' {
    if (!pos) return 'needed'
    const position = this.#positionOf(pos)
    if (position === undefined) return 'reset'
    const { rows, purgedTo } = this.database
    if (position < purgedTo) return 'needed'
    for (let at = position + 1; at <= rows.length; at++)
      if (this.#concerns(at, userId)) return 'needed'
    return 'current'
  }

  /** `/message/sync`. */
  sync(userId: number, body: Json): Json {
    const { epoch, rows, purgedTo } = this.database
    const {
      after = '',
      list: wantsList = false,
      cursor = '',
      have = [],
      limit = 100,
      window = 20,
    } = body
    const position = after === '' ? undefined : this.#positionOf(after)
    if (after !== '' && position === undefined)
      return { epoch, reset: 'epoch', list: false, heads: [], gone: [], user: [], more: false }
    const maxLogs = Math.min(limit, this.limits.maxLogs)
    const canWalk =
      position !== undefined &&
      !wantsList &&
      cursor === '' &&
      position >= purgedTo &&
      rows.length - position <= this.limits.maxRows
    const held = new Map<string, Wanted>()
    const names = new Map<string, LogName>()
    for (const { log, change } of have) {
      held.set(keyOf(log), Number(change))
      names.set(keyOf(log), log)
    }
    const page = canWalk
      ? this.#delta(userId, position, maxLogs)
      : this.#list(userId, { cursor, maxLogs, after: position ?? rows.length })
    const { logs, ...rest } = page
    return { ...rest, ...this.#fill(userId, { held, names, logs }, Number(window)) }
  }

  /** `/message/changes`. */
  changes(userId: number, { log: name, after_change: after, limit = 100 }: Json): Json {
    const log = logOf(this.database, name)
    const end = log.changes.length
    const page = { log: name, change: end, hidden_msg_id: hiddenFrom(this.database, log, userId) }
    if (after < log.keptFrom || after > end) return { ...page, changes: [], next: end }
    const next = Math.min(end, after + Math.min(limit, this.limits.maxChanges))
    const changes = this.#span(log, { after, next, userId })
    const messages = messagesOf(changes)
    const quotes = quotesOf(this.database, log, { messages, userId })
    return { ...page, from: after, changes, next, quotes }
  }

  /** `/message/history`. */
  history(userId: number, { log: name, before_seq: before = 0, limit = 100 }: Json): Json {
    const log = logOf(this.database, name)
    const beforeSeq =
      before === 0 ? log.messages.length + 1 : Math.min(before, log.messages.length + 1)
    const below = visibleMessages(this.database, log, userId).filter(({ seq }) => seq < beforeSeq)
    const page = below.slice(0, Math.min(limit, this.limits.maxChanges))
    const messages = page.map((each) => messageFor(log, each, userId))
    return {
      log: name,
      messages,
      quotes: quotesOf(this.database, log, { messages, userId }),
      from_seq: messages.length === below.length ? 1 : (messages.at(-1)?.seq ?? 1),
      before_seq: beforeSeq,
      hidden_msg_id: hiddenFrom(this.database, log, userId),
    }
  }

  /** Undefined: the pos is not one of this history. */
  #positionOf(pos: string): number | undefined {
    const [epoch, text, time] = pos.split('/')
    const { rows } = this.database
    const position = Number(text)
    if (epoch !== this.database.epoch || position > rows.length) return undefined
    return (rows[position - 1]?.time ?? 0) === Number(time) ? position : undefined
  }

  #concerns(position: number, userId: number): boolean {
    const row = this.database.rows[position - 1]
    if (!row) return false
    return (
      row.users.includes(userId) ||
      row.groups.some((id) => isReader(this.database, group(id), userId)) ||
      row.logs.some(({ key }) => this.#isReaderOf(key, userId))
    )
  }

  #isReaderOf(key: string, userId: number): boolean {
    const log = this.database.logs.get(key)
    return log !== undefined && isReader(this.database, log.name, userId)
  }

  #userChanges(userId: number, after: number): { user: Json[]; upTo: number | undefined } {
    const changes = [...(this.database.userChanges.get(userId)?.values() ?? [])]
      .filter(({ pos }) => pos > after)
      .sort((a, b) => a.pos - b.pos)
    const { maxUserChanges } = this.limits
    const end = changes.length > maxUserChanges ? changes[maxUserChanges]?.pos : undefined
    const shown = end === undefined ? changes : changes.filter(({ pos }) => pos < end)
    const toUser = ({ kind, ref }: { kind: number; ref: number }) => ({ kind, ref })
    if (end === undefined) return { user: shown.map(toUser), upTo: undefined }
    // Changes of one position are never parted.
    if (shown.length === 0)
      return { user: changes.filter(({ pos }) => pos === end).map(toUser), upTo: end }
    return { user: shown.map(toUser), upTo: shown.at(-1)?.pos }
  }

  #delta(userId: number, after: number, maxLogs: number): Json & { logs: Walk['logs'] } {
    const { epoch } = this.database
    const { user, upTo } = this.#userChanges(userId, after)
    const walk = this.#walk(userId, after, maxLogs)
    const position = Math.min(walk.pos, upTo ?? walk.pos)
    return {
      epoch,
      pos: this.pos(position),
      list: false,
      logs: walk.logs,
      user,
      more: walk.more || upTo !== undefined,
    }
  }

  #walk(userId: number, after: number, maxLogs: number): Walk {
    const { rows } = this.database
    const logs: Walk['logs'] = new Map()
    for (let at = after + 1; at <= rows.length; at++) {
      const row = rows[at - 1]
      if (!row) continue
      const isNamed = row.users.includes(userId)
      const found: [string, number | null][] = [
        ...row.logs
          .filter(({ key }) => isNamed || this.#isReaderOf(key, userId))
          .map(({ key, change }): [string, number | null] => [key, change]),
        ...row.groups
          .filter((id) => isNamed || isReader(this.database, group(id), userId))
          .map((id): [string, number | null] => [keyOf(group(id)), isNamed ? 0 : null]),
      ]
      const added = new Set(found.map(([key]) => key).filter((key) => !logs.has(key)))
      if (added.size > 0 && logs.size > 0 && logs.size + added.size > maxLogs)
        return { logs, pos: at - 1, more: true }
      for (const [key, change] of found) {
        const first =
          logs.get(key) ?? (change === null ? null : change === 0 ? 'newest' : change - 1)
        logs.set(key, first)
      }
    }
    return { logs, pos: rows.length, more: false }
  }

  #list(
    userId: number,
    { cursor, maxLogs, after }: { cursor: string; maxLogs: number; after: number },
  ): Json & { logs: Walk['logs'] } {
    const { epoch, logs, rows } = this.database
    const [place, placePeer, userPosition] = cursor === '' ? [] : cursor.split('/').map(Number)
    const { user, upTo } = this.#userChanges(userId, userPosition ?? after)
    const peers = new Map<number, { newest: number; keys: string[] }>()
    const note = (name: LogName, newest: number) => {
      const peer = peerOf(name, userId)
      const known = peers.get(peer) ?? { newest: 0, keys: [] }
      known.newest = Math.max(known.newest, newest)
      known.keys.push(keyOf(name))
      peers.set(peer, known)
    }
    for (const log of logs.values())
      if (!log.name.is_group && hasLog(this.database, log, userId))
        note(log.name, log.ids.at(-1) ?? 0)
    for (const { id, members } of this.database.groups.values())
      if (members.has(userId)) note(group(id), logs.get(keyOf(group(id)))?.ids.at(-1) ?? 0)
    const sorted = [...peers]
      .sort(([a, { newest: x }], [b, { newest: y }]) => y - x || b - a)
      .filter(
        ([peer, { newest }]) =>
          place === undefined || newest < place || (newest === place && peer < (placePeer ?? 0)),
      )
    const page: typeof sorted = []
    let count = 0
    for (const each of sorted) {
      count += each[1].keys.length
      if (page.length > 0 && count > maxLogs) break
      page.push(each)
    }
    const isLast = page.length === sorted.length && upTo === undefined
    const last = page.at(-1)
    const end = last
      ? `${last[1].newest}/${last[0]}`
      : `${place ?? Number.MAX_SAFE_INTEGER}/${placePeer ?? 0}`
    return {
      epoch,
      ...(cursor === '' && { pos: this.pos(rows.length) }),
      list: true,
      logs: new Map(page.flatMap(([, { keys }]) => keys.map((key) => [key, 'newest' as const]))),
      user,
      more: false,
      ...(!isLast && { cursor: `${end}/${upTo ?? rows.length}` }),
    }
  }

  /** The heads of the logs in `have` and of the page, both logs of each peer, with what fits. */
  #fill(
    userId: number,
    {
      held,
      names,
      logs,
    }: { held: Map<string, Wanted>; names: Map<string, LogName>; logs: Walk['logs'] },
    window: number,
  ): Json {
    const named = new Map<string, Wanted>(
      [...logs].map(([key, wanted]) => [key, wanted ?? 'unchanged']),
    )
    for (const [key, wanted] of held) named.set(key, wanted)
    const order = new Map<string, Wanted>()
    for (const key of [...held.keys(), ...logs.keys()]) {
      const name = names.get(key) ?? nameOf(key)
      order.set(key, order.get(key) ?? (named.get(key) as Wanted))
      if (name.is_group) continue
      const peer = peerOf(name, userId)
      const pair = keyOf(name.low_id === broadcastLowId ? direct(userId, peer) : broadcasts(peer))
      if (this.database.logs.has(pair) && !order.has(pair))
        order.set(pair, named.get(pair) ?? 'unchanged')
    }
    const heads: Json[] = []
    const quotes: Json[] = []
    const gone: LogName[] = []
    let left = this.limits.maxItems
    for (const [key, wanted] of order) {
      const name = nameOf(key)
      const log = this.database.logs.get(key) ?? logOf(this.database, name)
      if (!hasLog(this.database, log, userId)) {
        if (name.is_group || held.has(key)) gone.push(name)
        continue
      }
      const content = this.#content(log, { wanted, window, left, userId })
      left -= content.changes.length + (content.messages?.length ?? 0)
      heads.push({ ...headOf(this.database, log, userId), ...content })
      const messages = content.messages ?? messagesOf(content.changes)
      quotes.push(...quotesOf(this.database, log, { messages, userId }))
    }
    return { heads, gone, quotes }
  }

  #content(
    log: ModelLog,
    {
      wanted,
      window,
      left,
      userId,
    }: { wanted: Wanted; window: number; left: number; userId: number },
  ): { from?: number; changes: Json[]; messages?: Json[] } {
    const end = log.changes.length
    const known = wanted === 'newest' ? undefined : wanted === 'unchanged' ? end : wanted
    if (
      known !== undefined &&
      known >= log.keptFrom &&
      known <= end &&
      end - known <= maxListedChanges
    ) {
      if (end - known > Math.max(0, left)) return { changes: [] }
      return { from: known, changes: this.#span(log, { after: known, next: end, userId }) }
    }
    const messages = visibleMessages(this.database, log, userId).slice(0, Math.min(window, 50))
    if (window === 0 || messages.length > Math.max(0, left)) return { changes: [] }
    return { changes: [], messages: messages.map((each) => messageFor(log, each, userId)) }
  }

  #span(
    log: ModelLog,
    { after, next, userId }: { after: number; next: number; userId: number },
  ): Json[] {
    const changes: Json[] = []
    for (let change = after + 1; change <= next; change++) {
      const entry = changeFor(this.database, log, change, userId)
      const count = isBare(entry) && skippedBy(changes.at(-1))
      if (count) changes[changes.length - 1] = skippedRun(log, change, count + 1)
      else changes.push(entry)
    }
    return changes
  }
}

const messagesOf = (changes: readonly Json[]): Json[] =>
  changes.flatMap(({ data }) => (data.content === undefined ? [] : [data]))

/** Tests for a number without anything for the reader. */
const isBare = ({ event, data }: Json) => event === 'change.skipped' && data.seq === undefined

/** The numbers that a skipped entry stands for; 0: it is another one. */
function skippedBy(entry: Json): number {
  if (entry?.event === 'changes.skipped') return entry.data.count
  return entry && isBare(entry) ? 1 : 0
}

const skippedRun = ({ name }: ModelLog, change: number, count: number): Json => ({
  event: 'changes.skipped',
  change,
  data: { conversation: name, count },
})

function nameOf(key: string): LogName {
  const [first, second] = key.split(' ')
  if (first === 'group') return group(Number(second))
  if (first === 'from') return broadcasts(Number(second))
  return direct(Number(first), Number(second))
}
