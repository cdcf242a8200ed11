import type { EventKind } from '@hermod/protocol/events'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { DeliveredEvent } from '../outbox/consumer.js'
import type { OutboxRow } from '../outbox/outbox-store.js'
import { decodePos } from '../outbox/pos.js'
import { keysOfRow } from '../outbox/rows/row-keys.js'
import type { Session } from '../sessions/session.js'
import { AppDelivery } from './app-delivery.js'
import type { SyncState } from './delivery.js'
import { FanOuts } from './writing/fan-outs.js'
import { sessionsPerStep } from './writing/sync-requests.js'

/** The users of random runs. */
const everybody = [1, 2, 3, 4]
/** The IDs of groups are those from here on. */
const firstGroup = 100
const epoch = 'e1'

interface Written {
  readonly event?: string
  readonly data?: { readonly position?: number; readonly transaction_id?: string }
  readonly change?: number
  readonly pos?: string
  /** The position that delivery had begun. */
  readonly at: number
}

interface FakeSession extends Session {
  isBehind: boolean
  state: SyncState | null
  /** The position that was begun when it became ready. */
  readyAt: number
  readonly pos: string | null
  readonly written: Written[]
  readonly closed: string[]
}

/** An outbox, memberships and an event loop of which the test decides every step. */
class World {
  readonly rows: OutboxRow[] = []
  /** The users that each position is for, by the memberships at its commit. */
  readonly reach: Set<number>[] = []
  readonly members = new Map<number, Map<number, { muteMode: number }>>()
  readonly sessions: FakeSession[] = []
  readonly waiting: (() => void)[] = []
  readonly turns: (() => void)[] = []
  readonly timers: (() => void)[] = []
  readonly handed: [number, DeliveredEvent[]][] = []
  readonly problems: unknown[] = []
  /** Positions of events that a listener got. */
  readonly heard: (number | 'missed')[] = []
  readonly revoked = new Set<string>()
  readonly barred = new Map<number, 'user_disabled' | 'user_deleted'>()
  purgedUpTo = 0
  #nextId = 1
  readonly delivery: AppDelivery

  constructor(before: (world: World) => void = () => {}) {
    before(this)
    this.delivery = new AppDelivery({
      ...{ appId: 'shop', epoch },
      source: {
        head: () => this.#later(() => this.rows.length),
        listAfter: (after, limit) =>
          this.#later(() => this.rows.slice(Math.max(after, this.purgedUpTo)).slice(0, limit)),
        eventsOf: (row) => this.#later(() => this.eventsOf(row)),
        keysOfRow: (row) => keysOfRow(row, { logs: logsOf }),
        loadReader: (userId) => this.#later(() => this.#memberships(Number(userId))),
        isRevoked: async (hash) => this.revoked.has(hash),
      },
      fanOuts: new FanOuts({
        observer: { fannedOut: () => {}, skipped: () => {} },
        nextTurn: (run) => this.turns.push(run),
        smallSize: 0,
      }),
      observer: {
        began: () => {},
        reached: () => {},
        missed: () => {},
        failed: (_, error) => this.problems.push(error),
      },
      listeners: [
        {
          begun: (_, events) => this.heard.push(...events.map(({ position }) => position)),
          missed: () => this.heard.push('missed'),
        },
      ],
      timers: {
        nextTurn: (run) => this.turns.push(run),
        after: (_, run) => this.timers.push(run),
      },
      now: () => 0,
      openSessions: (userId) =>
        this.sessions.filter((each) => each.userId === userId && each.phase !== 'ended'),
    })
  }

