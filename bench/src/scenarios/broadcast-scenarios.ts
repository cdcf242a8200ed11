/** Cost of a message to all users, for its sender and for readers. */

import { broadcastBody, broadcastCount } from '../population/broadcasts.js'
import { findHistoryPages, pageLimit } from '../population/people.js'
import type { Population } from '../population/population.js'
import { cycle, getRequest, postRequest, type Scenario } from './scenario.js'

const connections = 64
const pagesDeep = 10

/** One after another, because each broadcast waits for the previous one. */
const broadcast: Scenario = {
  name: 'broadcast',
  what: 'POST /message/broadcast, durable, in an application of very many users',
  connections: 1,
  needsConversations: false,
  targets: { sqlite: { p99Ms: 50 }, postgres: { p99Ms: 50 } },
  async prepare({ crowd }) {
    const { appId, adminToken } = await crowd()
    const caller = { appId, user: { id: 0, token: adminToken } }
    return cycle([postRequest('/message/broadcast', broadcastBody, caller)])
  },
}

type ReaderApp = Pick<Population, 'appId' | 'users'>

/** The same read in an application without broadcasts and in one with them, in turns. */
function pair(
  name: string,
  what: string,
  requests: (reader: ReaderApp, hasBroadcasts: boolean) => Promise<string[]>,
): Scenario[] {
  const set = `broadcast-${name}`
  const common = { set, connections, needsConversations: true }
  const target = { ofOther: { name: `${set}-none`, share: 0.8 } }
  return [
    {
      ...common,
      name: `${set}-none`,
      what: `${what}, without broadcasts`,
      targets: {},
      prepare: async (population) => cycle(await requests(population, false)),
    },
    {
      ...common,
      name: `${set}-many`,
      what: `${what}, with ${broadcastCount} broadcasts`,
      targets: { sqlite: target, postgres: target },
      prepare: async ({ broadcasts }) => cycle(await requests(await broadcasts(), true)),
    },
  ]
}

function reads(path: string) {
  return async ({ appId, users }: ReaderApp) =>
    users.map((user) => getRequest(path, { appId, user }))
}

/** Pages of equal length: of the conversation with the next user, or of that with the system. */
async function historyRequests(
  { appId, users }: ReaderApp,
  hasBroadcasts: boolean,
): Promise<string[]> {
  const path = (oppositeId: number, start: number) =>
    `/message/conversation?limit=${pageLimit}&msg_id_start=${start}&opposite_id=${oppositeId}`
  if (!hasBroadcasts) {
    const pages = await findHistoryPages(users)
    return pages.map(({ user, oppositeId, msgIdStart }) =>
      getRequest(path(oppositeId, msgIdStart), { appId, user }),
    )
  }
  const starts: number[] = [0]
  while (starts.length < pagesDeep) {
    const { data } = await (users[0] as ReaderApp['users'][number]).api.succeed(
      'GET',
      path(0, starts.at(-1) ?? 0),
    )
    starts.push(data.next_msg_id)
  }
  return starts.flatMap((start) => users.map((user) => getRequest(path(0, start), { appId, user })))
}

/** A broadcast, and reads with and without broadcasts. */
export const broadcastScenarios: readonly Scenario[] = [
  broadcast,
  ...pair('history', `GET /message/conversation, pages of ${pageLimit}`, historyRequests),
  ...pair('unread', 'GET /message/unread', reads('/message/unread')),
  ...pair('list', 'GET /message/conversation_list', reads('/message/conversation_list')),
]
