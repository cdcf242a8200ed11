import { broadcastUserId, type Int64 } from '@hermod/protocol'
import { eventDefinitions, type EventPayloads, type KindWith } from '@hermod/protocol/events'
import { textBytes } from '../../lib/message-texts.js'
import type { DeliveredEvent } from '../../outbox/consumer.js'
import type { Session } from '../../sessions/session.js'
import type { FanOuts } from '../writing/fan-outs.js'
import { encodeEvent, type Frames } from '../writing/frames.js'
import type { Closings } from './closings.js'
import { type CollectedCrowd, CrowdEvents, isCrowdEvent } from './crowd-events.js'
import type { GroupEvent, Readers, SplitReceivers } from './readers.js'

export interface EventRouterOptions {
  readonly appId: string
  readonly readers: Readers
  readonly fanOuts: FanOuts
  readonly closings: Closings
  /** The sessions of a user that have entered. */
  sessionsOf(userId: Int64): readonly Session[]
  /** Holds the watermark below the row that is begun. @returns a function that ends the hold */
  hold(): () => void
  after(ms: number, run: () => void): void
}

/** An event of the log of a conversation. */
type LogEvent = Extract<DeliveredEvent, { kind: KindWith<{ audience: 'log' }> }>
type UpdateEvent = Extract<LogEvent, { kind: 'message.updated' }>
type EventConversation = EventPayloads['message.stored']['conversation']

const none: readonly Session[] = []
/** The bytes of texts after which the messages of a commit need another write. */
const maxWriteBytes = 32 * 1_024

/** Finds the receivers of events, and starts their fan-outs. */
export class EventRouter {
  readonly #crowds: CrowdEvents

