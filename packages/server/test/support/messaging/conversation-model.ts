/**
 * A simple model of conversations (rules E4 to E14): logs of two users, of groups and of
 * broadcasts, and what each reader has of them. Users, the system and groups are named by their
 * IDs.
 */
import type { Message } from '@hermod/protocol'

export const systemId = 0
export const muteModes = { received: 0, notReceived: 2 } as const

export type LogKind = 'direct' | 'group' | 'broadcast'

/** A message as it was sent. */
export interface Sent {
  readonly kind: LogKind
  readonly id: number
  readonly from: number
  /** A user or a group; of a broadcast its sender. */
  readonly to: number
  readonly content: string
  readonly isNotification: boolean
  /** As the service has stored it. */
  readonly sentAt: number
  /** The readers of a broadcast. */
  readonly audience: ReadonlySet<number>
}

export interface Written extends Sent {
  /** Decided when it arrives; it only becomes smaller. */
  readonly unreadTo: Set<number>
  content: string
  isRecalled: boolean
  /** Removed at the end of its time. */
  isGone: boolean
  /** Edited since its history was shown last. */
  isEdited: boolean
  /** As the history showed it last. */
  editedAt: number
}

/** The marks of a reader in a conversation: IDs of messages. */
interface Marks {
  joined: number
  read: number
  acked: number
  delivered: number
  hidden: number
  mute: number
}

class Group {
  readonly members = new Map<number, Marks>()
  /** How far each has ever read by acting, also those who have left. */
  readonly everRead = new Map<number, number>()
  isVisible = false
  hasReadAck = false
}

const atStart: Marks = { joined: 0, read: 0, acked: 0, delivered: 0, hidden: 0, mute: 0 }

export class ConversationModel {
  readonly #logs = new Map<string, Written[]>()
  readonly #marks = new Map<string, Marks>()
  readonly groups = new Map<number, Group>()

