/** Reads that look at many rows, and pages of many bytes (rules A2b, A2b1). */
import { anyBackend, GatewayClient, isFullRun, type Session } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import {
  attackMs,
  behindProxy,
  flood,
  fromAttacker,
  Honest,
  sessionsOf,
  startAttacked,
} from '../support/attack.js'
import { aGroup } from '../support/groups/groups.js'
import { sendText, textTo } from '../support/messaging/messaging.js'
import { WatchedServer } from '../support/watched-server.js'

/** A user pays 11 tokens to have these groups read, and has 45; one comes back in a second. */
const groups = 5_000
const price = 11
const burst = 45
const limited = { HERMOD_RATE_LIMIT: 'on', HERMOD_USER_RATE: '1', HERMOD_USER_BURST: `${burst}` }
const calls = 12
/** Logs with 1.5 MB of messages each, of which a page holds none or 4 messages. */
const logsPerPage = 8
/** The server takes 170 MiB, and 480 MiB when it reads what does not fit. */
const maxPeakMiB = 320

/** Makes the users members of groups that nothing is sent to. */
async function joinGroups({ server, sql }: WatchedServer, users: readonly Session[]) {
  const numbers = `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${groups})`
  await sql.run(`insert into groups (app_id, group_id, type, name, avatar, description, owner_id,
      capacity, member_count, created_at, updated_at, members_changed_at)
    ${numbers} select '${server.appId}', i, 0, '', '', '', 1, 10, 2, 1, 1, 1 from n`)
  for (const { id } of users)
    await sql.run(`insert into group_members (app_id, group_id, user_id, joined_at)
      ${numbers} select '${server.appId}', i, ${id}, 1 from n`)
  await sql.run(`insert into conversations (app_id, low_id, high_id, seq, last_msg_id, created_at, last_recalled_seq)
    ${numbers} select '${server.appId}', i, i, 0, 0, 0, 0 from n`)
  for (const { id } of users)
    await sql.run(`insert into readers (app_id, user_id, low_id, high_id)
      ${numbers} select '${server.appId}', ${id}, i, i from n`)
}

/**
 * Expects that a user pays for calls, on a machine of any speed: one after another they succeed as
 * long as tokens are there, and after as many at the same time the user has none.
 * @param call returns the code of its answer
 */
async function expectPaid(call: () => Promise<number>): Promise<void> {
  const startedAt = performance.now()
  const codes: number[] = []
  for (let each = 0; each < calls; each++) codes.push(await call())
  const refilled = (performance.now() - startedAt) / 1_000
  expect(codes[0]).toBe(answerCode.ok)
  const answered = codes.filter((code) => code === answerCode.ok).length
  // The last one may leave a debt.
  expect((answered - 1) * price).toBeLessThan(burst + refilled)
  await Promise.all(Array.from({ length: calls }, call))
  expect(await call()).toBe(answerCode.too_many_requests)
}

// The service charges rows in one way, whatever the database is.
describe.each(anyBackend())('reads of users in many groups on $name', (backend) => {
  it('a user in 5,000 groups: syncs and sessions are paid by the groups that they read', async () => {
    await using watched = await WatchedServer.start(backend, { env: limited })
    const { server } = watched
    const [alice, bob, carol] = (await sessionsOf(server, 3)) as [Session, Session, Session]
    const { data } = await alice.api.succeed('POST', '/message/sync', { body: { after: '' } })
    await joinGroups(watched, [alice, bob])
    await sendText(carol.api, alice.id, 'something to sync')

    const body = { after: data.pos, limit: 1 }
    await expectPaid(async () => (await alice.api.call('POST', '/message/sync', { body })).code)

    await expectPaid(async () => {
      using client = await GatewayClient.connect(server.url)
      return (await client.open({ appId: server.appId, accessToken: bob.token })).code
    })
    expect((await bob.api.call('GET', '/user/profile')).code).toBe(answerCode.too_many_requests)
  })
})

if (isFullRun)
  it('large pages of 12 users: messages that do not fit take no memory', async () => {
    await using server = await startAttacked({ env: behindProxy })
    const honest = await Honest.on(server)
    const users = await sessionsOf(server, 12)
    const [owner, ...members] = users as [Session, ...Session[]]
    const admin = server.api.admin({ userId: owner.id })
    const have: object[] = []
    for (let number = 0; number < logsPerPage; number++) {
      const group = await aGroup(owner, { members })
      const body = { ...textTo([group], 'x'.repeat(60_000)), type: 2 }
      for (let message = 0; message < 25; message++)
        await admin.succeed('POST', '/message/send', { body })
      have.push({ log: { low_id: group, high_id: group, is_group: true }, change: 0 })
    }
    const read = (line: number) =>
      (users[line % users.length] as Session).api.call('POST', '/message/sync', {
        body: { after: '', limit: 1, have },
        ...fromAttacker,
      })
    const figures = await honest.beside('pages of 256 KiB', async () => {
      const codes = await flood({ ms: attackMs, lines: 48 }, read)
      expect(codes.get(answerCode.ok)).toBeGreaterThan(users.length)
    })
    // So many calls at once delay the honest ones in this process, so only memory is compared.
    expect(figures.failures).toEqual([])
    expect(figures.peakMiB).toBeLessThan(maxPeakMiB)
  })
