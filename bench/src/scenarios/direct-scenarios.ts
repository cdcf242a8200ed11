import type { Session } from '@hermod/testkit'
import { createImportedUsers } from '../population/imported-users.js'
import { findHistoryPages, pageLimit } from '../population/people.js'
import { broadcastScenarios } from './broadcast-scenarios.js'
import { groupScenarios } from './group-scenarios.js'
import {
  cycle,
  getRequest,
  postRequest,
  type Scenario,
  sendersOf,
  transactionsPerPlan,
} from './scenario.js'

const connections = 64
const loginConnections = 4

const recipientsPerUser = 30
// Together with the senders, more pairs than a run of usual length takes; a run that takes more has
// an error.
const recipientsOfStart = 10_000

const what = 'POST /message/send, one recipient, durable'

/** The warm-up is long enough to start all the conversations. */
const send: Scenario = {
  name: 'send',
  what: `${what}, everybody to ${recipientsPerUser} others in turn`,
  connections,
  needsConversations: false,
  targets: {
    sqlite: { share: 0.3, aim: 0.45, p99Ms: 50 },
    postgres: { share: 0.15, aim: 0.25, p99Ms: 50 },
  },
  prepare: async ({ appId, users, transactionIds }) => ({
    kind: 'send',
    ...sendersOf(appId, users),
    // In round r each user sends to the user r + 1 places further on.
    offsets: Array.from({ length: recipientsPerUser }, (_, index) => [index + 1]),
    firstTransaction: transactionIds(transactionsPerPlan),
  }),
}

/** A conversation takes two more rows than a message. */
const start: Scenario = {
  name: 'start',
  what: `${what}, each the first of its conversation`,
  connections,
  needsConversations: false,
  targets: {},
  prepare: async ({ appId, operator, users, transactionIds }) => ({
    kind: 'start',
    ...sendersOf(appId, users),
    recipientIds: await createImportedUsers(operator, appId, 'recipient', recipientsOfStart),
    firstTransaction: transactionIds(transactionsPerPlan),
  }),
}

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

/** Every message moves the sender's position, and every acknowledgement that of the receiver. */
const acknowledge: Scenario = {
  name: 'acknowledge',
  what: 'POST /message/send to one user by everybody, then GET /message/ack by the receivers, in turn',
  connections,
  needsConversations: true,
  targets: {},
  prepare: async ({ appId, users }) => {
    const receiverOf = (index: number) => users[(index + 1) % users.length] as Session
    const sends = users.map((user, index) =>
      postRequest(
        '/message/send',
        { type: 1, targets: [receiverOf(index).id], content_type: 0, content: 'text' },
        { appId, user },
      ),
    )
    const acknowledgements = users.map((user, index) =>
      getRequest(`/message/ack?conversation_id=${user.id}`, { appId, user: receiverOf(index) }),
    )
    return cycle([...sends, ...acknowledgements])
  },
}

/** The first sync of a device: the heads of all conversations with their newest messages. */
const sync: Scenario = {
  name: 'sync',
  what: 'POST /message/sync of a device that has nothing',
  connections,
  needsConversations: true,
  targets: {},
  prepare: async ({ appId, users }) =>
    cycle(users.map((user) => postRequest('/message/sync', { list: true }, { appId, user }))),
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

/**
 * In order of execution: reads see the conversations as filled, before the sends add to them, and
 * the groups come last.
 */
export const scenarios: readonly Scenario[] = [
  history,
  readScenario('profile', '/user/profile', readTargets),
  readScenario('settings', '/user/settings', readTargets),
  readScenario('unread', '/message/unread', readTargets),
  readScenario('conversations', '/message/conversation_list'),
  sync,
  acknowledge,
  send,
  start,
  login,
  ...groupScenarios,
  ...broadcastScenarios,
]

function loginRequest(appId: string, { id, password }: Session): string {
  return postRequest('/token/id', { user_id: id, password }, { appId })
}
