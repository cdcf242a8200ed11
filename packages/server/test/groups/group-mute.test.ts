/** What is unread to members who receive nothing at times (rule F8a), on both databases. */
import { anyBackend } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { receipts, type Speaker, sendToGroup, speakers } from '../support/groups/group-messaging.js'
import { aGroup, expectSuccess, groupCall } from '../support/groups/groups.js'
import { ownServer } from '../support/in-process-server.js'
import { recall } from '../support/messaging/message-operations.js'
import {
  acknowledge,
  contents,
  deleteConversation,
  history,
  integrityFaults,
  notify,
  unreadCounts,
} from '../support/messaging/messaging.js'

const [received, silent, notReceived] = [0, 1, 2]

/** When something was asked for, and when it was answered: a count of what was before. */
interface Interval {
  readonly asked: number
  readonly answered: number
}

/** A change of the mode, and how many messages were unread when it had been made. */
interface Change extends Interval {
  readonly isEntry: boolean
  readonly unread: number
}

/** Where in the order of the messages a change may have happened: how many messages were before it. */
function possiblePlaces(messages: readonly Interval[], { asked, answered }: Interval): number[] {
  const least = messages.findLastIndex((message) => message.answered < asked) + 1
  const next = messages.findIndex((message) => message.asked > answered)
  const most = next === -1 ? messages.length : next
  return Array.from({ length: most - least + 1 }, (_, index) => least + index)
}

/**
 * The places in the order of the messages at which the last change may have happened, when every
 * count is that of all messages outside of the times in which nothing was received.
 */
function lastPlaces(
  messages: readonly Interval[],
  changes: readonly Change[],
): ReadonlySet<number> {
  let places: ReadonlySet<number> = new Set([0])
  let counted = 0
  for (const change of changes) {
    const before = places
    const possible = possiblePlaces(messages, change)
    if (change.isEntry) {
      const more = change.unread - counted
      places = new Set(possible.filter((place) => before.has(place - more)))
      counted = change.unread
    } else places = new Set(possible.filter((place) => [...before].some((each) => each <= place)))
  }
  return places
}

