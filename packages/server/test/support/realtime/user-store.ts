/**
 * The store of a device: begins with the answers of the server, and follows the frames that the
 * device receives by the rules of the realtime contract. Things other than messages and positions
 * are not kept by value: an event makes them stale, and what is stale is read again.
 */
import { userChangeKind } from '@hermod/protocol'
import type { GatewayFrame, Json } from '@hermod/testkit'
import type { Answers } from './answers.js'
import {
  emptyLog,
  type LogHead,
  type LogName,
  type LogState,
  logKey,
  logOf,
  messageOf,
  messageOfHistory,
  peerOf,
  receivesNothing,
  type StoredMessage,
} from './logs.js'
import { staleAfter } from './stale-things.js'

/** Names of the kinds of sync's `user`, as in the keys of {@link Answers.things}. */
const changeKinds: ReadonlyMap<number, string> = new Map(
  Object.entries(userChangeKind).map(([name, value]) => [Number(value), name]),
)

/** Things that change when a user joins or leaves a group, or it is dissolved. */
const ofGroup = ['group', 'groupData', 'joined', 'joinRequests', 'invitation', 'blocks']

const systemId = 0

/** `/message/changes`. @returns its data */
export type ReadChanges = (log: object, afterChange: number) => Promise<Json>

export class UserStore {
  readonly logs = new Map<string, LogState>()
  readonly stale = new Set<string>()
  /** Violations of the contract by frames, as sentences. */
  readonly faults: string[] = []
  #things: ReadonlyMap<string, unknown>

  /** @param chatrooms groups whose messages are never unread, and whose members are read again on screen */
  constructor(
    readonly me: number,
    answers: Answers,
    private readonly chatrooms: ReadonlySet<number> = new Set(),
  ) {
    this.#things = answers.things
    for (const head of answers.heads) this.#setLog(logOf(head))
  }

  /** Applies a frame that the server sent on its own account. */
  apply({ event, data, change }: GatewayFrame): void {
    if (event === undefined || event === 'sync.needed') return
    if (change !== undefined) this.#applyChange(event, data, change)
    else this.#applyEvent(event, data)
  }

  /**
   * Applies a page of sync that began at the `pos` of this store; asks for the changes below it
   * where there is a gap.
   */
  async applyPage({ heads, gone, user }: Json, changesOf: ReadChanges): Promise<void> {
    for (const head of heads as LogHead[]) {
      await this.#fillGap(head, changesOf)
      this.#applyHead(head)
    }
    for (const log of gone as LogName[]) this.logs.delete(logKey(log))
    for (const { kind, ref } of user) {
      const name = changeKinds.get(kind) ?? `unknown kind ${kind}`
      this.stale.add(Number(ref) === 0 ? name : `${name} ${ref}`)
      if (name === 'settings') this.stale.add('tags')
      if (name === 'group') for (const thing of ofGroup) this.stale.add(`${thing} ${ref}`)
      if (name === 'joinRequests') this.stale.add(`blocks ${ref}`)
      // An invited user may read the group.
      if (name === 'invitation') this.stale.add(`groupData ${ref}`)
    }
  }

  /** Returns the differences from the answers that no frame announced; empty when the store is right. */
  differences(answers: Answers): string[] {
    return [
      ...this.faults,
      ...this.#differentThings(answers),
      ...this.#differentLogs(answers),
      ...this.#differentViews(answers),
    ]
  }

