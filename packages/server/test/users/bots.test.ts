/** Programs as users: where they are shown, and what they do not get. */
import { PushSimulator } from '@hermod/push-simulator'
import { anyBackend, type Session } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aGroup } from '../support/groups/groups.js'
import { ownServer } from '../support/in-process-server.js'
import { broadcast } from '../support/messaging/broadcasts.js'
import { sendText } from '../support/messaging/messaging.js'
import { MessagePushes } from '../support/push/message-pushes.js'

describe.each(anyBackend())('bots on $name', (backend) => {
  const server = ownServer(backend)
  let simulator: PushSimulator
  let pushes: MessagePushes
  let alice: Session

  beforeAll(async () => {
    simulator = await PushSimulator.start()
    pushes = new MessagePushes(server, simulator, server.sql)
    await pushes.setCertificates(['ios_gw'])
    alice = await server.api.newSession()
  })
  afterAll(async () => {
    await simulator?.[Symbol.asyncDispose]()
  })

  async function aBot(subject: string): Promise<Pick<Session, 'id' | 'api'>> {
    const body = { issuer: 'app', subject, create: { is_bot: true } }
    const { data } = await server.api.admin().succeed('POST', '/token/issue', { body })
    return { id: data.user_id, api: server.api.as(data.token) }
  }

  it('bot: profile, contacts and member entries say that it is one', async () => {
    const bot = await aBot('shown')
    const group = await aGroup(alice, { members: [bot] })
    const profile = await bot.api.succeed('GET', '/user/profile')
    expect(profile.data).toMatchObject({ user_id: bot.id, is_bot: true })
    const query = { user_id: bot.id }
    expect((await alice.api.succeed('GET', '/roster/id', { query })).data).toMatchObject({
      is_bot: true,
    })
    const own = await alice.api.succeed('GET', '/roster/id', { query: { user_id: alice.id } })
    expect(own.data).toMatchObject({ is_bot: false })
    const { data } = await alice.api.succeed('POST', '/group/members/info', {
      body: { group_id: group, user_list: [alice.id, bot.id] },
    })
    expect(data).toMatchObject([
      { user_id: alice.id, is_bot: false },
      { user_id: bot.id, is_bot: true },
    ])
  })

  it('bot: broadcasts do not count it', async () => {
    const before = await broadcast(server.api.admin(), 'one')
    await aBot('uncounted')
    await server.api.register()
    expect(await broadcast(server.api.admin(), 'two')).toBe(before + 1)
  })

  it('bot: it writes more messages piece by piece at once than a user', async () => {
    const bot = await aBot('writer')
    const stream = { stream: { kind: 'text' } }
    for (let count = 0; count < 11; count++) await sendText(bot.api, alice.id, '…', stream)
  })

  it('bot: a message to it is not pushed', async () => {
    const ben = await pushes.receiver()
    await server.sql.run(`update users set is_bot = 1 where user_id = ${ben.id}`)
    const message = await sendText(alice.api, ben.id, 'text')
    expect(await pushes.outcome(message, ben.id)).toBe('bot')
    expect(pushes.shownTo(ben)).toEqual([])
  })
})