  /** Every message that was ever written, by logs. */
  get logs(): (readonly Written[])[] {
    return [...this.#logs.values()]
  }

  addGroup(id: number, members: readonly number[]): void {
    this.groups.set(id, new Group())
    for (const user of members) this.join(id, user)
  }

  group(id: number): Group {
    const group = this.groups.get(id)
    if (!group) throw new Error(`no group ${id} in this history`)
    return group
  }

  /** False for users who are no members of a group. */
  isParty(user: number, peer: number): boolean {
    return this.groups.get(peer)?.members.has(user) ?? true
  }

  /** All that a user and a peer ever had, or that a group has; oldest first. */
  all(user: number, peer: number): Written[] {
    if (this.groups.has(peer)) return [...this.#log('group', { from: user, to: peer })]
    const direct = this.#log('direct', { from: user, to: peer })
    const broadcasts = this.#log('broadcast', { from: peer, to: peer })
    return [...direct, ...broadcasts.filter(({ audience }) => audience.has(user))].sort(
      (a, b) => a.id - b.id,
    )
  }

  /** The ID of the newest message that a user and a peer ever had. */
  end(user: number, peer: number): number {
    return this.all(user, peer).at(-1)?.id ?? 0
  }

  /** Oldest first. */
  visible(user: number, peer: number): Written[] {
    const marks = this.marks(user, peer)
    if (!marks) return []
    const start = Math.max(marks.hidden, this.groups.get(peer)?.isVisible ? 0 : marks.joined)
    return this.all(user, peer).filter(
      ({ id, isRecalled, isGone }) => id > start && !isRecalled && !isGone,
    )
  }

  unread(user: number, peer: number): number {
    if (!this.isParty(user, peer)) return 0
    return this.all(user, peer).filter(
      ({ unreadTo, isRecalled, isGone }) => unreadTo.has(user) && !isRecalled && !isGone,
    ).length
  }

  /** The status of a message as a reader is shown it. Deleting a conversation does not read it. */
  status(reader: number, peer: number, { kind, from, id }: Written): Message['status'] {
    const isOwn = from === reader
    if (isOwn && kind === 'broadcast') return 'READ'
    if (isOwn && kind === 'group') {
      const { everRead, hasReadAck } = this.group(peer)
      const isRead = [...everRead].some(([user, upTo]) => user !== reader && id <= upTo)
      return isRead && hasReadAck ? 'READ' : 'UNREAD'
    }
    const marks = isOwn ? this.marks(peer, reader) : this.marks(reader, peer)
    if (!marks || id <= marks.read) return 'READ'
    return id <= marks.delivered ? 'DELIVERED' : 'UNREAD'
  }

  /** undefined for users who are no members of a group */
  marks(user: number, peer: number): Marks | undefined {
    const group = this.groups.get(peer)
    if (group) return group.members.get(user)
    const key = `${user}/${peer}`
    const marks = this.#marks.get(key) ?? { ...atStart }
    this.#marks.set(key, marks)
    return marks
  }

  /** The newest message of the log that a message belongs to. */
  newestBeside(sent: Sent): number {
    return this.#log(sent.kind, sent).at(-1)?.id ?? 0
  }

  write(sent: Sent): void {
    const unreadTo = new Set(this.#receivers(sent))
    unreadTo.delete(sent.from)
    const fresh = { isRecalled: false, isGone: false, isEdited: false, editedAt: 0 }
    this.#log(sent.kind, sent).push({ ...sent, ...fresh, unreadTo })
    // Notifications and broadcasts move no mark of the user in whose name they come.
    if (sent.kind !== 'broadcast' && !sent.isNotification)
      this.#moveRead(sent.from, sent.to, sent.id)
  }

  /** A user acknowledges. */
  read(user: number, peer: number, upTo: number): void {
    const marks = this.marks(user, peer)
    if (!marks || upTo <= marks.acked) return
    marks.acked = upTo
    this.#moveRead(user, peer, upTo)
  }

  /** A device of the user has got messages. */
  deliver(user: number, peer: number, page: readonly Written[]): void {
    const marks = this.marks(user, peer)
    for (const { id, from } of page)
      if (marks && from !== user && id > marks.read) marks.delivered = Math.max(marks.delivered, id)
  }

  /** A user deletes the conversation. */
  hide(user: number, peer: number): void {
    const marks = this.marks(user, peer)
    const end = this.end(user, peer)
    if (marks) marks.hidden = Math.max(marks.hidden, end)
    this.#see(user, peer, end)
  }

  join(groupId: number, user: number): void {
    const group = this.group(groupId)
    const end = this.end(user, groupId)
    group.members.set(user, {
      ...atStart,
      joined: end,
      read: end,
      // Members to whom earlier messages are visible may acknowledge them, which then count as read
      // (decision 020).
      acked: group.isVisible ? 0 : end,
      delivered: end,
    })
  }

  leave(groupId: number, user: number): void {
    this.#see(user, groupId, this.end(user, groupId))
    this.group(groupId).members.delete(user)
  }

  /** Messages before an instant, and those before them in their logs, come to their end. */
  expire(before: number): void {
    for (const log of this.#logs.values()) {
      const last = log.findLastIndex(({ sentAt }) => sentAt < before)
      for (const message of log.slice(0, last + 1)) message.isGone = true
    }
  }

  #log(kind: LogKind, { from, to }: { readonly from: number; readonly to: number }): Written[] {
    const ids = kind === 'direct' ? [from, to].sort((a, b) => a - b) : [to]
    const name = `${kind} ${ids}`
    const log = this.#logs.get(name) ?? []
    this.#logs.set(name, log)
    return log
  }

  #receivers({ kind, to, audience }: Sent): Iterable<number> {
    if (kind === 'direct') return [to]
    if (kind === 'broadcast') return audience
    const members = [...this.group(to).members]
    return members.flatMap(([user, { mute }]) => (mute === muteModes.notReceived ? [] : [user]))
  }

  #moveRead(user: number, peer: number, upTo: number): void {
    const marks = this.marks(user, peer)
    if (!marks) return
    marks.read = Math.max(marks.read, upTo)
    this.#see(user, peer, upTo)
    const everRead = this.groups.get(peer)?.everRead
    everRead?.set(user, Math.max(everRead.get(user) ?? 0, upTo))
  }

  #see(user: number, peer: number, upTo: number): void {
    for (const { id, unreadTo } of this.all(user, peer)) if (id <= upTo) unreadTo.delete(user)
  }
}