  #later<T>(answer: () => T): Promise<T> {
    return new Promise((resolve) => this.waiting.push(() => resolve(answer())))
  }

  #memberships(userId: number) {
    return {
      broadcastsAfter: 0,
      barredAs: this.barred.get(userId) ?? null,
      memberships: [...this.members].flatMap(([groupId, users]) => {
        const member = users.get(userId)
        const group = {
          groupId,
          role: 0,
          joinedMessageId: 0,
          isHistoryVisible: false,
          memberCount: 2,
        }
        return member ? [{ ...group, ...member }] : []
      }),
    }
  }

  eventsOf({ kind, payload, position, createdAt }: OutboxRow): DeliveredEvent[] {
    const event = { kind, payload: JSON.parse(payload), appId: 'shop' }
    return [{ ...event, id: String(position), position, createdAt } as DeliveredEvent]
  }

  #commit(kind: EventKind, payload: object, reach: Iterable<number>): number {
    const position = this.rows.length + 1
    const createdAt = 1_000 + position
    const text = JSON.stringify({ ...payload, position })
    this.rows.push({ position, kind, payload: text, createdAt })
    this.reach[position] = new Set(reach)
    // Half of the wakes say how far the outbox reaches.
    this.delivery?.wake(position % 2 === 0 ? position : undefined)
    return position
  }

  #receivingMembers(groupId: number): number[] {
    const members = this.members.get(groupId) ?? new Map<number, { muteMode: number }>()
    return [...members].flatMap(([userId, { muteMode }]) => (muteMode === 2 ? [] : [userId]))
  }

  /** @param isHanded the row is handed over, when {@link handOver} comes to it */
  send(from: number, to: number, isHanded = false, more: object = {}): number {
    const isGroup = to >= firstGroup
    const [low_id, high_id] = isGroup ? [to, to] : [Math.min(from, to), Math.max(from, to)]
    const conversation = { low_id, high_id, is_group: isGroup }
    const payload = {
      conversation,
      msg_id: this.rows.length + 1,
      sender_id: from,
      ...texts,
      ...more,
    }
    const reach = isGroup ? this.#receivingMembers(to) : [from, to]
    const position = this.#commit('message.stored', payload, reach)
    const row = this.rows.at(-1) as OutboxRow
    if (isHanded) this.handed.push([position, this.eventsOf(row)])
    return position
  }

  join(userId: number, groupId: number): void {
    const users = this.members.get(groupId) ?? new Map<number, { muteMode: number }>()
    this.members.set(groupId, users)
    if (users.has(userId)) return
    users.set(userId, { muteMode: 0 })
    const log = { change: 0, seq: 0, msg_id: this.rows.length }
    const joined = { ...groupPayload(groupId, userId), log }
    this.#commit('group.joined', joined, users.keys())
  }

  leave(userId: number, groupId: number): void {
    const users = this.members.get(groupId)
    if (!users?.has(userId)) return
    const told = [...users.keys()]
    users.delete(userId)
    this.#commit('group.left', groupPayload(groupId, userId), told)
  }

  mute(userId: number, groupId: number, muteMode: number): void {
    const member = this.members.get(groupId)?.get(userId)
    if (!member) return
    member.muteMode = muteMode
    const setting = { msg_mute_mode: muteMode }
    const payload = { ...groupPayload(groupId, userId), setting }
    this.#commit('group.message_setting', payload, [userId])
  }

  finishImport(): void {
    this.#commit('import.finished', { actor_id: 0, user_ids: [], source: 'other' }, everybody)
  }

  user(kind: 'user.kicked' | 'user.frozen' | 'contact.blocked', payload: object, told: number[]) {
    this.#commit(kind, payload, told)
  }

  open(userId: number, pos: string | null = null, deviceSn: number | null = null): FakeSession {
    const session: FakeSession = {
      ...{
        id: this.#nextId++,
        appId: 'shop',
        userId,
        deviceSn,
        tokenHash: `t${userId}`,
        scopes: null,
      },
      ...{
        phase: 'entering' as const,
        hasMissed: false,
        features: new Set<never>(),
        isBehind: false,
      },
      ...{ state: null, readyAt: -1, pos, written: [], closed: [] },
      link: {
        write: (frames) => session.written.push(...this.#parse(frames)),
        get isBehind() {
          return session.isBehind
        },
        heardAt: 0,
        ping() {},
        close: (code, reason) => session.closed.push(`${code} ${reason}`),
      },
    }
    this.sessions.push(session)
    this.delivery.enter(session, pos).then(
      (state) => {
        session.state = state
      },
      (error) => this.problems.push(error),
    )
    return session
  }

  /** Notes the position of sessions that became ready in the last step. */
  noteReady(): void {
    for (const session of this.sessions)
      if (session.readyAt < 0 && session.phase === 'ready')
        session.readyAt = this.delivery.begun.position
  }

  begin(session: FakeSession): void {
    if (session.state && session.phase === 'ready') this.delivery.resume(session)
  }

  close(session: FakeSession): void {
    session.phase = 'ended'
    this.delivery.leave(session)
  }

  drain(session: FakeSession): void {
    session.isBehind = false
    if (session.phase === 'behind') this.delivery.resume(session)
  }

  heartbeat(session: FakeSession): void {
    if (session.phase === 'live' && !session.isBehind && !session.hasMissed)
      session.link.write(this.delivery.heartbeat)
  }

  handOver(index: number): void {
    const [row] = this.handed.splice(index % Math.max(1, this.handed.length), 1)
    if (row) this.delivery.handOver(...row)
  }

  async step(list: (() => void)[], index = 0): Promise<void> {
    const [run] = list.splice(index % Math.max(1, list.length), 1)
    run?.()
    await this.settle()
  }

  async settle(): Promise<void> {
    for (let count = 0; count < 12; count++) await Promise.resolve()
    this.noteReady()
  }

  /** Runs until nothing but timers is left to do. */
  async beginAll(): Promise<void> {
    while (this.waiting.length + this.turns.length > 0) {
      await this.step(this.waiting)
      await this.step(this.turns)
    }
  }

  /** Runs until nothing is left to do. */
  async finish(): Promise<void> {
    for (let round = 0; round < 3; round++) {
      void this.delivery.read()
      await this.settle()
      do {
        await this.step(this.timers)
        await this.beginAll()
      } while (this.timers.length > 0)
    }
  }

  #parse(frames: Buffer): Written[] {
    const found: Written[] = []
    for (let at = 0; at < frames.length; ) {
      const isLong = frames[at + 1] === 126
      const length = isLong ? frames.readUInt16BE(at + 2) : (frames[at + 1] ?? 0)
      const start = at + (isLong ? 4 : 2)
      found.push({
        ...JSON.parse(frames.subarray(start, start + length).toString()),
        at: this.delivery.begun.position,
      })
      at = start + length
    }
    return found
  }
}