describe.each(anyBackend())('members who receive nothing at times on $name', (backend) => {
  const server = ownServer(backend)
  let people: readonly Speaker[]
  let alice: Speaker
  let bob: Speaker
  let carol: Speaker

  beforeAll(async () => {
    people = await speakers(server, 6)
    ;[alice, bob, carol] = people as [Speaker, Speaker, Speaker]
  })

  afterAll(async () => {
    expect(await integrityFaults(server)).toEqual([])
  })

  const trio = () => aGroup(alice, { members: [bob, carol] })
  const mute = async (user: Speaker, group: number, msg_mute_mode: number | undefined) => {
    expectSuccess(await groupCall(user.api, '/group/msg/mute_mode', group, { msg_mute_mode }))
  }
  const unread = async (user: Speaker, group: number) => (await unreadCounts(user.api))[group] ?? 0
  /** By the owner. @returns their IDs */
  const say = async (group: number, count: number) => {
    const ids: number[] = []
    for (let each = 0; each < count; each++) ids.push(await sendToGroup(alice.api, group, 'x'))
    return ids as [number, ...number[]]
  }
  const setMembers = async (path: string, group: number, ...users: readonly Speaker[]) => {
    const user_list = users.map(({ id }) => id)
    expectSuccess(await groupCall(alice.api, path, group, { user_list }))
  }
  const gaps = async (group: number) =>
    (
      await server.sql.run(
        `select from_seq, to_seq from group_mute_gaps where group_id = ${group} order by to_seq`,
      )
    ).map(({ from_seq, to_seq }) => [Number(from_seq), Number(to_seq)])

  it('have read their own first message of a group, though they receive messages again meanwhile', async () => {
    const groups: number[] = []
    // One after the other: each locks the same members.
    for (let each = 0; each < 20; each++) groups.push(await trio())
    await Promise.all(
      groups.map(async (group) => {
        await mute(bob, group, notReceived)
        await Promise.all([mute(bob, group, received), sendToGroup(bob.api, group, 'first')])
      }),
    )
    const counts = await unreadCounts(bob.api)
    expect(groups.filter((group) => group in counts)).toEqual([])
  })

  it('keep as unread what was unread before, and nothing that came meanwhile', async () => {
    const group = await trio()
    await say(group, 1)
    await mute(bob, group, silent)
    await say(group, 1)
    expect(await unread(bob, group)).toBe(2)
    await mute(bob, group, notReceived)
    expect(await unread(bob, group)).toBe(2)
    await say(group, 3)
    expect(await unread(bob, group)).toBe(2)
    expect(await unread(carol, group)).toBe(5)
    await mute(bob, group, received)
    expect(await unread(bob, group)).toBe(2)
    await say(group, 1)
    expect(await unread(bob, group)).toBe(3)
    expect(await contents(bob.api, group)).toHaveLength(6)
    await acknowledge(bob.api, { peer: group })
    expect(await unread(bob, group)).toBe(0)
  })

  it('have nothing unread afterwards who had nothing unread before, and leave no gap', async () => {
    const group = await trio()
    await say(group, 2)
    await acknowledge(bob.api, { peer: group })
    await mute(bob, group, notReceived)
    await say(group, 2)
    expect(await unread(bob, group)).toBe(0)
    await mute(bob, group, silent)
    expect(await unread(bob, group)).toBe(0)
    await say(group, 1)
    expect(await unread(bob, group)).toBe(1)
    expect(await gaps(group)).toEqual([])
  })

  it('read up to a message before, inside and after what they did not receive', async () => {
    const group = await trio()
    const before = await say(group, 2)
    await mute(bob, group, notReceived)
    const first = await say(group, 3)
    await mute(bob, group, received)
    const between = await say(group, 2)
    await mute(bob, group, notReceived)
    const second = await say(group, 2)
    await mute(bob, group, received)
    const after = await say(group, 2)
    expect(await gaps(group)).toHaveLength(2)
    const left: number[] = []
    for (const message of [...before, ...first, ...between, ...second, ...after]) {
      await acknowledge(bob.api, { peer: group, message })
      left.push(await unread(bob, group))
    }
    expect(left).toEqual([5, 4, 4, 4, 4, 3, 2, 2, 2, 1, 0])
  })

  it('read while they receive nothing', async () => {
    const group = await trio()
    const [first] = await say(group, 2)
    await mute(bob, group, notReceived)
    const missed = await say(group, 2)
    await acknowledge(bob.api, { peer: group, message: first })
    expect(await unread(bob, group)).toBe(1)
    await acknowledge(bob.api, { peer: group, message: missed[0] })
    expect(await unread(bob, group)).toBe(0)
    await mute(bob, group, received)
    expect(await unread(bob, group)).toBe(0)
    await say(group, 1)
    expect(await unread(bob, group)).toBe(1)
  })

  it('have nothing unread once they have written', async () => {
    const group = await trio()
    await say(group, 2)
    await mute(bob, group, notReceived)
    await say(group, 1)
    await sendToGroup(bob.api, group, 'own')
    expect(await unread(bob, group)).toBe(0)
    await say(group, 1)
    await mute(bob, group, received)
    expect(await unread(bob, group)).toBe(0)
  })

  it('miss every recalled message, and every notification in their name, once', async () => {
    const group = await trio()
    const admin = server.api.admin({ userId: bob.id })
    const own = () => notify(admin, group, 'in the name of bob', { type: 2 })
    const recallAll = async (ids: readonly number[]) => {
      for (const id of ids) await recall(alice.api, group, id)
    }
    const before = await say(group, 3)
    await own()
    await mute(bob, group, notReceived)
    const missed = await say(group, 3)
    await own()
    expect(await unread(bob, group)).toBe(3)
    await recallAll([before[0], missed[0]])
    expect(await unread(bob, group)).toBe(2)
    await mute(bob, group, received)
    expect(await unread(bob, group)).toBe(2)
    const after = await say(group, 3)
    await own()
    await recallAll([missed[1] as number, after[0]])
    expect(await unread(bob, group)).toBe(4)
    expect(await unread(carol, group)).toBe(8)
    await mute(bob, group, notReceived)
    await recallAll(await say(group, 2))
    expect(await unread(bob, group)).toBe(4)
    await recallAll([before[1] as number])
    expect(await unread(bob, group)).toBe(3)
    await acknowledge(bob.api, { peer: group, message: missed[2] as number })
    expect(await unread(bob, group)).toBe(2)
  })

  it('begin anew when they leave and come back', async () => {
    const group = await trio()
    await say(group, 1)
    await mute(bob, group, notReceived)
    await say(group, 1)
    await mute(bob, group, received)
    await say(group, 1)
    await mute(bob, group, notReceived)
    expect(await gaps(group)).toHaveLength(1)
    await setMembers('/group/kick', group, bob)
    expect(await gaps(group)).toEqual([])
    await say(group, 1)
    await setMembers('/group/admin/member_join', group, bob)
    expect(await unread(bob, group)).toBe(0)
    await say(group, 2)
    expect(await unread(bob, group)).toBe(2)
    await mute(bob, group, received)
    expect(await unread(bob, group)).toBe(2)
  })

  it('delete the conversation while they receive nothing, and afterwards', async () => {
    const group = await trio()
    await say(group, 2)
    await mute(bob, group, notReceived)
    await say(group, 1)
    await deleteConversation(bob.api, group)
    await say(group, 1)
    await mute(bob, group, received)
    expect(await unread(bob, group)).toBe(0)
    expect(await contents(bob.api, group)).toHaveLength(1)
    await say(group, 1)
    await mute(bob, group, notReceived)
    await say(group, 1)
    await mute(bob, group, received)
    await say(group, 1)
    expect(await unread(bob, group)).toBe(2)
    await deleteConversation(bob.api, group)
    expect(await unread(bob, group)).toBe(0)
    await say(group, 1)
    expect(await unread(bob, group)).toBe(1)
  })

  it('make a message read, with a receipt, when they acknowledge one that they did not receive', async () => {
    const group = await trio()
    expectSuccess(
      await groupCall(alice.api, '/group/settings/enable_read_ack', group, { value: true }),
    )
    const config = JSON.stringify({ groupMemberList: [bob.id] })
    await say(group, 1)
    await mute(bob, group, notReceived)
    const missed = await sendToGroup(alice.api, group, 'missed', { config })
    await mute(bob, group, received)
    const statuses = async ({ api }: Speaker) =>
      (await history(api, group)).map(({ status }) => status)
    expect(await statuses(alice)).toEqual(['UNREAD', 'UNREAD'])
    expect(await statuses(bob)).not.toContain('READ')
    expect(await receipts(server.sql, group)).toEqual([])
    await acknowledge(bob.api, { peer: group, message: missed })
    expect(await statuses(alice)).toEqual(['READ', 'READ'])
    expect(await statuses(bob)).toEqual(['READ', 'READ'])
    expect(await receipts(server.sql, group)).toEqual([
      { reader: bob.id, users: [alice.id], message: missed },
    ])
  })

  it('leave no gap when the mode changes without a message, and none that was read', async () => {
    const group = await trio()
    await say(group, 1)
    const miss = async () => {
      await mute(bob, group, notReceived)
      await mute(bob, group, received)
      await mute(bob, group, notReceived)
      await say(group, 1)
      await mute(bob, group, received)
    }
    await miss()
    await miss()
    expect(await gaps(group)).toEqual([
      [1, 2],
      [2, 3],
    ])
    await acknowledge(bob.api, { peer: group })
    await say(group, 1)
    await miss()
    expect(await gaps(group)).toEqual([[4, 5]])
    expect(await unread(bob, group)).toBe(1)
  })

  it('have nothing unread in a group that was dissolved, and no gap is left', async () => {
    const group = await trio()
    await say(group, 1)
    await mute(bob, group, notReceived)
    await say(group, 1)
    await mute(bob, group, received)
    expect(await gaps(group)).toHaveLength(1)
    await alice.api.succeed('POST', '/group/destroy', { query: { group_id: group } })
    expect(await unread(bob, group)).toBe(0)
    expect(await gaps(group)).toEqual([])
  })

  it('count exactly what came outside of it, in one order of all that happened at once', async () => {
    const group = await trio()
    await setMembers('/group/admin/member_join', group, ...people.slice(3))
    let steps = 0
    const timed = async <T>(work: () => Promise<T>) => {
      const asked = ++steps
      const result = await work()
      return { asked, answered: ++steps, result }
    }
    const sent: (Interval & { readonly result: number })[] = []
    const changes: Change[] = []
    const seen: number[] = []
    let areWriting = true
    const leastChanges = 12
    const write = async ({ api }: Speaker) => {
      for (let round = 0; round < 80 || changes.length < leastChanges; round++)
        sent.push(await timed(() => sendToGroup(api, group, 'x')))
    }
    const change = async (isEntry: boolean) => {
      const { asked, answered } = await timed(() =>
        mute(bob, group, isEntry ? notReceived : received),
      )
      changes.push({ isEntry, asked, answered, unread: await unread(bob, group) })
      const next = sent.length + 4
      while (areWriting && sent.length < next) await unread(bob, group)
      if (isEntry) expect(await unread(bob, group)).toBe(changes.at(-1)?.unread)
    }
    const alternate = async () => {
      while (areWriting) for (const isEntry of [true, false]) await change(isEntry)
    }
    const look = async () => {
      while (areWriting) seen.push(await unread(bob, group))
    }
    sent.push(await timed(() => sendToGroup(alice.api, group, 'begins')))
    const writeAll = async () => {
      await Promise.all([alice, carol, ...people.slice(3)].map(write)).finally(() => {
        areWriting = false
      })
    }
    await Promise.all([writeAll(), alternate(), look()])
    expect(seen).toEqual(seen.toSorted((a, b) => a - b))
    const messages = sent.toSorted((a, b) => a.result - b.result)
    expect((await history(bob.api, group)).map(({ msg_id }) => msg_id)).toEqual(
      messages.map(({ result }) => result).toReversed(),
    )
    const counted = changes.findLast(({ isEntry }) => isEntry)?.unread ?? 0
    const lastPlace = messages.length - ((await unread(bob, group)) - counted)
    expect([...lastPlaces(messages, changes)]).toContain(lastPlace)
  })
})
