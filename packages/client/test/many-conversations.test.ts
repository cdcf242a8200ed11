/**
 * A user with many conversations, a client with all of them on its screen, and a server with its
 * default limits.
 */
import { type ServerProcess, startServer, waitFor } from '@hermod/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createImportedUsers } from '../../../bench/src/population/imported-users.js'
import { defaultLimits } from '../../server/test/support/attack.js'
import { createClientWith } from '../src/create-client.js'
import { nodePorts } from '../src/node/node-ports.js'

const peerCount = 300
const groupCount = 200

let server: ServerProcess
let me: { readonly id: number; readonly token: string }
let peers: readonly number[]

beforeAll(async () => {
  server = await startServer({ env: defaultLimits })
  const { api, appId } = server
  me = await api.newSession()
  peers = await createImportedUsers(api.as(server.operatorToken), appId, 'peer', peerCount)
  const own = api.admin({ userId: me.id })
  const post = async (path: string, body: object) =>
    (await own.succeed('POST', path, { body })).data
  await post('/user/add_roster', { list: peers })
  const text = { type: 1, targets: peers, content_type: 0, content: 'hello' }
  await post('/message/send', text)
  const names = Array.from({ length: groupCount }, (_, index) => `group ${index}`)
  await Promise.all(names.map((name) => post('/group/create', { name })))
})
afterAll(() => server?.[Symbol.asyncDispose]())

/** A client with its lists on screen, the operations that it has called, and the refusals of the limit. */
function openApp() {
  const calls: { readonly op: string; readonly data: { readonly user_ids?: number[] } }[] = []
  const refusals: string[] = []
  const client = createClientWith(
    { url: server.url, appId: server.appId, token: () => me.token, deviceGuid: 'page' },
    {
      ...nodePorts,
      connect(url, listener) {
        const connection = nodePorts.connect(url, {
          ...listener,
          frame(text) {
            if (JSON.parse(text).code === 42_900) refusals.push(text)
            listener.frame(text)
          },
        })
        return {
          ...connection,
          send(text) {
            calls.push(JSON.parse(text))
            connection.send(text)
          },
        }
      },
    },
  )
  client.conversations.subscribe(() => {})
  client.contacts.list.subscribe(() => {})
  return { client, calls, refusals }
}

const until = (what: string, isReached: () => boolean) =>
  waitFor(isReached, { what, timeoutMs: 20_000 })

it('with 500 conversations no call waits for the limits, at the start, at a reload and when messages reorder the list', async () => {
  for (const start of ['first', 'reload']) {
    const { client, calls, refusals } = openApp()
    const subscriptions = () => calls.filter(({ op }) => op === 'presence.subscribe')
    const list = () => client.conversations.getSnapshot()
    await client.connect()
    await until(`the names at the ${start} start`, () => {
      const { isComplete, conversations } = list()
      const named = conversations.filter(({ title }) => title !== '')
      return isComplete && named.length === peerCount + groupCount
    })
    // The list of conversations comes in pages.
    const isFollowingAll = () => subscriptions().at(-1)?.data.user_ids?.length === peerCount
    await until('the subscription for all', isFollowingAll)
    const { length: subscribed } = subscriptions()

    for (const [index, peer] of peers.slice(0, 50).entries()) {
      const conversation = client.direct(peer)
      const text = `${start} ${index}`
      if (index % 2 === 0) await conversation.send(text)
      else {
        const body = { type: 1, targets: [me.id], content_type: 0, content: text }
        await server.api.admin({ userId: peer }).succeed('POST', '/message/send', { body })
      }
      await until(text, () => list().conversations[0]?.lastMessage?.text === text)
    }
    await until('the answers', () =>
      list().conversations.every(({ lastMessage }) => lastMessage?.status !== 'sending'),
    )
    expect(refusals).toEqual([])
    expect(subscriptions()).toHaveLength(subscribed)
    expect(subscribed).toBeLessThanOrEqual(5)
    await client.close()
  }
}, 60_000)
