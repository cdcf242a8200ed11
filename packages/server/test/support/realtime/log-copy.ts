/** One log in the store of a client, built from numbered changes alone. */
import type { Json } from '@hermod/testkit'

/** A held message, in the fields that tests compare. */
export interface HeldMessage {
  readonly msgId: number
  readonly sender: number
  readonly content: string
}

/** The kinds of events of a log that take a number. */
const changeKinds: ReadonlySet<string> = new Set([
  'message.stored',
  'message.appended',
  'message.replaced',
  'message.recalled',
  'change.skipped',
])

export type Applied = 'applied' | 'dropped' | 'gap'

/** The key of a log, as a text. */
export function keyOf({ low_id, high_id, is_group }: Json): string {
  return `${low_id}.${high_id}.${is_group}`
}

export class LogCopy {
  change = 0
  seq = 0
  /** Messages at positions above this one are held, unless they are gone. */
  floor = 0
  /** The ID below which messages may be missing. */
  floorId = 0
  readonly messages = new Map<number, HeldMessage>()
  unread = 0
  /** The server must say the number of unread messages and the marks. */
  isStale = false
  hiddenId = 0
  readSeq = 0
  peerReadSeq = 0
  peerDeliveredSeq = 0
  /** Only of a group. */
  version = 0
  muteMode = 0
  /** Changes that were applied, to find one that was applied twice. */
  readonly counts = new Map<number, number>()

  constructor(
    readonly log: Json,
    readonly userId: number,
  ) {}

  /** Applies a numbered change, live or of a sync. */
  apply({ event, change, data }: Json): Applied {
    if (change <= this.change) return 'dropped'
    if (change !== this.change + 1 || !changeKinds.has(event)) return 'gap'
    this.change = change
    this.counts.set(change, (this.counts.get(change) ?? 0) + 1)
    const { seq } = data
    if (event === 'change.skipped') {
      if (seq !== undefined) this.#pass(seq)
    } else if (event === 'message.recalled') {
      this.messages.delete(seq)
      this.isStale = true
    } else if (event === 'message.stored') this.#store(data)
    else if (this.messages.has(seq)) this.#hold(data)
    return 'applied'
  }

  /** A number was taken by a message that the reader does not see. */
  #pass(seq: number): void {
    this.messages.delete(seq)
    this.seq = Math.max(this.seq, seq)
    this.isStale = true
  }

  #store(data: Json): void {
    if (this.floor === Number.POSITIVE_INFINITY) {
      this.floor = data.seq - 1
      this.floorId = data.msg_id - 1
    }
    this.seq = Math.max(this.seq, data.seq)
    this.#hold(data)
    // An own message reads what is before it; the server knows the exception, notifications.
    if (data.sender_id === this.userId) this.isStale = true
    else if (this.muteMode !== 2 && data.seq > this.readSeq) this.unread++
    // Who sends has read what is before, except by notifications.
    if (data.sender_id !== this.userId && !data.is_system)
      this.peerReadSeq = Math.max(this.peerReadSeq, data.seq)
  }

  #hold(data: Json): void {
    if (data.msg_id > this.hiddenId && data.seq > this.floor)
      this.messages.set(data.seq, {
        msgId: Number(data.msg_id),
        sender: Number(data.sender_id),
        content: data.content,
      })
  }

  /** Applies a mark, as a maximum. */
  mark(kind: string, { actor_id, seq }: Json): void {
    const isOwn = actor_id === this.userId
    if (kind === 'message.delivered') {
      if (!isOwn) this.peerDeliveredSeq = Math.max(this.peerDeliveredSeq, seq)
      return
    }
    if (!isOwn) {
      this.peerReadSeq = Math.max(this.peerReadSeq, seq)
      return
    }
    this.readSeq = Math.max(this.readSeq, seq)
    if (seq >= this.seq) this.unread = 0
    else this.isStale = true
  }

  hide({ hidden_msg_id, seq }: Json): void {
    this.#hideUpTo(Number(hidden_msg_id))
    if (seq >= this.seq) this.unread = 0
    else this.isStale = true
  }

  #hideUpTo(msgId: number): void {
    this.hiddenId = Math.max(this.hiddenId, msgId)
    for (const [seq, message] of this.messages)
      if (message.msgId <= this.hiddenId) this.messages.delete(seq)
  }

  /**
   * Takes what a head says. A head that is older than the copy, or was read before a mark that came
   * earlier on the socket, says nothing about messages and unread ones.
   * @returns the changes that `message.changes` must be asked for begin above the copy's number
   */
  takeHead(head: Json, window: number): 'taken' | 'gap' {
    const isBeforeMark = head.read_seq < this.readSeq || head.hidden_msg_id < this.hiddenId
    this.#hideUpTo(Number(head.hidden_msg_id))
    this.readSeq = Math.max(this.readSeq, head.read_seq)
    this.peerReadSeq = Math.max(this.peerReadSeq, head.peer_read_seq)
    this.peerDeliveredSeq = Math.max(this.peerDeliveredSeq, head.peer_delivered_seq)
    if (head.msg_mute_mode !== undefined) this.muteMode = head.msg_mute_mode
    if (head.version !== undefined) this.version = Math.max(this.version, head.version)
    let isMissing = false
    if (head.from !== undefined) {
      isMissing = head.from > this.change
      if (!isMissing) for (const change of head.changes) this.apply(change)
    } else if (head.change > this.change) this.#takeWindow(head, window)
    if (head.change === this.change && !isBeforeMark) {
      this.seq = head.seq
      this.unread = head.unread
      this.isStale = false
    } else if (!isMissing) this.isStale = true
    return isMissing ? 'gap' : 'taken'
  }

  #takeWindow({ change, seq, latest_msg_id, messages }: Json, window: number): void {
    this.messages.clear()
    this.change = change
    this.seq = seq
    const held: Json[] = messages ?? []
    const oldest = held.at(-1)
    const isWhole = messages !== undefined && held.length < window
    this.floor = isWhole ? 0 : oldest ? oldest.seq - 1 : seq
    this.floorId = isWhole ? 0 : oldest ? oldest.msg_id - 1 : latest_msg_id
    for (const message of held) this.#hold(message)
  }

  /** Takes a page of `message.changes`. @returns whether there is more */
  takeChanges(page: Json): boolean {
    this.#hideUpTo(Number(page.hidden_msg_id))
    if (page.from === undefined) {
      if (page.next <= this.change) return false
      this.messages.clear()
      // Nothing below the next message is known.
      this.floor = Number.POSITIVE_INFINITY
      this.change = page.next
    } else for (const change of page.changes) this.apply(change)
    this.isStale = true
    return this.change < page.change
  }
}
