import type { Session } from '@hermod/testkit'
import { findHistoryPages, pageLimit, userCount } from '../population/people.js'
import { broadcastScenarios } from './broadcast-scenarios.js'
import { groupScenarios } from './group-scenarios.js'
import {
  cycle,
  getRequest,
  postRequest,
  type Scenario,
  sendersOf,
  transactionsPerRun,
} from './scenario.js'

const connections = 64
const loginConnections = 4

const recipientsPerUser = 30
const everyOther = offsetsUpTo(userCount - 1)

/** One list per round: in round r everybody sends to the user r + 1 places further on. */
function offsetsUpTo(count: number): readonly (readonly number[])[] {
  return Array.from({ length: count }, (_, index) => [index + 1])
}

function sends(
  name: string,
  what: string,
  offsets: readonly (readonly number[])[],
  targets: Scenario['targets'],
): Scenario {
  return {
    name,
    what: `POST /message/send, one recipient, durable, ${what}`,
    connections,
    needsConversations: false,
    targets,
    prepare: async ({ appId, users, transactionIds }) => {
      const senders = sendersOf(appId, users)
      return () => ({
        kind: 'send',
        ...senders,
        offsets,
        firstTransaction: transactionIds(transactionsPerRun),
      })
    },
  }
}

/** The warm-up is long enough to start all the conversations. */
const send = sends(
  'send',
  `everybody to ${recipientsPerUser} others in turn`,
  offsetsUpTo(recipientsPerUser),
  {
    sqlite: { share: 0.3, aim: 0.45, p99Ms: 50 },
    postgres: { share: 0.15, aim: 0.25, p99Ms: 50 },
  },
)

/** Most of these messages are the first of their conversation, which takes two rows more. */
const start = sends('start', 'everybody to everybody else in turn', everyOther, {})

const history: Scenario = {
  name: 'history',
  what: `GET /message/conversation, pages of ${pageLimit}, ten pages deep`,
  connections,
  needsConversations: true,
  targets: { sqlite: { share: 0.12, aim: 0.2 }, postgres: { share: 0.12, aim: 0.2 } },
  async prepare({ appId, users }) {
    const pages = await findHistoryPages(users)
    const path = (oppositeId: number, start: number) =>
      `/message/conversation?limit=${pageLimit}&msg_id_start=${start}&opposite_id=${oppositeId}`
    return cycle(
      pages.map(({ user, oppositeId, msgIdStart }) =>
        getRequest(path(oppositeId, msgIdStart), { appId, user }),
      ),
    )
  },
}

function readScenario(name: string, path: string, targets: Scenario['targets'] = {}): Scenario {
  return {
    name,
    what: `GET ${path}`,
    connections,
    needsConversations: true,
    targets,
    prepare: async ({ appId, users }) =>
      cycle(users.map((user) => getRequest(path, { appId, user }))),
  }
}

const readTargets = { sqlite: { share: 0.35, aim: 0.5 }, postgres: { share: 0.2, aim: 0.35 } }

const login: Scenario = {
  name: 'login',
  what: `POST /token/id (argon2id) on ${loginConnections} connections`,
  connections: loginConnections,
  needsConversations: false,
  targets: {},
  prepare: async ({ appId, users }) => cycle(users.map((user) => loginRequest(appId, user))),
}

/** In the order in which they run: the reads see the conversations as they were filled, before the sends add theirs, and the groups come last. */
export const scenarios: readonly Scenario[] = [
  history,
  readScenario('profile', '/user/profile', readTargets),
  readScenario('settings', '/user/settings', readTargets),
  readScenario('unread', '/message/unread', readTargets),
  readScenario('conversations', '/message/conversation_list'),
  send,
  start,
  login,
  ...groupScenarios,
  ...broadcastScenarios,
]

function loginRequest(appId: string, { id, password }: Session): string {
  return postRequest('/token/id', { user_id: id, password }, { appId })
}
