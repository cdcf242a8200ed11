/**
 * The store of a client: logs, and what the user must read again. It follows the rules for authors
 * of clients, and knows no server code.
 */
import { userChangeKind } from '@hermod/protocol'
import type { Json } from '@hermod/testkit'
import { keyOf, LogCopy } from './log-copy.js'

const kinds = userChangeKind

export class ClientStore {
  epoch = ''
  logs = new Map<string, LogCopy>()
  /** Things that were read, by the same keys; what is not there was never read. */
  readonly cache = new Map<string, string>()
  /** Things to read again, as `kind.ref`. */
  readonly stale = new Set<string>()
  /** Groups of which a version was missed or which changed. */
  readonly staleGroups = new Set<number>()
  /** Logs with a gap, and the greatest number seen of each. */
  readonly gaps = new Map<string, number>()

  constructor(readonly userId: number) {}

  /** Begins again for another history. */
  renew(epoch: string): void {
    this.epoch = epoch
    this.logs = new Map()
    this.gaps.clear()
    this.cache.clear()
  }

  logOf(log: Json): LogCopy {
    const key = keyOf(log)
    const known = this.logs.get(key)
    if (known) return known
    const made = new LogCopy(log, this.userId)
    this.logs.set(key, made)
    return made
  }

  /** Applies an event of a frame. */
  applyEvent(frame: Json): void {
    const { event, change, data } = frame
    if (change !== undefined) {
      if (this.logOf(data.conversation).apply(frame) === 'gap')
        this.#noteGap(data.conversation, change)
    } else if (event === 'message.read' || event === 'message.delivered')
      this.logOf(data.conversation).mark(event, data)
    else if (event === 'conversation.deleted') this.logOf(data.conversation).hide(data)
    else this.#noteStale(event, data)
  }

  #noteGap(log: Json, change: number): void {
    this.gaps.set(keyOf(log), Math.max(this.gaps.get(keyOf(log)) ?? 0, change))
  }

  #noteStale(event: string, data: Json): void {
    const note = (kind: number, ref = 0) => this.stale.add(`${kind}.${ref}`)
    if (event.startsWith('conversation.')) note(kinds.pins)
    else if (event === 'user.settings_updated') note(kinds.settings)
    else if (event === 'user.info_updated') note(kinds.profile)
    else if (event.startsWith('user.device')) note(kinds.devices)
    else if (event.startsWith('contact.')) {
      const peers = [data.actor_id, ...data.user_ids].filter((id: number) => id !== this.userId)
      for (const peer of peers) {
        note(kinds.contact, peer)
        note(kinds.contactRequest, peer)
      }
    } else if (event.startsWith('group.')) this.#applyGroup(event, data)
  }

  #applyGroup(event: string, data: Json): void {
    const { group_id: groupId, user_ids: userIds, version } = data
    this.staleGroups.add(groupId)
    const isConcerned = userIds.includes(this.userId) || data.former_owner_id === this.userId
    if (isConcerned || data.actor_id === this.userId) this.stale.add(`${kinds.group}.${groupId}`)
    if (/applied|request_|joined|blocked|owner|admin/.test(event))
      this.stale.add(`${kinds.joinRequests}.${groupId}`)
    if (/invit|joined|blocked/.test(event) && isConcerned)
      this.stale.add(`${kinds.invitation}.${groupId}`)
    const log = { low_id: groupId, high_id: groupId, is_group: true }
    if (/left|kicked|blocked/.test(event) && userIds.includes(this.userId)) {
      this.logs.delete(keyOf(log))
      return
    }
    const copy = this.logs.get(keyOf(log))
    if (copy) copy.version = Math.max(copy.version, version)
    if (event === 'group.joined' && userIds.includes(this.userId)) this.#join(log, data)
    if (copy && /message_setting|destroyed/.test(event)) copy.isStale = true
  }

  /** What the history shows of the time before the join is not known. */
  #join(log: Json, { log: end, version }: Json): void {
    const joined = this.logOf(log)
    if (joined.change >= end.change) return
    joined.change = end.change
    joined.seq = end.seq
    joined.floor = end.seq
    joined.floorId = end.msg_id
    joined.version = version
    joined.isStale = true
  }

  /** Applies a page of sync, which the caller commits with its pos. */
  applyPage(page: Json, window: number): void {
    for (const head of page.heads) {
      const known = this.logs.get(keyOf(head.log))
      if (known && head.version !== undefined && head.version !== known.version)
        this.staleGroups.add(head.log.low_id)
      if (!known && head.version !== undefined) this.staleGroups.add(head.log.low_id)
      if (this.logOf(head.log).takeHead(head, window) === 'gap')
        this.#noteGap(head.log, head.change)
    }
    for (const log of page.gone) this.logs.delete(keyOf(log))
    for (const { kind, ref } of page.user) this.stale.add(`${kind}.${ref}`)
  }
}