  constructor(private readonly options: EventRouterOptions) {
    this.#crowds = new CrowdEvents({
      send: (collected) => this.#sendCrowd(collected),
      after: options.after,
    })
  }

  /** Sends the events of one row, in their order. */
  dispatch(events: readonly DeliveredEvent[]): void {
    for (let index = 0; index < events.length; index++) {
      const event = events[index] as DeliveredEvent
      if (!isLogEvent(event)) {
        this.#dispatchOther(event)
        continue
      }
      const run = runOf(events, index)
      index += run.length - 1
      this.#dispatchRun(run)
    }
  }

  /** Sends new messages of one log that were committed together, or one other event of a log. */
  #dispatchRun(run: readonly LogEvent[]): void {
    const [first] = run as readonly [LogEvent]
    const { conversation } = first.payload
    const { visible, hidden } = this.#logReceivers(first)
    const queue = queueOf(conversation)
    if (first.kind === 'message.updated') this.#startUpdate(queue, visible, first)
    else this.#start(queue, visible, () => framesOf(run))
    if (hidden.length > 0 && first.change !== undefined)
      this.#start(queue, hidden, () =>
        shared(encodeEvent('change.skipped', { conversation }, first.change)),
      )
  }

  /** Sessions that do not know the kind get the whole message in a frame of its own. */
  #startUpdate(queue: string | null, receivers: readonly Session[], event: UpdateEvent): void {
    const [knowing, others] = partition(receivers, ({ features }) => features.has(event.kind))
    this.#start(queue, knowing, () => framesOf([event]))
    const { replaced, change } = event
    if (replaced)
      this.#start(queue, others, () =>
        framesOf([{ kind: 'message.replaced', payload: replaced, change }]),
      )
  }

  #logReceivers({ kind, payload }: LogEvent): SplitReceivers {
    const { readers, sessionsOf } = this.options
    const { low_id: lowId, high_id: highId, is_group: isGroup } = payload.conversation
    // A number without a message is for all readers.
    const messageId = 'msg_id' in payload ? payload.msg_id : Number.MAX_SAFE_INTEGER
    if (lowId === broadcastUserId) return readers.broadcastReceivers(messageId)
    if (!isGroup) {
      const other = lowId === highId ? none : sessionsOf(highId)
      return visibleTo(concatSessions(sessionsOf(lowId), other))
    }
    // No member has joined after a message that is new.
    return kind === 'message.stored'
      ? visibleTo(readers.receiving(lowId))
      : readers.receivingOlder(lowId, messageId)
  }

  #dispatchOther(event: DeliveredEvent): void {
    if (isGroupEvent(event)) this.#dispatchGroup(event)
    else {
      const { payload } = event
      const conversation =
        'conversation' in payload ? (payload.conversation as EventConversation) : null
      const receivers = this.#readersAmong(this.#named(event), conversation)
      const queue = conversation && queueOf(conversation)
      this.#start(queue, receivers, () =>
        framesNaming(event, receivers, (userId) => conversation !== null || isActor(event, userId)),
      )
      this.options.closings.apply(event)
    }
  }

  /** The event names removed members, so they receive it, and nothing after it. */
  #dispatchGroup(event: DeliveredEvent & GroupEvent): void {
    const { readers } = this.options
    const groupId = event.payload.group_id
    readers.apply(event)
    const isCrowd = isCrowdEvent(event, readers.memberCount(groupId))
    if (!isCrowd) this.#crowds.flush(groupId)
    const receivers = isCrowd ? this.#named(event) : this.#groupReceivers(event)
    this.#start(groupQueue(groupId), receivers, () => this.#groupFrames(event, receivers))
    if (isCrowd) this.#crowds.add(event, this.options.hold())
  }

  /** A hidden value is for owner, admins and the members that the event names (rule F9). */
  #groupFrames(event: DeliveredEvent & GroupEvent, receivers: readonly Session[]): Frames {
    const { readers } = this.options
    const { kind, payload } = event
    const { group_id: groupId } = payload
    if (kind !== 'group.info_updated' || !payload.is_hidden)
      return framesNaming(
        event,
        receivers,
        (userId) => readers.isMember(groupId, userId) || isActor(event, userId),
      )
    const whole = encodeEvent(kind, payload)
    const { value: _, ...others } = payload
    const admins = readers.admins(groupId).map(({ userId }) => userId)
    return {
      all: encodeEvent(kind, others),
      own: new Map([...admins, ...payload.user_ids].map((userId) => [userId, whole])),
    }
  }

  #groupReceivers(event: DeliveredEvent & GroupEvent): readonly Session[] {
    const { readers } = this.options
    const { group_id: groupId, user_ids: userIds } = event.payload
    switch (eventDefinitions[event.kind].audience) {
      case 'group': {
        const nonMembers = userIds.filter((userId) => !readers.isMember(groupId, userId))
        return concatSessions(readers.members(groupId), this.#ready(nonMembers))
      }
      case 'admins':
        return readers.admins(groupId)
      case 'applicants':
        return [...new Set([...readers.admins(groupId), ...this.#named(event)])]
      default:
        return this.#named(event)
    }
  }

  /** The sessions of the users that an event names, as far as its audience includes them. */
  #named({ kind, payload }: DeliveredEvent): readonly Session[] {
    if (!('user_ids' in payload)) return none
    const { actor_id: actorId, user_ids: userIds } = payload
    switch (eventDefinitions[kind].audience) {
      case 'none':
        return none
      case 'actor':
        return this.#ready([actorId])
      case 'both':
      case 'applicants':
        return this.#ready([actorId, ...userIds])
      default:
        return this.#ready(userIds)
    }
  }

  /**
   * Leaves out users who have left the group of a conversation, such as a sender who had asked its
   * members for receipts.
   */
  #readersAmong(
    sessions: readonly Session[],
    conversation: EventConversation | null,
  ): readonly Session[] {
    const { readers } = this.options
    return conversation?.is_group
      ? sessions.filter(({ userId }) => readers.isMember(conversation.low_id, userId))
      : sessions
  }

  #ready(userIds: readonly Int64[]): readonly Session[] {
    return [...new Set(userIds)].flatMap((userId) =>
      this.options.sessionsOf(userId).filter(({ phase }) => phase !== 'entering'),
    )
  }

  #sendCrowd({ kind, groupId, lastUserIds, data, ended }: CollectedCrowd): void {
    const receivers = this.options.readers
      .members(groupId)
      .filter((session) => !lastUserIds.includes(session.userId))
    if (receivers.length === 0) ended()
    else this.#start(groupQueue(groupId), receivers, () => shared(encodeEvent(kind, data)), ended)
  }

  /** @param ended called once all receivers are done; it holds the watermark until then */
  #start(
    queue: string | null,
    receivers: readonly Session[],
    encode: () => Frames,
    ended?: () => void,
  ): void {
    const { appId, fanOuts, hold } = this.options
    if (receivers.length === 0) return
    fanOuts.start({
      queue: queue === null ? null : `${appId}/${queue}`,
      receivers,
      frames: encode(),
      ended: ended ?? hold(),
    })
  }
}

