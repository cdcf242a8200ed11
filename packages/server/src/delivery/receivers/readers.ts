import { type Int64, memberRole, muteMode } from '@hermod/protocol'
import type { Event } from '@hermod/protocol/events'
import type { Session } from '../../sessions/session.js'
import type { LoadedReader } from './membership-store.js'

interface ConnectedMember {
  role: number
  /** True: messages of the group are not sent live. */
  isMuted: boolean
  /** Messages up to this one are older than the membership. */
  readonly joinedMessageId: number
}

/** A group with connected members. */
interface ConnectedGroup {
  isHistoryVisible: boolean
  /** All members, connected or not. */
  memberCount: number
  readonly members: Map<Int64, ConnectedMember>
  /** The sessions of its members, until something changes. */
  sessions: readonly Session[] | null
  /** Those of members who receive messages. */
  receiving: readonly Session[] | null
}

interface ConnectedReader {
  groupIds: readonly Int64[]
  readonly broadcastsAfter: number
}

/** The state of a group that decides on its events, beside its members. */
type GroupState = Pick<ConnectedGroup, 'isHistoryVisible' | 'memberCount'>

/** The sessions that an event may be written to, and those that get only its number. */
export interface SplitReceivers {
  readonly visible: readonly Session[]
  readonly hidden: readonly Session[]
}

export type GroupEvent = Extract<Event, { kind: `group.${string}` }>

const noSessions: readonly Session[] = []
const noGroups: readonly Int64[] = []

/**
 * The connected users of an app and their memberships, exact as of the event that delivery has
 * begun last. Lists of sessions are never changed, only replaced, so a fan-out keeps the list with
 * which it began.
 */
export class Readers {
  readonly #readers = new Map<Int64, ConnectedReader>()
  readonly #groups = new Map<Int64, ConnectedGroup>()

  /** @param sessionsOf the open sessions of a user */
  constructor(private readonly sessionsOf: (userId: Int64) => readonly Session[]) {}

