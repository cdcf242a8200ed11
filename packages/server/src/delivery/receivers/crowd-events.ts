import type { Int64 } from '@hermod/protocol'
import { eventDefinitions, type KindWith } from '@hermod/protocol/events'
import type { GroupEvent } from './readers.js'

/** Joins, leaves and presence in a large group. */
export type CrowdEvent = Extract<GroupEvent, { kind: KindWith<{ opposite: string }> }>

/** Events of one kind that were collected. */
export interface CollectedCrowd {
  readonly kind: CrowdEvent['kind']
  readonly groupId: Int64
  /** The users of the last event, who have received it: it has the newest version of the group. */
  readonly lastUserIds: readonly Int64[]
  readonly data: object
  /** Called once the event is written: the watermark may pass what it collects. */
  ended(): void
}

interface Collected {
  readonly userIds: Set<Int64>
  readonly first: CrowdEvent['payload']
  last: CrowdEvent['payload']
  /** The place of `last` among all events with a number of members; 0: it has none. */
  number: number
  readonly actorIds: Set<Int64>
  /** End the events that are collected: the watermark may pass them. */
  readonly releases: (() => void)[]
}

interface CrowdEventsOptions {
  send(collected: CollectedCrowd): void
  /** Calls back after some milliseconds. */
  after(ms: number, run: () => void): void
}

/** The number of members above which a group is a crowd. */
const crowdSize = 200
const collectedMs = 1_000
/** Above it an event has a count in place of names. */
const maxNames = 100

/** Tests whether a large group gets the event combined with others of a second. */
export function isCrowdEvent(event: GroupEvent, memberCount: number): event is CrowdEvent {
  return memberCount > crowdSize && 'opposite' in eventDefinitions[event.kind]
}

/** Collects events that would reach all members of large groups for a second into one of each kind. */
export class CrowdEvents {
  readonly #groups = new Map<Int64, Map<CrowdEvent['kind'], Collected>>()
  #isTimed = false
  #lastNumber = 0

  constructor(private readonly options: CrowdEventsOptions) {}

  /** @param release called once the event is written */
  add({ kind, payload }: CrowdEvent, release: () => void): void {
    const before = this.#groups.get(payload.group_id)
    // The event of this kind comes before that of its opposite.
    const undone = before?.has(kind) ? before.get(eventDefinitions[kind].opposite) : undefined
    if (payload.user_ids.some((userId) => undone?.userIds.has(userId))) this.flush(payload.group_id)
    const kinds = this.#groups.get(payload.group_id) ?? new Map<CrowdEvent['kind'], Collected>()
    this.#groups.set(payload.group_id, kinds)
    const collected = kinds.get(kind) ?? {
      userIds: new Set(),
      first: payload,
      last: payload,
      number: 0,
      actorIds: new Set(),
      releases: [],
    }
    kinds.set(kind, collected)
    for (const userId of payload.user_ids) collected.userIds.add(userId)
    collected.actorIds.add(payload.actor_id)
    collected.last = payload
    if ('member_count' in payload) collected.number = ++this.#lastNumber
    collected.releases.push(release)
    if (this.#isTimed) return
    this.#isTimed = true
    this.options.after(collectedMs, () => {
      this.#isTimed = false
      for (const groupId of [...this.#groups.keys()]) this.flush(groupId)
    })
  }

  /** Sends what is collected in a group, before another event of the group. */
  flush(groupId: Int64): void {
    const kinds = this.#groups.get(groupId)
    if (!kinds) return
    this.#groups.delete(groupId)
    // The events of one flush are one step from a version to another, whatever their order was.
    const all = [...kinds.values()]
    const since_version = Math.min(...all.map(({ first }) => Number(first.version))) - 1
    const { last: newest } = all.reduce((a, b) => (b.number > a.number ? b : a))
    for (const [kind, { userIds, first, last, actorIds, releases }] of kinds) {
      const data = {
        ...withoutTime(last, first === last),
        ...newestNumbers(last, newest),
        since_version,
        actor_id: actorIds.size === 1 ? last.actor_id : 0,
        user_ids: userIds.size > maxNames ? [] : [...userIds],
        count: userIds.size,
      }
      this.options.send({
        kind,
        groupId,
        lastUserIds: last.user_ids,
        data,
        ended() {
          for (const release of releases) release()
        },
      })
    }
  }
}

/** The time of a join is left out where it is not that of all. */
function withoutTime(payload: CrowdEvent['payload'], isOnly: boolean): object {
  if (isOnly || !('join_time' in payload)) return payload
  const { join_time: _time, ...others } = payload
  return others
}

/** The version and the number of members after the newest event, in the form of another one. */
function newestNumbers(payload: CrowdEvent['payload'], newest: CrowdEvent['payload']): object {
  const { version } = newest
  return 'member_count' in payload && 'member_count' in newest
    ? { version, member_count: newest.member_count }
    : { version }
}
