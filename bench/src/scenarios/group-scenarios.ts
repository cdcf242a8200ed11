/** Cost of a large group. */
import type { Session } from '@hermod/testkit'
import type { GroupSendPlan } from '../load/plan.js'
import { load } from '../load/processes.js'
import { smallGroupSize } from '../population/groups.js'
import type { GroupWorld, Population } from '../population/population.js'
import {
  cycle,
  getRequest,
  postRequest,
  type Scenario,
  sendersOf,
  transactionsPerPlan,
} from './scenario.js'

const connections = 64
// A page or a change is measured by the time that one caller waits, not by the length of a queue.
const fewConnections = 4
const latency = { p99Ms: 50 }

/** The same three members send to both groups, so that only the number of other members differs. */
function groupSend(size: 'small' | 'large', targets: Scenario['targets']): Scenario {
  return {
    name: `group-send-${size}`,
    set: 'group-send',
    what: `POST /message/send to a ${size} group, durable, ${smallGroupSize} of its members in turn`,
    connections,
    needsConversations: false,
    targets,
    prepare: async (population) => {
      const world = await population.groups()
      const groupId = size === 'small' ? world.smallId : world.largeId
      return groupSendPlan(population, world, groupId)
    },
  }
}

function groupSendPlan(
  { appId, transactionIds }: Population,
  { senders }: GroupWorld,
  groupId: number,
): GroupSendPlan {
  return {
    kind: 'groupSend',
    ...sendersOf(appId, senders),
    groupId,
    firstTransaction: transactionIds(transactionsPerPlan),
  }
}

const withinTenPercent = { ofOther: { name: 'group-send-small', share: 0.9 }, ...latency }

/** Unread counts of members who only read, after the sends. */
const groupUnread: Scenario = {
  name: 'group-unread',
  what: 'GET /message/unread of other members of the large group',
  connections,
  needsConversations: false,
  targets: { sqlite: latency, postgres: latency },
  prepare: async (population) => {
    const world = await population.groups()
    const counts = () => Promise.all(world.readers.map((reader) => unreadOf(reader, world.largeId)))
    if ((await counts()).every((count) => count === 0)) await sendSome(population, world)
    const distinct = new Set(await counts())
    if (distinct.size !== 1 || distinct.has(0))
      throw new Error(`members of one group have different unread counts: ${[...distinct].join()}`)
    return cycle(
      world.readers.map((user) => getRequest('/message/unread', { appId: population.appId, user })),
    )
  },
}

async function unreadOf({ api }: Session, groupId: number): Promise<number> {
  const { data } = await api.succeed('GET', '/message/unread')
  const entries = data as { conversation_id: { uid: number }; num: number }[]
  return entries.find(({ conversation_id }) => conversation_id.uid === groupId)?.num ?? 0
}

async function sendSome(population: Population, world: GroupWorld): Promise<void> {
  const plan = { ...groupSendPlan(population, world, world.largeId), requests: 100 }
  const port = Number(new URL(population.api.options.url).port)
  const { errors, errorSamples } = await load({
    port,
    plan,
    connections: fewConnections,
    warmUpMs: 0,
    measureMs: null,
    minBodyBytes: 0,
  })
  if (errors > 0) throw new Error(`sending to the large group failed: ${errorSamples.join('\n')}`)
}

const groupInfo: Scenario = {
  name: 'group-info',
  what: 'GET /group/info of the large group',
  connections,
  needsConversations: false,
  targets: { sqlite: latency, postgres: latency },
  prepare: async ({ appId, groups }) => {
    const { largeId, readers } = await groups()
    return cycle(
      readers.map((user) => getRequest(`/group/info?group_id=${largeId}`, { appId, user })),
    )
  },
}

const pageLength = 200
const pageTarget = { maxMs: 20 }

/** @param from start of the pages in the list, 0 to 1; they are a tenth of it, in a mixed order */
function memberPages(depth: string, from: number): Scenario {
  return {
    name: `member-page-${depth}`,
    set: 'member-page',
    what: `GET /group/member_list of the large group, pages of ${pageLength}, ${depth} cursors`,
    connections: fewConnections,
    needsConversations: false,
    targets: { sqlite: pageTarget, postgres: pageTarget },
    prepare: async ({ appId, groups }) => {
      const { largeId, readers } = await groups()
      const cursors = await findCursors(readers[0] as Session, largeId)
      const pages = Math.ceil(cursors.length / 10)
      const start = Math.min(Math.round(cursors.length * from), cursors.length - pages)
      const paths = mixed(cursors.slice(start, start + pages)).map((cursor) =>
        pagePath(largeId, cursor),
      )
      return cycle(
        paths.map((path, index) =>
          getRequest(path, { appId, user: readers[index % readers.length] as Session }),
        ),
      )
    },
  }
}

function pagePath(groupId: number, cursor: string): string {
  return `/group/member_list?${new URLSearchParams({ group_id: String(groupId), limit: String(pageLength), cursor })}`
}

/** Returns the start of each full page of the list. */
async function findCursors({ api }: Session, groupId: number): Promise<string[]> {
  const cursors: string[] = []
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const page = await api.succeed<unknown[]>('GET', pagePath(groupId, cursor))
    if (page.data.length === pageLength) cursors.push(cursor)
    cursor = page.cursor as string | undefined
  }
  return cursors
}

const golden = (Math.sqrt(5) - 1) / 2

/** Returns the items in a shuffled order that is the same in every run. */
function mixed<T>(items: readonly T[]): T[] {
  const places = items.map((item, index) => ({ item, place: (index * golden) % 1 }))
  return places.sort((a, b) => a.place - b.place).map(({ item }) => item)
}

/**
 * One connection, so that a user has joined before it leaves, and has left before it joins again.
 */
const groupJoin: Scenario = {
  name: 'group-join',
  what: 'POST /group/admin/member_join of one user into the large group and /group/kick, in turn, durable',
  connections: 1,
  needsConversations: false,
  failureText: '"result":"fail"',
  targets: { sqlite: latency, postgres: latency },
  prepare: async ({ appId, groups }) => {
    const { largeId, senders, outsiderIds } = await groups()
    const caller = { appId, user: senders[0] as Session }
    return cycle(
      outsiderIds.flatMap((user) =>
        ['/group/admin/member_join', '/group/kick'].map((path) =>
          postRequest(path, { group_id: largeId, user_list: [user] }, caller),
        ),
      ),
    )
  },
}

/** The sends come first, since they make the unread messages. */
export const groupScenarios: readonly Scenario[] = [
  groupSend('small', { sqlite: latency, postgres: latency }),
  groupSend('large', { sqlite: withinTenPercent, postgres: withinTenPercent }),
  groupUnread,
  groupInfo,
  memberPages('shallow', 0),
  memberPages('middle', 0.45),
  memberPages('deep', 0.9),
  groupJoin,
]