function isLogEvent(event: DeliveredEvent): event is LogEvent {
  return eventDefinitions[event.kind].audience === 'log'
}

function isGroupEvent(event: DeliveredEvent): event is DeliveredEvent & GroupEvent {
  return 'group_id' in event.payload
}

/** A direct conversation has few receivers, so it needs no queue. */
function queueOf({ low_id, high_id, is_group }: EventConversation): string | null {
  if (is_group) return groupQueue(low_id)
  return low_id === broadcastUserId ? `broadcasts/${high_id}` : null
}

function groupQueue(groupId: Int64): string {
  return `groups/${groupId}`
}

/** The new messages of one log from an index on; other events of a log stand alone. */
function runOf(events: readonly DeliveredEvent[], start: number): readonly LogEvent[] {
  const first = events[start] as LogEvent
  let end = start + 1
  if (first.kind !== 'message.stored') return [first]
  let bytes = textBytes(first.payload)
  for (; end < events.length; end++) {
    const event = events[end] as DeliveredEvent
    if (event.kind !== 'message.stored' || !isSameLog(first, event)) break
    bytes += textBytes(event.payload)
    if (bytes > maxWriteBytes) break
  }
  return events.slice(start, end) as LogEvent[]
}

function isSameLog(first: LogEvent, event: LogEvent): boolean {
  const a = first.payload.conversation
  const b = event.payload.conversation
  return a.low_id === b.low_id && a.high_id === b.high_id && a.is_group === b.is_group
}

function visibleTo(sessions: readonly Session[]): SplitReceivers {
  return { visible: sessions, hidden: none }
}

function shared(frame: Buffer): Frames {
  return { all: frame, own: null }
}

function isActor({ payload }: DeliveredEvent, userId: Int64): boolean {
  return 'actor_id' in payload && payload.actor_id === userId
}

/**
 * The frames of an event that may name several users, such as all contacts of a deleted one.
 * @param knowsAll false for receivers who must not learn of one another: each finds only itself named
 */
function framesNaming(
  { kind, payload, change }: DeliveredEvent,
  receivers: readonly Session[],
  knowsAll: (userId: Int64) => boolean,
): Frames {
  const isOne = !('user_ids' in payload) || payload.user_ids.length <= 1
  const others = isOne ? none : receivers.filter(({ userId }) => !knowsAll(userId))
  const own = others.map(({ userId }): [Int64, Buffer] => [
    userId,
    encodeEvent(kind, { ...payload, user_ids: [userId] }, change),
  ])
  return {
    all: encodeEvent(kind, payload, change),
    own: own.length > 0 ? new Map(own) : null,
  }
}

/** The frames of a run. The transaction ID is for devices of the sender only. */
function framesOf(
  run: readonly (Pick<LogEvent, 'kind' | 'payload'> & { readonly change?: number | undefined })[],
): Frames {
  const all: Buffer[] = []
  const own: { readonly index: number; readonly senderId: Int64; readonly frame: Buffer }[] = []
  for (const [index, { kind, payload, change }] of run.entries()) {
    if (!('transaction_id' in payload)) {
      all.push(encodeEvent(kind, payload, change))
      continue
    }
    const { transaction_id: _, ...others } = payload
    all.push(encodeEvent(kind, others, change))
    own.push({ index, senderId: payload.sender_id, frame: encodeEvent(kind, payload, change) })
  }
  const bySender = new Map<Int64, Buffer>()
  for (const { senderId } of own) {
    if (bySender.has(senderId)) continue
    const mine = new Map(
      own.filter((each) => each.senderId === senderId).map((each) => [each.index, each.frame]),
    )
    bySender.set(senderId, Buffer.concat(all.map((frame, index) => mine.get(index) ?? frame)))
  }
  const [only] = all as [Buffer]
  return {
    all: all.length === 1 ? only : Buffer.concat(all),
    own: own.length > 0 ? bySender : null,
  }
}

/** The sessions that pass a test, and the others; the same list where all of them do. */
function partition(
  sessions: readonly Session[],
  test: (session: Session) => boolean,
): readonly [readonly Session[], readonly Session[]] {
  if (sessions.every(test)) return [sessions, none]
  return [sessions.filter(test), sessions.filter((session) => !test(session))]
}

function concatSessions(a: readonly Session[], b: readonly Session[]): readonly Session[] {
  if (b.length === 0) return a
  return a.length === 0 ? b : [...a, ...b]
}
