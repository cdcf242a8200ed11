/** The calls that one event of a group causes, when all members are connected and nothing fails. */
import { describe, expect, it } from 'vitest'
import { Random } from '../../../server/test/support/random.js'
import { Agenda } from './agenda.js'
import { differences } from './comparison.js'
import { Device } from './device.js'
import { ModelServer } from './model/model-server.js'
import { group, type ModelGroup } from './model/state.js'
import { dissolve, join, leave, recall, rename, store } from './model/writes.js'

/** Nothing is lost, late or repeated. */
class CalmRandom extends Random {
  override chance(): boolean {
    return false
  }
}

const team = 101
const author = 1
const members = 60
const newcomer = members + 1
const shown = ['pins', 'groups', `group.${team}`, `members.${team}`]

class Team {
  readonly agenda = new Agenda()
  readonly random = new CalmRandom(7)
  readonly server = new ModelServer({
    agenda: this.agenda,
    random: this.random,
    limits: { maxLogs: 20, maxItems: 100, maxRows: 1_000, maxChanges: 100, maxUserChanges: 100 },
    transactionTtlMs: 60_000,
    maxInFlight: 4,
  })
  readonly devices: Device[]

  constructor(wanted: readonly string[] = shown) {
    const ids = Array.from({ length: newcomer }, (_, index) => index + 1)
    for (const id of ids) this.server.addUser(id)
    this.server.addGroup(team, ids.slice(0, members), true)
    this.devices = ids.map(
      (userId) => new Device(this, { name: `user ${userId}`, userId, guid: null, wanted }),
    )
    this.agenda.run(60_000)
  }

  get group(): ModelGroup {
    return this.server.database.groups.get(team) as ModelGroup
  }

  get calls(): number {
    return [...this.server.calls.values()].reduce((sum, count) => sum + count, 0)
  }

  /** The users who call while something happens and in the minute after it, and when they do so. */
  callersAfter(event: () => void): { readonly users: number[]; readonly times: number[] } {
    const { server } = this
    const users = new Set<number>()
    const times: number[] = []
    const run = server.run.bind(server)
    server.run = (session, op, data) => {
      users.add(session.userId)
      times.push(server.now)
      return run(session, op, data)
    }
    event()
    this.agenda.run(60_000)
    return { users: [...users], times }
  }

  get differences(): string[] {
    return this.devices.flatMap((device) => differences(device, this.server))
  }

  post(content: string): void {
    const draft = { content, isSystem: false }
    const { database, now } = this.server
    this.server.commit(store(database, group(team), { senderId: author, now, draft }).write)
  }

  recall(seq: number): void {
    const { database, now } = this.server
    const write = recall(database, group(team), { seq, now, actorId: author })
    if (write) this.server.commit(write)
  }

  /** The calls of the minute after an event. */
  callsAfter(event: () => void): number {
    const before = this.calls
    event()
    this.agenda.run(60_000)
    return this.calls - before
  }
}

describe('an event of a group with 60 connected members', () => {
  it.each<[what: string, callers: number[], event: (world: Team) => void]>([
    ['a new name', [], ({ server, group }) => server.commit(rename(group, author, 'new'))],
    [
      'a new member',
      [newcomer],
      ({ server, group }) => server.commit(join(server.database, group, newcomer)),
    ],
    [
      'a member who leaves',
      [members],
      ({ server, group }) => server.commit(leave(group, members, members)),
    ],
    ['the recall of an unread message', [], (world) => world.recall(2)],
    ['the recall of the last message', [], (world) => world.recall(3)],
    [
      'the end of the group',
      [],
      ({ server, group }) => server.commit({ ...dissolve(group, author), userChanges: [] }),
    ],
  ])('is applied without a call of others: %s', (_what, callers, event) => {
    const world = new Team()
    for (const text of ['one', 'two', 'three']) world.post(text)
    world.agenda.run(60_000)
    expect(world.callersAfter(() => event(world)).users).toEqual(callers)
    expect(world.differences).toEqual([])
  })

  it('makes each member read once when it is missing', () => {
    const world = new Team()
    // The next event has the number after the next.
    world.group.version++
    const inMinute = world.callsAfter(() => world.server.commit(rename(world.group, author, 'new')))
    // The group, and the members with their pages of two.
    const each = 1 + 2 * Math.ceil(members / 2)
    expect(inMinute).toBeLessThanOrEqual(members * each)
    expect(inMinute).toBeGreaterThan(0)
    expect(world.differences).toEqual([])
  })

  it.each([
    ['that they show', shown],
    ['that they have not read', []],
  ])(
    'makes each member ask once, at a random time, for the count of a group %s when a message of before is recalled',
    (_, wanted) => {
      const world = new Team(wanted)
      world.post('one')
      world.agenda.run(10_000)
      for (const device of world.devices) device.leader.connection?.cut(true)
      world.post('two')
      world.agenda.run(60_000)
      const { users, times } = world.callersAfter(() => world.recall(2))
      expect(users).toHaveLength(members - 1)
      expect(times.length).toBeLessThanOrEqual(2 * members)
      expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(members)
      expect(world.differences).toEqual([])
    },
  )
})