function logsOf(payload: string) {
  const { low_id: lowId, high_id: highId, is_group: isGroup } = JSON.parse(payload).conversation
  return [{ lowId, highId, isGroup, change: 0 }]
}

const texts = { content: '', attachment: '', config: '', ext: '' }

function groupPayload(group_id: number, userId: number) {
  return { group_id, actor_id: userId, user_ids: [userId] }
}

/** The key of what is ordered: the log of a message, or the group of an event. */
function orderOf({ payload }: OutboxRow): string {
  const { conversation, group_id: groupId } = JSON.parse(payload)
  return groupId ?? `${conversation.low_id}/${conversation.high_id}`
}

const positionsOf = (session: FakeSession) =>
  session.written.flatMap(({ data }) => data?.position ?? [])

/** Opens a session whose answer is written at once. */
async function aLiveSession(world: World, userId: number, deviceSn: number | null = null) {
  const session = world.open(userId, null, deviceSn)
  await world.finish()
  world.begin(session)
  return session
}

describe('delivery of an app', () => {
  it('writes a message to all sessions of both parties and to no other, and its transaction ID to the sender only', async () => {
    const world = new World()
    const [a, b, c] = [
      await aLiveSession(world, 1),
      await aLiveSession(world, 2),
      await aLiveSession(world, 3),
    ]
    world.send(1, 2, false, { transaction_id: '77' })
    await world.finish()
    expect(a.written).toMatchObject([{ event: 'message.stored', data: { transaction_id: '77' } }])
    expect(b.written).toMatchObject([{ event: 'message.stored', data: { position: 1 } }])
    expect(b.written[0]?.data).not.toHaveProperty('transaction_id')
    expect(c.written).toEqual([])
  })

  it('takes rows that are handed over out of order, and reads those between them', async () => {
    const world = new World()
    const session = await aLiveSession(world, 2)
    for (const isHanded of [true, false, true, true]) world.send(1, 2, isHanded)
    world.handOver(1)
    world.handOver(1)
    expect(positionsOf(session)).toEqual([])
    world.handOver(0)
    expect(positionsOf(session)).toEqual([1])
    await world.finish()
    expect(positionsOf(session)).toEqual([1, 2, 3, 4])
  })

  it('gives listeners the events in order, and tells them when they may lack some: at its start and after a purge', async () => {
    const world = new World((each) => each.send(1, 2))
    await world.finish()
    world.send(1, 2)
    world.user('contact.blocked', { actor_id: 1, user_ids: [2] }, [1])
    await world.finish()
    world.send(1, 2)
    world.purgedUpTo = world.rows.length
    world.send(1, 2)
    await world.finish()
    expect(world.heard).toEqual(['missed', 2, 3, 'missed', 5])
  })

  it('begins a session as current only with a pos after which nothing concerns the user', async () => {
    const world = new World((each) => {
      each.send(1, 2)
      each.send(3, 4)
    })
    await world.finish()
    const stateOf = async (userId: number, pos: string | null) => {
      const session = world.open(userId, pos)
      await world.finish()
      return session.state
    }
    const first = `${epoch}.1.${(1_001).toString(36)}`
    expect(await stateOf(1, null)).toEqual({ sync: 'needed', pos: null })
    const current = await stateOf(1, first)
    expect(current?.sync).toBe('current')
    expect(decodePos(current?.pos ?? '')).toEqual({ epoch, position: 2, time: 1_002 })
    expect(await stateOf(3, first)).toEqual({ sync: 'needed', pos: null })
    expect(await stateOf(9, `${epoch}.0.0`)).toMatchObject({ sync: 'current' })
  })

  it('resets a session with a pos of another epoch, of a replaced history, of the future, and with none', async () => {
    const world = new World((each) => each.send(1, 2))
    for (const pos of [`e2.1.${(1_001).toString(36)}`, `${epoch}.1.zz`, `${epoch}.9.zz`, 'x']) {
      const session = world.open(1, pos)
      await world.finish()
      expect(session.state).toEqual({ sync: 'reset', pos: null })
    }
  })

  it('asks a session to sync that has missed an event before it began', async () => {
    const world = new World()
    const session = world.open(1)
    await world.finish()
    world.send(2, 1)
    await world.finish()
    expect(session.written).toEqual([])
    world.begin(session)
    world.send(2, 1)
    await world.finish()
    expect(session.written.map(({ event }) => event)).toEqual(['sync.needed', 'message.stored'])
  })

  it('skips a slow session until it is drained, then asks it to sync', async () => {
    const world = new World()
    const session = await aLiveSession(world, 1)
    session.isBehind = true
    world.send(2, 1)
    await world.finish()
    world.send(2, 1)
    await world.finish()
    expect(session.written).toEqual([])
    world.drain(session)
    world.send(2, 1)
    await world.finish()
    expect(session.written.map(({ event }) => event)).toEqual(['sync.needed', 'message.stored'])
    expect(positionsOf(session)).toEqual([3])
  })

  it('asks every session to sync when rows were purged, with the memberships of then', async () => {
    const world = new World()
    world.join(1, firstGroup)
    world.join(2, firstGroup)
    const [a, b] = [await aLiveSession(world, 1), await aLiveSession(world, 2)]
    world.turns.length = 0
    world.leave(2, firstGroup)
    world.send(1, firstGroup)
    world.purgedUpTo = world.rows.length
    world.send(1, firstGroup)
    await world.finish()
    expect(a.written.map(({ event }) => event)).toEqual(['sync.needed'])
    world.send(1, firstGroup)
    await world.finish()
    expect(positionsOf(a)).toEqual([6])
    expect(b.written.map(({ event }) => event)).toEqual(['sync.needed'])
  })

  it('asks sessions to sync some at a time after an import; those that wait get events and no position', async () => {
    const world = new World()
    const sessions: FakeSession[] = []
    for (let user = 1; user <= 3 * sessionsPerStep; user++)
      sessions.push(await aLiveSession(world, user))
    const asked = () =>
      sessions.filter(({ written }) => written.some(({ event }) => event === 'sync.needed')).length
    world.finishImport()
    world.finishImport()
    const last = sessions.at(-1) as FakeSession
    world.send(1, Number(last.userId))
    void world.delivery.read()
    await world.beginAll()
    expect(asked()).toBe(sessionsPerStep)
    world.heartbeat(last)
    expect(last.written.map(({ event, pos }) => event ?? pos)).toEqual(['message.stored'])
    for (const run of world.timers.splice(0)) run()
    expect(asked()).toBe(2 * sessionsPerStep)
    await world.finish()
    world.heartbeat(last)
    expect(last.written.map(({ event, pos }) => event ?? decodePos(pos ?? '')?.position)).toEqual([
      'message.stored',
      'sync.needed',
      3,
    ])
    for (const { written } of sessions)
      expect(written.filter(({ event }) => event === 'sync.needed')).not.toEqual([])
  })

  it('holds back sessions that begin or are drained after a purge until memberships are read again', async () => {
    const world = new World()
    world.join(2, firstGroup)
    await aLiveSession(world, 2)
    const slow = await aLiveSession(world, 1)
    slow.isBehind = true
    world.send(2, 1)
    const beginning = world.open(1)
    await world.finish()
    expect([slow.phase, beginning.phase]).toEqual(['behind', 'ready'])
    world.join(1, firstGroup)
    world.purgedUpTo = world.rows.length
    world.send(2, firstGroup)
    void world.delivery.read()
    while (world.delivery.begun.position < world.rows.length) {
      await world.step(world.turns)
      await world.step(world.waiting)
    }
    world.begin(beginning)
    world.drain(slow)
    expect([...slow.written, ...beginning.written]).toEqual([])
    world.send(2, firstGroup)
    await world.finish()
    for (const session of [slow, beginning]) {
      expect(session.written.map(({ event }) => event)).toEqual(['sync.needed', 'message.stored'])
      expect(positionsOf(session)).toEqual([5])
    }
  })

  it('writes nothing of a group to a member whose removal was purged, also when the message waits to be written', async () => {
    const world = new World()
    for (const user of [1, 2]) world.join(user, firstGroup)
    const [, removed] = [await aLiveSession(world, 1), await aLiveSession(world, 2)]
    world.leave(2, firstGroup)
    world.purgedUpTo = world.rows.length
    world.send(1, firstGroup)
    void world.delivery.read()
    // The fan-out waits for the next turn, and memberships are read meanwhile.
    await world.settle()
    while (world.waiting.length > 0) await world.step(world.waiting)
    expect(removed.phase).toBe('live')
    await world.finish()
    expect(removed.written.map(({ event }) => event)).toEqual(['sync.needed'])
  })

  it('applies changes of memberships that are begun while memberships are read', async () => {
    const world = new World()
    world.join(2, firstGroup)
    await aLiveSession(world, 2)
    const session = world.open(1)
    await world.settle()
    await world.step(world.waiting)
    world.join(1, firstGroup)
    const [head] = world.waiting.splice(0, 1)
    while (world.delivery.begun.position < world.rows.length) {
      await world.step(world.turns)
      await world.step(world.waiting)
    }
    head?.()
    await world.finish()
    world.begin(session)
    world.send(2, firstGroup)
    await world.finish()
    expect(positionsOf(session)).toEqual([3])
  })

  it('keeps the watermark below a fan-out that is not finished', async () => {
    const world = new World()
    world.join(2, firstGroup)
    const session = await aLiveSession(world, 2)
    world.send(2, firstGroup)
    void world.delivery.read()
    while (world.delivery.begun.position < 2) await world.step(world.waiting)
    world.heartbeat(session)
    await world.finish()
    world.heartbeat(session)
    expect(
      session.written.map(({ pos, event }) => event ?? decodePos(pos ?? '')?.position),
    ).toEqual([1, 'message.stored', 2])
  })

  it('closes the sessions that an event ends, after their last events, and those alone', async () => {
    const world = new World()
    const phone = await aLiveSession(world, 1, 1)
    const tablet = await aLiveSession(world, 1, 2)
    const other = await aLiveSession(world, 2, 1)
    world.user('user.kicked', { actor_id: 1, user_ids: [1], device_sn: 1 }, [1])
    await world.finish()
    expect(phone.closed).toEqual([])
    world.revoked.add('t1')
    world.user('user.kicked', { actor_id: 1, user_ids: [1], device_sn: 1 }, [1])
    await world.finish()
    expect(phone.closed).toEqual(['kicked kicked'])
    expect(phone.written.at(-1)?.event).toBe('user.kicked')
    expect([...tablet.closed, ...other.closed]).toEqual([])
    world.user('user.frozen', { actor_id: 0, user_ids: [1] }, [1])
    await world.finish()
    expect(tablet.closed).toEqual(['userDisabled user_disabled'])
    expect(other.closed).toEqual([])
  })

  it('closes a session whose token ended before it had entered', async () => {
    const world = new World()
    world.revoked.add('t1')
    const session = world.open(1)
    await world.finish()
    expect(session.closed).toEqual(['tokenRevoked token_revoked'])
  })

  it.each([
    ['user_disabled', 'userDisabled'],
    ['user_deleted', 'userDeleted'],
  ] as const)(
    'closes a session whose user became %s before it had entered',
    async (state, code) => {
      const world = new World()
      world.barred.set(1, state)
      const [session, other] = [world.open(1), world.open(2)]
      await world.finish()
      expect([session.closed, other.closed]).toEqual([[`${code} ${state}`], []])
    },
  )

  it('writes a block to the devices of the blocking user only', async () => {
    const world = new World()
    const [a, b] = [await aLiveSession(world, 1), await aLiveSession(world, 2)]
    world.user('contact.blocked', { actor_id: 1, user_ids: [2] }, [1])
    await world.finish()
    expect([a, b].map(({ written }) => written.length)).toEqual([1, 0])
  })
})

