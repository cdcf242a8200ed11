/** Creates the data of the scenarios through the API, as clients would. */
import type { Api, Session } from '@hermod/testkit'
import type { SendPlan } from '../load/plan.js'
import { mapConcurrently } from '../measure/map-concurrently.js'
import { fill } from './fill.js'

/** Users of a population. */
export const userCount = 300
const registerBatch = 50
const loginsAtOnce = 4
const readersAtOnce = 16

/** Entries of a page that scenarios read. */
export const pageLimit = 20
const pagesPerConversation = 10
// Each neighbour pair gets this many messages from both sides.
const messagesPerSide = (pageLimit * pagesPerConversation) / 2 + 5
// Offsets of the users that every user writes to once, so that lists have a usual length.
const acquaintances = Array.from({ length: 10 }, (_, index) => index + 2)

/** Creates users, logs them in, and changes a setting of each. */
export async function makeUsers(api: Api): Promise<Session[]> {
  const password = 'correct horse battery'
  const list = Array.from({ length: userCount }, (_, index) => ({
    username: `bench_${index}`,
    password,
  }))
  const users = []
  for (let start = 0; start < userCount; start += registerBatch) {
    const batch = list.slice(start, start + registerBatch)
    const { data } = await api
      .admin()
      .succeed('POST', '/user/register/batch', { body: { list: batch } })
    users.push(
      ...(data as { user_id: number; username: string; success: boolean; reason?: string }[]),
    )
  }
  const failed = users.find(({ success }) => !success)
  if (failed) throw new Error(`registering ${failed.username} failed: ${failed.reason}`)
  return mapConcurrently(users, loginsAtOnce, async ({ user_id, username }) => {
    const session = await api.login({ id: user_id, username, password })
    await session.api.succeed('POST', '/user/sounds', { body: { value: true } })
    return session
  })
}

/**
 * Creates conversations of more than 200 messages between neighbours, and short ones with 20 others
 * each, half of them unread.
 */
export async function createConversations(
  port: number,
  plan: Omit<SendPlan, 'kind' | 'offsets' | 'requests'>,
): Promise<void> {
  const long = userCount * messagesPerSide
  await fill(port, { ...plan, kind: 'send', offsets: [[1, userCount - 1]], requests: long })
  await fill(port, {
    ...plan,
    kind: 'send',
    offsets: [acquaintances],
    requests: userCount,
    firstTransaction: plan.firstTransaction + long,
  })
}

/** A page of a conversation with {@link pageLimit} messages. */
export interface FullPage {
  readonly user: Session
  readonly oppositeId: number
  readonly msgIdStart: number
}

/**
 * Returns the pages of every user's conversation with the next user: first the newest page of all
 * users, then their second one, and so on.
 */
export async function findHistoryPages(users: readonly Session[]): Promise<FullPage[]> {
  const chains = await mapConcurrently(users, readersAtOnce, (user, index) =>
    findPages(user, (users[(index + 1) % users.length] ?? user).id),
  )
  return Array.from({ length: pagesPerConversation }, (_, page) =>
    chains.map((chain) => chain[page] as FullPage),
  ).flat()
}

async function findPages(user: Session, oppositeId: number): Promise<FullPage[]> {
  const pages: FullPage[] = []
  let msgIdStart = 0
  while (pages.length < pagesPerConversation) {
    const query = { opposite_id: oppositeId, limit: pageLimit, msg_id_start: msgIdStart }
    const { data } = await user.api.succeed('GET', '/message/conversation', { query })
    if (data.messages.length !== pageLimit)
      throw new Error(
        `a history page holds ${data.messages.length} messages instead of ${pageLimit}`,
      )
    pages.push({ user, oppositeId, msgIdStart })
    msgIdStart = data.next_msg_id
  }
  return pages
}