  /** The number of memberships of all connected users. */
  get membershipCount(): number {
    let count = 0
    for (const { groupIds } of this.#readers.values()) count += groupIds.length
    return count
  }

  /**
   * Adds a user, or replaces the memberships of one.
   * @param events group events that came while they were read, in order
   */
  add(userId: Int64, loaded: Omit<LoadedReader, 'barredAs'>, events: readonly GroupEvent[]): void {
    this.remove(userId)
    const { memberships, broadcastsAfter } = loaded
    this.#readers.set(userId, {
      groupIds: memberships.map(({ groupId }) => groupId),
      broadcastsAfter,
    })
    for (const { groupId, isHistoryVisible, memberCount, ...of } of memberships) {
      const membership = {
        role: of.role,
        isMuted: of.muteMode === muteMode.notReceived,
        joinedMessageId: of.joinedMessageId,
      }
      this.#put(groupId, userId, membership, { isHistoryVisible, memberCount })
    }
    for (const event of events) {
      this.#applySetting(event)
      this.#applyTo(userId, event)
    }
  }

  remove(userId: Int64): void {
    const groupIds = this.groupsOf(userId)
    this.#readers.delete(userId)
    for (const groupId of groupIds) this.#drop(groupId, userId)
  }

  /** Notes that sessions of the user came, went, or became ready. */
  sessionsChanged(userId: Int64): void {
    for (const groupId of this.groupsOf(userId)) {
      const group = this.#groups.get(groupId)
      if (group) forgetSessions(group)
    }
  }

  /** Moves memberships to the state after the event. */
  apply(event: GroupEvent): void {
    const { group_id: groupId, user_ids: userIds } = event.payload
    const group = this.#groups.get(groupId)
    switch (event.kind) {
      case 'group.joined':
        if (group) group.memberCount += userIds.length
        break
      case 'group.left':
      case 'group.kicked':
        if (group) group.memberCount -= userIds.length
        break
      case 'group.owner_assigned':
        // The former owner is not named.
        for (const userId of group?.members.keys() ?? []) this.#applyTo(userId, event)
        return
      case 'group.info_updated':
        this.#applySetting(event)
        return
    }
    for (const userId of userIds) if (this.#readers.has(userId)) this.#applyTo(userId, event)
  }

  isMember(groupId: Int64, userId: Int64): boolean {
    return this.#groups.get(groupId)?.members.has(userId) ?? false
  }

  /** The groups of a connected user. */
  groupsOf(userId: Int64): readonly Int64[] {
    return this.#readers.get(userId)?.groupIds ?? noGroups
  }

  /** The number of members of a group with connected members. */
  memberCount(groupId: Int64): number {
    return this.#groups.get(groupId)?.memberCount ?? 0
  }

  /** The sessions of the members of a group. */
  members(groupId: Int64): readonly Session[] {
    const group = this.#groups.get(groupId)
    if (!group) return noSessions
    group.sessions ??= this.#list(group, () => true)
    return group.sessions
  }

  /** The sessions of members who receive messages of the group live. */
  receiving(groupId: Int64): readonly Session[] {
    const group = this.#groups.get(groupId)
    if (!group) return noSessions
    group.receiving ??= this.#list(group, ({ isMuted }) => !isMuted)
    return group.receiving
  }

  /** The sessions of owner and admins of a group. */
  admins(groupId: Int64): readonly Session[] {
    const group = this.#groups.get(groupId)
    return group ? this.#list(group, ({ role }) => role >= memberRole.admin) : noSessions
  }

  /**
   * Splits {@link receiving} by whether the member may see a message that may be older than the
   * membership.
   */
  receivingOlder(groupId: Int64, messageId: Int64): SplitReceivers {
    const group = this.#groups.get(groupId)
    const isOlder = ({ joinedMessageId }: ConnectedMember) => messageId <= joinedMessageId
    if (!group || group.isHistoryVisible || ![...group.members.values()].some(isOlder))
      return { visible: this.receiving(groupId), hidden: noSessions }
    return {
      visible: this.#list(group, (member) => !member.isMuted && !isOlder(member)),
      hidden: this.#list(group, (member) => !member.isMuted && isOlder(member)),
    }
  }

  /** Splits the sessions of all users by whether a broadcast is for the user. */
  broadcastReceivers(messageId: Int64): SplitReceivers {
    const visible: Session[] = []
    const hidden: Session[] = []
    for (const [userId, { broadcastsAfter }] of this.#readers)
      for (const session of this.sessionsOf(userId))
        if (session.phase !== 'entering')
          (messageId > broadcastsAfter ? visible : hidden).push(session)
    return { visible, hidden }
  }

  #applySetting({ kind, payload }: GroupEvent): void {
    const group = this.#groups.get(payload.group_id)
    if (group && kind === 'group.info_updated' && payload.property === 'history_visible')
      group.isHistoryVisible = payload.value === true || payload.value === 1
  }

  /** Applies an event to one user. */
  #applyTo(userId: Int64, { kind, payload }: GroupEvent): void {
    const { group_id: groupId, user_ids: userIds } = payload
    const isNamed = userIds.includes(userId)
    const membership = this.#groups.get(groupId)?.members.get(userId)
    switch (kind) {
      case 'group.created':
        if (isNamed) {
          const state = { isHistoryVisible: payload.history_visible, memberCount: 1 }
          this.#join(groupId, userId, { ...newMembership, role: memberRole.owner }, state)
        }
        break
      case 'group.joined':
        if (isNamed) {
          const joinedMessageId = Number(payload.log.msg_id)
          const { history_visible: isHistoryVisible, member_count: memberCount } = payload
          const state = { isHistoryVisible, memberCount: Number(memberCount) }
          this.#join(groupId, userId, { ...newMembership, joinedMessageId }, state)
        }
        break
      case 'group.left':
      case 'group.kicked':
      case 'group.blocked':
      case 'group.absence':
        if (isNamed) this.#drop(groupId, userId)
        break
      case 'group.owner_assigned':
        if (membership && isNamed) membership.role = memberRole.owner
        else if (membership?.role === memberRole.owner) membership.role = memberRole.member
        break
      case 'group.admin_granted':
      case 'group.admin_revoked':
        if (membership && isNamed)
          membership.role = kind === 'group.admin_granted' ? memberRole.admin : memberRole.member
        break
      case 'group.message_setting': {
        const { msg_mute_mode: mode } = payload.setting
        if (membership && isNamed && mode !== undefined) this.#mute(groupId, membership, mode)
        break
      }
    }
  }

  #mute(groupId: Int64, membership: ConnectedMember, mode: number): void {
    membership.isMuted = mode === muteMode.notReceived
    const group = this.#groups.get(groupId)
    if (group) group.receiving = null
  }

  /** @param state of the group, which counts when no other member of it is connected */
  #put(groupId: Int64, userId: Int64, membership: ConnectedMember, state: GroupState): void {
    const group = this.#groups.get(groupId) ?? {
      ...state,
      members: new Map(),
      sessions: null,
      receiving: null,
    }
    this.#groups.set(groupId, group)
    group.members.set(userId, membership)
    forgetSessions(group)
  }

  #join(groupId: Int64, userId: Int64, membership: ConnectedMember, state: GroupState): void {
    const reader = this.#readers.get(userId)
    if (reader && !this.isMember(groupId, userId)) reader.groupIds = reader.groupIds.concat(groupId)
    this.#put(groupId, userId, membership, state)
  }

  #drop(groupId: Int64, userId: Int64): void {
    const reader = this.#readers.get(userId)
    if (reader) reader.groupIds = reader.groupIds.filter((each) => each !== groupId)
    const group = this.#groups.get(groupId)
    if (!group) return
    group.members.delete(userId)
    forgetSessions(group)
    if (group.members.size === 0) this.#groups.delete(groupId)
  }

  #list(group: ConnectedGroup, test: (membership: ConnectedMember) => boolean): readonly Session[] {
    const sessions: Session[] = []
    for (const [userId, membership] of group.members)
      if (test(membership))
        for (const session of this.sessionsOf(userId))
          if (session.phase !== 'entering') sessions.push(session)
    return sessions
  }
}

const newMembership: ConnectedMember = {
  role: memberRole.member,
  isMuted: false,
  joinedMessageId: 0,
}

function forgetSessions(group: ConnectedGroup): void {
  group.sessions = null
  group.receiving = null
}