  #differentThings({ things }: Answers): string[] {
    const keys = new Set([...this.#things.keys(), ...things.keys()])
    return [...keys].flatMap((key) => {
      const [before, after] = [this.#things, things].map((each) => text(each.get(key)))
      return before === after || this.stale.has(key) ? [] : [`${key}: ${before} became ${after}`]
    })
  }

  #differentLogs({ heads }: Answers): string[] {
    const found = new Map(heads.map((head) => [logKey(head.log as unknown as LogName), head]))
    const wrong = [...found].flatMap(([key, head]) => {
      const kept = this.logs.get(key)
      if (!kept) return [`log ${key}: not in the store: ${text(head)}`]
      if (kept.isStale) return []
      const server = logOf(head)
      return [
        ...differentNumbers(kept, server, ['change', 'seq', 'unread', 'status', 'version']),
        ...(kept.hole_msg_id === 0 ? this.#differentPositions(kept, server) : []),
      ]
    })
    const missing = [...this.logs].filter(([key, log]) => !found.has(key) && !log.isStale)
    return [...wrong, ...missing.map(([key]) => `log ${key}: not at the server`)]
  }

  #differentPositions(kept: LogState, server: LogState): string[] {
    const own = differentNumbers(kept, server, ['read_seq', 'hidden_msg_id'])
    // The system reads nothing.
    if (peerOf(kept.name, this.me) === systemId) return own
    // A read message is delivered; a client shows the first of the two.
    const [ours, theirs] = [kept, server].map((log) => ({
      ...log,
      peer_delivered_seq: Math.max(log.peer_read_seq, log.peer_delivered_seq),
    })) as [LogState, LogState]
    return [...own, ...differentNumbers(ours, theirs, ['peer_read_seq', 'peer_delivered_seq'])]
  }

  /** Compares histories, the list of conversations and unread counts, each of both logs of a peer. */
  #differentViews({ histories, conversations, unread }: Answers): string[] {
    const peers = new Map<number, LogState[]>()
    for (const log of this.logs.values()) {
      const peer = peerOf(log.name, this.me)
      peers.set(peer, [...(peers.get(peer) ?? []), log])
    }
    const listed = new Map(
      conversations.map(({ conversation_id, latest_msg_id }) => [
        Number(conversation_id.uid),
        Number(latest_msg_id),
      ]),
    )
    return [...new Set([...peers.keys(), ...listed.keys()])].flatMap((peer) => {
      const logs = peers.get(peer) ?? []
      if (logs.some(({ isStale }) => isStale)) return []
      const hole = Math.max(0, ...logs.map(({ hole_msg_id }) => hole_msg_id))
      const kept = visibleMessages(logs)
      const found = (histories.get(peer) ?? [])
        .map(messageOfHistory)
        .filter(({ msg_id }) => msg_id > hole)
      const faults = differentMessages(peer, kept, found)
      const latest = kept[0]?.msg_id
      if (latest !== listed.get(peer) && (latest !== undefined || hole === 0))
        faults.push(`list: ${peer} ends with ${latest}, the server's with ${listed.get(peer)}`)
      const counts = logs.map((log) => log.unread)
      if (!counts.includes('ask')) {
        const sum = (counts as number[]).reduce((all, each) => all + each, 0)
        if (sum !== (unread[peer] ?? 0))
          faults.push(`unread of ${peer}: ${sum}, the server's ${unread[peer] ?? 0}`)
      }
      return faults
    })
  }

