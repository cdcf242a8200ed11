/** Separate applications for messages to all users. */
import { Api } from '@hermod/testkit'
import { createImportedUsers } from './imported-users.js'
import { createConversations, makeUsers } from './people.js'
import type { BroadcastReaders, Crowd, Population } from './population.js'

const broadcastsAtOnce = 16
/** Broadcasts of the application of {@link makeBroadcastReaders}. */
export const broadcastCount = 1_000

type Base = Omit<Population, 'groups' | 'broadcasts' | 'crowd'>

/** Creates an application with the usual users and conversations, and unread broadcasts. */
export async function makeBroadcastReaders(
  { api, operator, transactionIds }: Base,
  onProgress: (text: string) => void,
): Promise<BroadcastReaders> {
  const own = await apiOfNewApp(api, operator)
  const { appId, url } = own.options
  onProgress(`filling an application with ${broadcastCount} broadcasts`)
  const users = await makeUsers(own)
  await createConversations(Number(new URL(url).port), {
    appId,
    users: users.map(({ id, token }) => ({ id, token })),
    firstTransaction: transactionIds(1_000_000),
  })
  for (let sent = 0; sent < broadcastCount; sent += broadcastsAtOnce)
    await Promise.all(
      Array.from({ length: Math.min(broadcastsAtOnce, broadcastCount - sent) }, () =>
        own.admin().succeed('POST', '/message/broadcast', { body: broadcastBody }),
      ),
    )
  return { appId, users }
}

/** @throws Error when a broadcast does not reach all users */
export async function makeCrowd(
  { api, operator, crowdSize }: Base,
  onProgress: (text: string) => void,
): Promise<Crowd> {
  const own = await apiOfNewApp(api, operator)
  const { appId, adminToken } = own.options
  onProgress(`importing ${crowdSize} users`)
  await createImportedUsers(operator, appId, 'crowd', crowdSize)
  const { data } = await own.admin().succeed('POST', '/message/broadcast', { body: broadcastBody })
  if (data.send_num !== crowdSize)
    throw new Error(`a broadcast to ${crowdSize} users is for ${data.send_num}`)
  return { appId, adminToken }
}

/** Parameters of every broadcast. */
export const broadcastBody = { type: 1, content_type: 0, content: 'x'.repeat(100) }

/**
 * Creates an application.
 * @returns a caller with its Admin token
 */
export async function apiOfNewApp(api: Api, operator: Api): Promise<Api> {
  const { data } = await operator.succeed('POST', '/operator/v1/app/create')
  const { url } = api.options
  return new Api({ url, appId: data.app_id, adminToken: data.admin_token })
}