type Action = (world: World) => unknown

const userId = fc.constantFrom(...everybody)
const groupId = fc.integer({ min: firstGroup, max: firstGroup + 1 })
const index = fc.nat(20)
const pick = (world: World, at: number) => world.sessions[at % Math.max(1, world.sessions.length)]
const onSession = (run: (world: World, session: FakeSession) => void) =>
  index.map(
    (at): Action =>
      (world) => {
        const session = pick(world, at)
        if (session) run(world, session)
      },
  )

/** A pos that a client may hold: of a row that it has seen begun. */
function posAt(world: World, at: number): string | null {
  const begun = world.delivery.begun.position
  const position = at % (begun + 2)
  const row = world.rows[position - 1]
  return position > begun
    ? null
    : `${epoch}.${position.toString(36)}.${(row?.createdAt ?? 0).toString(36)}`
}

const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(userId, fc.oneof(userId, groupId), fc.boolean()).map(
      ([from, to, isHanded]): Action =>
        (world) =>
          world.send(from, to, isHanded),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(userId, groupId).map(
      ([user, group]): Action =>
        (world) =>
          world.join(user, group),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(userId, groupId).map(
      ([user, group]): Action =>
        (world) =>
          world.leave(user, group),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(userId, groupId, fc.constantFrom(0, 2)).map(
      ([user, group, mode]): Action =>
        (world) =>
          world.mute(user, group, mode),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(userId, index).map(
      ([user, at]): Action =>
        (world) =>
          world.open(user, posAt(world, at)),
    ),
  },
  { weight: 5, arbitrary: onSession((world, session) => world.begin(session)) },
  { weight: 1, arbitrary: onSession((world, session) => world.close(session)) },
  {
    weight: 1,
    arbitrary: onSession((_, session) => {
      session.isBehind = true
    }),
  },
  { weight: 2, arbitrary: onSession((world, session) => world.drain(session)) },
  { weight: 2, arbitrary: onSession((world, session) => world.heartbeat(session)) },
  { weight: 1, arbitrary: fc.constant((world: World) => world.finishImport()) },
  {
    weight: 5,
    arbitrary: index.map(
      (at): Action =>
        (world) =>
          world.handOver(at),
    ),
  },
  {
    weight: 12,
    arbitrary: index.map(
      (at): Action =>
        (world) =>
          world.step(world.waiting, at),
    ),
  },
  { weight: 6, arbitrary: fc.constant((world: World) => world.step(world.turns)) },
  { weight: 3, arbitrary: fc.constant((world: World) => world.step(world.timers)) },
)

const actions = fc.array(action, { minLength: 20, maxLength: 150 })

/** Checks what one session was sent against the memberships at each commit. */
function checkSession(world: World, session: FakeSession): void {
  const { userId: user, state, readyAt, written } = session
  const concerned = (position: number) => world.reach[position]?.has(Number(user)) ?? false
  const all = Array.from({ length: world.rows.length }, (_, at) => at + 1)
  if (state?.sync === 'current') {
    const from = decodePos(session.pos ?? '')?.position ?? 0
    expect(all.filter((at) => at > from && at <= readyAt && concerned(at))).toEqual([])
    expect(decodePos(state.pos)?.position).toBe(readyAt)
  }
  const last = new Map<string, number>()
  const seen = new Set<number>()
  /** Everything up to it is covered by a sync that the client was asked for. */
  let synced = readyAt
  const missingUpTo = (end: number) =>
    all.filter((at) => at > synced && at <= end && concerned(at) && !seen.has(at))
  for (const { event, data, pos, at } of written) {
    if (event === 'sync.needed') synced = at
    else if (pos !== undefined) expect(missingUpTo(decodePos(pos)?.position ?? 0)).toEqual([])
    else {
      const position = data?.position ?? 0
      const order = orderOf(world.rows[position - 1] as OutboxRow)
      expect(concerned(position)).toBe(true)
      expect(position).toBeGreaterThan(readyAt)
      expect(position).toBeGreaterThan(last.get(order) ?? 0)
      last.set(order, position)
      seen.add(position)
    }
  }
  if (session.phase === 'live') expect(missingUpTo(world.rows.length)).toEqual([])
}

describe('any order of commits, reads, hand-overs and sessions', () => {
  it('loses no event, writes none from before a join or after a removal, and keeps the order of logs and groups', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(userId, { maxLength: 4 }), actions, async (users, acts) => {
        const world = new World((each) => {
          for (const user of [1, 2, 3]) each.join(user, firstGroup)
          each.send(1, firstGroup)
        })
        for (const user of users) await aLiveSession(world, user)
        for (const act of acts) {
          await act(world)
          await world.settle()
        }
        await world.finish()
        for (const session of world.sessions) world.drain(session)
        await world.finish()
        expect(world.problems).toEqual([])
        expect(world.delivery.begun.position).toBe(world.rows.length)
        for (const session of world.sessions) checkSession(world, session)
      }),
      { numRuns: process.env.HERMOD_TEST_FULL === 'on' ? 2_000 : 200, seed: 20_260_101 },
    )
  })
})