  #applyChanges(changes: Json): void {
    for (const { event, data, change } of changes) this.#applyChange(event, data, Number(change))
  }

  #applyChange(kind: string, data: Json, change: number): void {
    const log = this.#logFor(data.conversation)
    if (log.isStale || change <= log.change) return
    if (change !== log.change + 1)
      this.faults.push(`${kind} of ${logKey(log.name)}: change ${change} after ${log.change}`)
    log.change = change
    if (kind === 'message.stored') this.#store(log, messageOf(data))
    else if (kind === 'message.replaced' || kind === 'message.appended') {
      if (log.messages.has(data.msg_id)) log.messages.set(data.msg_id, messageOf(data))
    } else if (kind === 'message.updated') {
      const held = log.messages.get(data.msg_id)
      const set = Object.entries(data.set).map(([name, value]) => [name, value ?? undefined])
      if (held) log.messages.set(data.msg_id, messageOf({ ...held, ...Object.fromEntries(set) }))
    } else if (kind === 'message.recalled') {
      log.messages.delete(data.msg_id)
      if (data.seq > log.read_seq && data.sender_id !== this.me) log.unread = 'ask'
    } else if (kind === 'change.skipped') {
      log.seq = Math.max(log.seq, data.seq ?? 0)
      log.unread = 'ask'
    } else this.faults.push(`${kind} has a number of ${logKey(log.name)}`)
  }

  #store(log: LogState, message: StoredMessage): void {
    if (message.seq !== log.seq + 1)
      this.faults.push(`log ${logKey(log.name)}: seq ${message.seq} after ${log.seq}`)
    log.seq = message.seq
    log.messages.set(message.msg_id, message)
    const isOwn = message.sender_id === this.me
    if (message.is_system) {
      if (!isOwn) this.#countUnread(log)
      else if (log.unread !== 0) log.unread = 'ask'
    } else if (isOwn) {
      const peer = peerOf(log.name, this.me)
      for (const each of this.logs.values())
        if (peerOf(each.name, this.me) === peer) this.#read(each, each.seq)
      if (peer === this.me && log.name.low_id !== -1) peerHasRead(log, log.seq)
    } else {
      this.#countUnread(log)
      if (!log.name.is_group && log.name.low_id !== -1) peerHasRead(log, message.seq)
    }
  }

  #countUnread(log: LogState): void {
    const isCounted = log.status === 0 && !this.chatrooms.has(log.name.high_id)
    if (log.unread !== 'ask') log.unread += isCounted ? 1 : 0
  }

  #read(log: LogState, seq: number): void {
    if (seq <= log.read_seq) return
    log.read_seq = seq
    log.unread = seq >= log.seq ? 0 : 'ask'
  }

  #applyEvent(kind: string, data: Json): void {
    if (kind === 'message.read') this.#applyMark(kind, data, (log) => peerHasRead(log, data.seq))
    else if (kind === 'message.delivered')
      this.#applyMark(kind, data, (log) => peerHas(log, data.seq))
    else if (kind === 'conversation.deleted') this.#hide(data)
    else this.#applyThings(kind, data)
  }

  #applyThings(kind: string, data: Json): void {
    const { things, joined, left, dissolved } = staleAfter(kind, data, this.me)
    for (const thing of things) this.stale.add(thing)
    if (kind === 'group.message_setting') this.#setModes(data)
    if (joined !== undefined) this.#join(joined, data)
    if (left !== undefined) this.logs.delete(`${left}/${left}`)
    const log = this.logs.get(`${data.group_id}/${data.group_id}`)
    if (!log) return
    if (dissolved !== undefined) Object.assign(log, { status: 1, unread: 0 })
    if (joined === undefined && data.version > log.version + 1)
      this.faults.push(`${kind}: version ${data.version} after ${log.version}`)
    log.version = Math.max(log.version, data.version)
  }

  #setModes({ group_id, setting }: Json): void {
    const log = this.logs.get(`${group_id}/${group_id}`)
    if (log === undefined || setting.msg_mute_mode === undefined) return
    log.msg_mute_mode = setting.msg_mute_mode
    if (log.msg_mute_mode === receivesNothing) log.isStale = true
    if (log.unread !== 0) log.unread = 'ask'
  }

  /** @param ofPeer applies it when another user has moved the mark */
  #applyMark(kind: string, data: Json, ofPeer: (log: LogState) => void): void {
    const log = this.#logFor(data.conversation)
    if (data.actor_id !== this.me) ofPeer(log)
    else if (kind === 'message.read') this.#read(log, data.seq)
    // Both parties of a conversation with oneself have read.
    if (log.name.low_id === log.name.high_id && !log.name.is_group) ofPeer(log)
  }

  #hide(data: Json): void {
    const log = this.#logFor(data.conversation)
    log.hidden_msg_id = Math.max(log.hidden_msg_id, data.hidden_msg_id)
    if (data.seq >= log.seq) log.unread = 0
    else log.unread = 'ask'
  }

  /** The event names the end of the log; positions and older messages come with its head. */
  #join(group: number, { log: end }: Json): void {
    const log = this.#logFor({ low_id: group, high_id: group, is_group: true })
    if (end === undefined) log.isStale = true
    else {
      const { change, seq, msg_id } = end
      Object.assign(log, { change, seq, hole_msg_id: msg_id || 1, unread: 'ask' })
    }
  }

  async #fillGap({ log: name, from }: LogHead, changesOf: ReadChanges): Promise<void> {
    const log = this.#logFor(name as unknown as LogName)
    for (let end = Number(from ?? 0); log.change < end; ) {
      const page = await changesOf(name, log.change)
      if (page.from === undefined) log.messages.clear()
      if (page.next <= log.change) throw new Error(`no changes of ${logKey(log.name)}`)
      this.#applyChanges(page.changes)
      log.change = page.next
      end = Math.min(end, page.change)
    }
  }

  #applyHead(head: LogHead): void {
    const next = logOf(head)
    const before = this.logs.get(logKey(next.name))
    const { status, version } = before ?? {}
    if (head.from !== undefined) {
      this.#applyChanges(head.changes)
      for (const [id, message] of this.#logFor(next.name).messages) next.messages.set(id, message)
    }
    if (status !== next.status)
      for (const thing of ofGroup) this.stale.add(`${thing} ${next.name.high_id}`)
    // Coming and going in chatrooms is not counted.
    if (version !== next.version || this.chatrooms.has(next.name.high_id))
      for (const thing of ['groupData', 'blocks']) this.stale.add(`${thing} ${next.name.high_id}`)
    this.#setLog(next)
  }

  #setLog(log: LogState): void {
    this.logs.set(logKey(log.name), log)
  }

  /** A log that is new to the store begins before its first change. */
  #logFor(name: LogName): LogState {
    const kept = this.logs.get(logKey(name))
    if (kept) return kept
    const log = emptyLog(name)
    this.#setLog(log)
    return log
  }
}

