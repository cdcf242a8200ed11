/** Presence lists: what they cost, and what is kept of them (rules A2b1, E15). */
import { GatewayClient, isFullRun, type ServerProcess, type Session } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { expectUnharmed, Honest, metric, sessionsOf, startAttacked } from '../support/attack.js'

const followers = isFullRun ? 110 : 2
const sessionsPerUser = 32
const listLength = 500

/** IDs that no user has; each list has its own. */
function inventedIds(list: number): number[] {
  return Array.from({ length: listLength }, (_, index) => 1_000_000_000 + list * listLength + index)
}

async function open({ url, appId }: ServerProcess, { token }: Session): Promise<GatewayClient> {
  const client = await GatewayClient.connect(url)
  await client.open({ appId, accessToken: token })
  return client
}

describe('presence lists', () => {
  it.skipIf(process.platform !== 'linux')(
    'presence lists of invented users: none of them is kept',
    { timeout: 300_000 },
    async () => {
      await using server = await startAttacked({ env: { HERMOD_RATE_LIMIT: 'off' } })
      const honest = await Honest.on(server)
      const users = await sessionsOf(server, followers)
      const clients: GatewayClient[] = []
      const figures = await honest.beside('presence lists of invented users', async () => {
        for (let round = 0; round < sessionsPerUser; round++)
          for (const user of users) {
            const client = await open(server, user)
            const user_ids = inventedIds(clients.push(client))
            await client.succeed('presence.subscribe', { user_ids })
          }
      })
      expect(await metric(server, 'hermod_gateway_sessions')).toBe(followers * sessionsPerUser)
      expect(await metric(server, 'hermod_presence_followed_users')).toBe(0)
      for (const client of clients) client[Symbol.dispose]()
      expectUnharmed(figures)
    },
  )

  it('presence lists: are paid as look-ups, so that a list of 500 may be sent again and again', async () => {
    await using server = await startAttacked()
    const [alice] = (await sessionsOf(server, 1)) as [Session]
    using client = await open(server, alice)
    for (let list = 0; list < 20; list++) {
      const { code } = await client.call('presence.subscribe', { user_ids: inventedIds(list) })
      expect(code).toBe(answerCode.ok)
    }
  })
})
