import type { Int64 } from '@hermod/protocol'
import type { TransientEvent } from '@hermod/protocol/events'
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { SessionRegistry } from '../../sessions/registry.js'
import type { Session } from '../../sessions/session.js'
import { PresenceService } from './presence-service.js'

const appId = 'shop'
const [alice, bob, carol] = [1, 2, 3]
const link = { write() {}, isBehind: false, heardAt: 0, ping() {}, close() {} }

/** A service with sessions, contacts and a clock that the test sets. */
class World {
  readonly registry = new SessionRegistry()
  readonly service: PresenceService
  /** Those who are visible to a viewer, as `viewer user`. */
  readonly visible = new Set<string>()
  /** Contacts of a viewer who block the viewer, as `viewer user`. */
  readonly blocking = new Set<string>()
  readonly #events = new Map<Session, Record<number, boolean>[]>()
  readonly behind = new Set<Session>()
  /** Answers of contacts that wait for the test; null: they come at once. */
  held: (() => void)[] | null = null
  failing: Error | null = null
  readonly failures: unknown[] = []
  #now = 1_000
  #sessionId = 0
  #tick: (() => void) | null = null

  constructor() {
    this.service = new PresenceService({
      directory: this.registry,
      sessions: this.registry,
      now: () => this.#now,
      every: (_, run) => {
        this.#tick = run
        return () => {
          this.#tick = null
        }
      },
      rules: {
        contactsOf: async ({ userId: viewer }, userIds) => {
          if (this.failing) throw this.failing
          const contacts = userIds.filter((userId) => this.areContacts(viewer, userId))
          const found = new Map(
            contacts.map((userId) => [userId, this.visible.has(`${viewer} ${userId}`)]),
          )
          await new Promise<void>((resolve) => {
            if (this.held) this.held.push(resolve)
            else resolve()
          })
          return found
        },
      },
      failed: (error) => this.failures.push(error),
      transient: { toSession: (session, event) => this.#sent(session, event) },
    })
  }

  get isTicking(): boolean {
    return this.#tick !== null
  }

  open(userId: Int64, deviceSn: number | null = 1): Session {
    const session: Session = {
      ...{ id: ++this.#sessionId, appId, userId, deviceSn, tokenHash: '', scopes: null, link },
      ...{ phase: 'live', hasMissed: false, features: new Set<never>() },
    }
    this.registry.add(session)
    return session
  }

  close(session: Session): void {
    this.registry.remove(session)
  }

  makeContacts(one: Int64, other: Int64): void {
    for (const pair of [`${one} ${other}`, `${other} ${one}`]) {
      this.visible.add(pair)
      this.blocking.delete(pair)
    }
  }

  areContacts(viewer: Int64, userId: Int64): boolean {
    const pair = `${viewer} ${userId}`
    return this.visible.has(pair) || this.blocking.has(pair)
  }

  block(viewer: Int64, userId: Int64): void {
    if (this.visible.delete(`${viewer} ${userId}`)) this.blocking.add(`${viewer} ${userId}`)
  }

  /** Lets seconds pass, one after the other. */
  pass(seconds: number): void {
    for (; seconds > 0; seconds--) {
      this.#now += 1_000
      this.#tick?.()
    }
  }

  async states(session: Session, userIds: readonly Int64[]) {
    const states = await this.service.subscribe(session, userIds)
    return Object.fromEntries(states.map(({ user_id, online }) => [Number(user_id), online]))
  }

  /** Returns the events of a session since the last call, one object for each. */
  eventsOf(session: Session): Record<number, boolean>[] {
    const events = this.#events.get(session) ?? []
    this.#events.delete(session)
    return events
  }

  #sent(session: Session, event: TransientEvent): boolean {
    if (event.kind !== 'presence') throw new Error(event.kind)
    if (this.behind.has(session)) return false
    const states = event.data.users.map(({ user_id, online }) => [Number(user_id), online])
    this.#events.set(session, [...(this.#events.get(session) ?? []), Object.fromEntries(states)])
    return true
  }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

let world: World

beforeEach(() => {
  world = new World()
})

describe('a user', () => {
  it('is online while a session with a device is open, and for ten seconds after', () => {
    const isOnline = () => world.service.isOnline({ appId, userId: alice })
    world.open(alice, null)
    expect(isOnline()).toBe(false)
    const [phone, tablet] = [world.open(alice, 1), world.open(alice, 2)]
    expect(isOnline()).toBe(true)
    world.close(phone)
    world.close(tablet)
    world.pass(9)
    expect(isOnline()).toBe(true)
    world.pass(1)
    expect(isOnline()).toBe(false)
    expect(world.service.isOnline({ appId: 'bank', userId: alice })).toBe(false)
  })

  it('has connected devices at this moment only', () => {
    const phone = world.open(alice, 4)
    const isConnected = (deviceSn: number) =>
      world.service.isConnected({ appId, userId: alice, deviceSn })
    expect([isConnected(4), isConnected(5)]).toEqual([true, false])
    world.close(phone)
    expect(isConnected(4)).toBe(false)
  })
})

describe('a subscriber', () => {
  it('gets the states of itself and of contacts; all others are offline', async () => {
    world.makeContacts(alice, bob)
    for (const user of [bob, carol]) world.open(user)
    const session = world.open(alice)
    expect(await world.states(session, [alice, bob, carol, 999])).toEqual({
      [alice]: true,
      [bob]: true,
      [carol]: false,
      999: false,
    })
  })

  it('gets each user once, in the order of the list', async () => {
    const session = world.open(alice)
    const states = await world.service.subscribe(session, [carol, alice, carol])
    expect(states.map(({ user_id }) => user_id)).toEqual([carol, alice])
  })

  it('gets the changes of a second in one event, without those that were undone', async () => {
    for (const user of [bob, carol, 4]) world.makeContacts(alice, user)
    const session = world.open(alice)
    const leaving = world.open(4)
    await world.states(session, [bob, carol, 4])
    world.open(bob)
    world.open(carol)
    world.close(leaving)
    world.open(4)
    expect(world.eventsOf(session)).toEqual([])
    world.pass(1)
    expect(world.eventsOf(session)).toEqual([{ [bob]: true, [carol]: true }])
    world.pass(20)
    expect(world.eventsOf(session)).toEqual([])
  })

  it('sees a user offline after the grace, and nothing of a change of network', async () => {
    world.makeContacts(alice, bob)
    const session = world.open(alice)
    const first = world.open(bob)
    await world.states(session, [bob])
    world.close(first)
    world.pass(5)
    const second = world.open(bob)
    world.pass(20)
    expect(world.eventsOf(session)).toEqual([])
    world.close(second)
    world.pass(9)
    expect(world.eventsOf(session)).toEqual([])
    world.pass(2)
    expect(world.eventsOf(session)).toEqual([{ [bob]: false }])
  })

  it('follows the last list only, and none after it is empty or the session closed', async () => {
    for (const user of [bob, carol]) world.makeContacts(alice, user)
    const session = world.open(alice)
    await world.states(session, [bob])
    world.open(bob)
    await world.states(session, [carol])
    world.pass(2)
    expect(world.eventsOf(session)).toEqual([])
    world.open(carol)
    world.pass(1)
    expect(world.eventsOf(session)).toEqual([{ [carol]: true }])
    await world.states(session, [])
    expect(world.service.followedCount).toBe(0)
    await world.states(session, [bob])
    world.close(session)
    expect(world.service.followedCount).toBe(0)
  })

  it('keeps no list when its session was replaced, or closed while the list was read', async () => {
    const first = world.open(alice)
    await world.states(first, [bob])
    world.open(alice)
    expect(world.service.followedCount).toBe(0)
    const second = world.open(carol)
    world.held = []
    const states = world.states(second, [bob])
    world.close(second)
    world.held[0]?.()
    await states
    expect(world.service.followedCount).toBe(0)
  })

  it('does not follow users who are no contacts, until it subscribes again', async () => {
    const session = world.open(alice)
    const invented = Array.from({ length: 500 }, (_, index) => 1_000 + index)
    await world.states(session, [bob, ...invented])
    expect(world.service.followedCount).toBe(0)
    world.makeContacts(alice, bob)
    await world.service.relationChanged(appId, alice, bob)
    world.open(bob)
    world.pass(1)
    expect(world.eventsOf(session)).toEqual([])
    expect(await world.states(session, [bob])).toEqual({ [bob]: true })
    expect(world.service.followedCount).toBe(1)
  })

  it('has lists of 2,000 different contacts over all sessions, which share them', async () => {
    const contacts = Array.from({ length: 2_001 }, (_, index) => 1_000 + index)
    for (const contact of contacts) world.makeContacts(alice, contact)
    const sessions = [1, 2, 3, 4, 5].map((device) => world.open(alice, device))
    const [last] = sessions.slice(-1) as [Session]
    for (const [index, session] of sessions.slice(0, 4).entries())
      await world.states(session, contacts.slice(500 * index, 500 * (index + 1)))
    await world.states(last, contacts.slice(0, 500))
    expect(world.service.followedCount).toBe(2_000)
    const refused = world.states(last, contacts.slice(-1))
    await expect(refused).rejects.toThrow(
      'presence lists of one user have at most 2000 different users over all sessions',
    )
    world.open(contacts[0] as Int64)
    world.pass(1)
    expect(sessions.map((session) => world.eventsOf(session).length)).toEqual([1, 0, 0, 0, 0])
    for (const session of sessions) world.close(session)
    expect(world.service.followedCount).toBe(0)
  })

  it('gets the states of both lists when it sends two at once', async () => {
    for (const user of [bob, carol]) world.makeContacts(alice, user)
    for (const user of [bob, carol]) world.open(user)
    const session = world.open(alice)
    const states = [world.states(session, [bob]), world.states(session, [carol])]
    expect(await Promise.all(states)).toEqual([{ [bob]: true }, { [carol]: true }])
    expect(world.service.followedCount).toBe(1)
  })

  it('sees a user offline after a block, and online after its end', async () => {
    world.makeContacts(alice, bob)
    world.open(bob)
    const session = world.open(alice)
    await world.states(session, [bob])
    world.block(alice, bob)
    await world.service.relationChanged(appId, bob, alice)
    world.pass(1)
    expect(world.eventsOf(session)).toEqual([{ [bob]: false }])
    world.makeContacts(alice, bob)
    await world.service.relationsChanged(appId)
    world.pass(1)
    expect(world.eventsOf(session)).toEqual([{ [bob]: true }])
  })

  it('sees the newest relation when a block comes while the list is read', async () => {
    world.makeContacts(alice, bob)
    world.open(bob)
    const session = world.open(alice)
    world.held = []
    const states = world.states(session, [bob])
    world.block(alice, bob)
    const change = world.service.relationChanged(appId, alice, bob)
    for (const answer of world.held.reverse()) answer()
    await change
    expect(await states).toEqual({ [bob]: false })
    world.pass(2)
    expect(world.eventsOf(session)).toEqual([])
  })

  it('sees a block although the contacts cannot be read at first: they are read again each second', async () => {
    world.makeContacts(alice, bob)
    world.open(bob)
    const session = world.open(alice)
    await world.states(session, [bob])
    world.block(alice, bob)
    world.failing = new Error('no database')
    await world.service.relationChanged(appId, bob, alice)
    world.pass(1)
    await turn()
    expect(world.failures).toEqual([world.failing, world.failing])
    expect(world.eventsOf(session)).toEqual([])
    world.failing = null
    world.pass(1)
    await turn()
    world.pass(2)
    expect(world.eventsOf(session)).toEqual([{ [bob]: false }])
    expect(world.isTicking).toBe(false)
  })

  it('sees a block that comes while contacts are read again for another change', async () => {
    for (const user of [bob, carol]) world.makeContacts(alice, user)
    for (const user of [bob, carol]) world.open(user)
    const session = world.open(alice)
    await world.states(session, [bob, carol])
    world.held = []
    world.block(alice, bob)
    const first = world.service.relationChanged(appId, bob, alice)
    world.block(alice, carol)
    const second = world.service.relationChanged(appId, carol, alice)
    while (world.held.length > 0) {
      world.held.shift()?.()
      await turn()
    }
    await Promise.all([first, second])
    world.pass(1)
    expect(world.eventsOf(session)).toEqual([{ [bob]: false, [carol]: false }])
  })

  it('gets the present states once it is no longer behind', async () => {
    for (const user of [bob, carol]) world.makeContacts(alice, user)
    const session = world.open(alice)
    await world.states(session, [bob, carol])
    world.behind.add(session)
    world.open(bob)
    const passing = world.open(carol)
    world.pass(1)
    world.close(passing)
    world.pass(15)
    world.behind.delete(session)
    world.pass(1)
    expect(world.eventsOf(session)).toEqual([{ [bob]: true }])
  })

  it('has no list when the contacts could not be read', async () => {
    const session = world.open(alice)
    await world.states(session, [bob])
    world.failing = new Error('no database')
    await expect(world.states(session, [carol])).rejects.toThrow('no database')
    expect(world.service.followedCount).toBe(0)
  })

  it('gets its event also when hundreds of lists change at once', async () => {
    const sessions = Array.from({ length: 250 }, (_, index) => world.open(100 + index))
    for (const { userId } of sessions) world.makeContacts(userId, bob)
    for (const session of sessions) await world.states(session, [bob])
    world.open(bob)
    world.pass(1)
    for (let turns = 0; turns < 5; turns++) await new Promise(setImmediate)
    for (const session of sessions) expect(world.eventsOf(session)).toEqual([{ [bob]: true }])
  })
})

it('no timer runs without a change to send', async () => {
  const session = world.open(alice)
  await world.states(session, [bob])
  world.pass(2)
  expect(world.isTicking).toBe(false)
  world.close(session)
  expect(world.isTicking).toBe(true)
  world.pass(12)
  expect(world.isTicking).toBe(false)
})

/** A step of a random history; numbers choose users, devices and sessions. */
const steps = fc.array(
  fc.record({
    kind: fc.constantFrom(
      'open',
      'close',
      'follow',
      'contact',
      'block',
      'behind',
      'pass',
      'settle',
    ),
    user: fc.integer({ min: 1, max: 3 }),
    other: fc.integer({ min: 1, max: 3 }),
    choice: fc.nat(11),
  }),
  { minLength: 30, maxLength: 80, size: 'max' },
)

it('whatever happens in whatever order, each client knows the states that its user may see', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (history) => {
      const random = new World()
      const open: Session[] = []
      /** What the client of each session knows, from answers and events. */
      const known = new Map<Session, Map<number, boolean>>()
      /** The users of each list who were contacts when it was sent. */
      const followed = new Map<Session, ReadonlySet<Int64>>()
      const calls: Promise<unknown>[] = []
      const read = () => {
        for (const [session, states] of known)
          for (const event of random.eventsOf(session))
            for (const [userId, online] of Object.entries(event)) {
              expect(states.has(Number(userId))).toBe(true)
              states.set(Number(userId), online)
            }
      }
      const settle = async () => {
        await Promise.all(calls.splice(0))
        read()
      }
      for (const { kind, user, other, choice } of history) {
        const session = open[choice % Math.max(open.length, 1)]
        if (kind === 'open') open.push(random.open(user, choice % 3 || null))
        else if (kind === 'pass') random.pass(choice)
        else if (kind === 'settle') await settle()
        else if (kind === 'contact' || kind === 'block') {
          if (kind === 'contact') random.makeContacts(user, other)
          else random.block(user, other)
          calls.push(random.service.relationChanged(appId, user, other))
        } else if (!session) continue
        else if (kind === 'close') {
          open.splice(open.indexOf(session), 1)
          random.close(session)
        } else if (kind === 'behind') {
          if (!random.behind.delete(session)) random.behind.add(session)
        } else {
          // The client waits for the answer before it asks again.
          await settle()
          const list = [user, other, 1]
          followed.set(
            session,
            new Set(list.filter((id) => random.areContacts(session.userId, id))),
          )
          const states = await random.states(session, list)
          random.eventsOf(session)
          known.set(session, new Map(Object.entries(states).map(([id, is]) => [Number(id), is])))
        }
        read()
      }
      random.behind.clear()
      await settle()
      random.pass(15)
      await settle()
      for (const [session, states] of known) {
        if (!random.registry.ofUser(appId, session.userId).includes(session)) continue
        for (const [userId, online] of states) {
          const isVisible =
            userId === session.userId ||
            (followed.get(session)?.has(userId) &&
              random.visible.has(`${session.userId} ${userId}`))
          expect(online).toBe(isVisible === true && random.registry.isOnline(appId, userId))
        }
      }
    }),
    { numRuns: 300 },
  )
})