function differentNumbers(
  kept: LogState,
  server: LogState,
  names: readonly (keyof LogState)[],
): string[] {
  return names
    .filter((name) => kept[name] !== server[name] && kept[name] !== 'ask')
    .map(
      (name) => `log ${logKey(kept.name)}: ${name} is ${kept[name]}, at the server ${server[name]}`,
    )
}

function peerHasRead(log: LogState, seq: number): void {
  log.peer_read_seq = Math.max(log.peer_read_seq, seq)
}

function peerHas(log: LogState, seq: number): void {
  log.peer_delivered_seq = Math.max(log.peer_delivered_seq, seq)
}

/** Newest first. */
function visibleMessages(logs: readonly LogState[]): StoredMessage[] {
  return logs
    .flatMap(({ messages, hidden_msg_id }) =>
      [...messages.values()].filter(({ msg_id }) => msg_id > hidden_msg_id),
    )
    .sort((a, b) => b.msg_id - a.msg_id)
}

function differentMessages(
  peer: number,
  kept: readonly StoredMessage[],
  found: readonly StoredMessage[],
): string[] {
  const [ours, theirs] = [kept, found].map(
    (list) => new Map(list.map((each) => [each.msg_id, text({ ...each, seq: undefined })])),
  ) as [Map<number, string>, Map<number, string>]
  return [...new Set([...ours.keys(), ...theirs.keys()])]
    .filter((id) => ours.get(id) !== theirs.get(id))
    .map(
      (id) =>
        `history of ${peer}: message ${id} is ${ours.get(id)}, the server's ${theirs.get(id)}`,
    )
}

/** Undefined members are left out. */
const text = (value: unknown): string => JSON.stringify(value) ?? 'nothing'
