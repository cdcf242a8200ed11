/** Failovers of PostgreSQL to a standby, behind one address. */
import {
  GatewayClient,
  isFullRun,
  memoryDisk,
  PostgresCluster,
  type ServerProcess,
  startServer,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { StallingProxy } from '../support/database/stalling-proxy.js'
import { sendText, textTo } from '../support/messaging/messaging.js'

const restartCode = 75
const patience = { timeoutMs: 20_000 }

interface CheckFault {
  readonly check: string
  readonly app_id: string
  readonly detail: string
}

async function faultsOf(
  { api, operatorToken }: ServerProcess,
  body = {},
): Promise<readonly CheckFault[]> {
  const { data } = await api.succeed<{ readonly faults: readonly CheckFault[] }>(
    'POST',
    '/operator/v1/check',
    { token: operatorToken, body },
  )
  return data.faults
}

function failover(): void {
  it('killed and started again: sessions stay; failed over with loss: a new history, 4008, code 75, and a fault until it is acknowledged', {
    timeout: 120_000,
  }, async () => {
    await using primary = await PostgresCluster.start({
      folder: memoryDisk(),
      settings: { fsync: 'off', full_page_writes: 'off' },
    })
    const database = await primary.createDatabase()
    const name = new URL(database.url).pathname.slice(1)
    await using standby = await primary.startStandby()
    const { proxy, url: databaseUrl } = await StallingProxy.start(database.url)
    await using _ = proxy
    const options = { databaseUrl, env: { HERMOD_SECRET_KEY: 'k'.repeat(40) } }
    await using node = await startServer(options)
    await using other = await startServer({
      ...options,
      ...{ adminToken: node.adminToken, operatorToken: node.operatorToken },
    })
    const alice = await node.api.newSession()
    const bob = await node.api.newSession()
    using phone = await GatewayClient.connect(node.url)
    const { appId } = node
    await phone.open({ appId, accessToken: bob.token })
    const send = (text: string) => sendText(alice.api, bob.id, text)
    const sendAgain = (text: string) =>
      waitFor(() => send(text).catch(() => false as const), { what: `"${text}" sent`, ...patience })
    const receives = (text: string) =>
      phone.next(({ data }) => (data as { content?: string })?.content === text, patience)

    const read = () => alice.api.call('GET', '/user/profile')

    // A crash without loss.
    await send('one')
    await receives('one')
    await primary.kill9()
    await primary.restart()
    await sendAgain('two')
    expect((await read()).code).toBe(200)
    await receives('two')
    expect(phone.ended).toBeNull()

    // The standby lags, and it still only reads when the address moves.
    await primary.waitForStandby(standby)
    await standby.detach()
    const lost = await send('lost')
    await receives('lost')
    await primary.kill9()
    proxy.moveTo(standby.urlOf(name))
    const reads = [await read(), await read(), await read()]
    expect(reads.map(({ code }) => code)).toEqual(reads.map(() => answerCode.storage_failed))
    expect([phone.ended, node.output().includes('lost events')]).toEqual([null, false])
    await standby.promote()

    expect((await phone.closed(patience)).code).toBe(4008)
    expect([(await node.exited).code, (await other.exited).code]).toEqual([
      restartCode,
      restartCode,
    ])
    const losses = [node, other].flatMap(
      (each) => each.output().match(/.*has lost events.*/g) ?? [],
    )
    expect(losses.filter((line) => 'epoch' in JSON.parse(line))).toHaveLength(1)
    for (const line of losses)
      expect(JSON.parse(line).lost).toEqual([
        expect.objectContaining({ app: node.appId, time: expect.stringMatching(/^2/) }),
      ])

    // It ended by itself, as it should; its folder is not kept.
    await other.kill9()
    await using again = await node.startAgain()
    const [fault, ...others] = await faultsOf(again)
    expect(others).toEqual([])
    expect(fault).toMatchObject({ check: 'lost_history', app_id: again.appId })
    expect(await faultsOf(again, { acknowledge: true })).toEqual([])
    expect(await faultsOf(again)).toEqual([])
    // IDs go on above those of what was lost.
    const next = await again.api.as(alice.token).succeed('POST', '/message/send', {
      body: textTo([bob.id], 'after'),
    })
    expect((next.msg_ids as number[])[0]).toBeGreaterThan(lost)
  })

  it('stopped and killed under load: both nodes go on, no ID repeats, and nothing is taken for lost', {
    timeout: 120_000,
  }, async () => {
    await using cluster = await PostgresCluster.start({
      folder: memoryDisk(),
      settings: { fsync: 'off', full_page_writes: 'off' },
    })
    const { url: databaseUrl } = await cluster.createDatabase()
    const options = { databaseUrl, env: { HERMOD_SECRET_KEY: 'k'.repeat(40) } }
    await using node = await startServer(options)
    const { adminToken, operatorToken } = node
    await using other = await startServer({ ...options, adminToken, operatorToken })
    const [alice, bob] = [await node.api.newSession(), await node.api.newSession()]
    const ids: number[] = []
    let isOver = false
    const load = [node, other].map(async ({ api }) => {
      const caller = api.as(alice.token)
      while (!isOver)
        await sendText(caller, bob.id, 'hi').then(
          (id) => ids.push(id),
          () => {},
        )
    })
    for (const stop of ['stop', 'kill9', 'stop', 'kill9'] as const) {
      await cluster[stop]()
      await cluster.restart()
      const before = ids.length
      await waitFor(() => ids.length > before + 50, { what: 'sends again', ...patience })
    }
    isOver = true
    await Promise.all(load)
    expect(new Set(ids).size).toBe(ids.length)
    expect(await faultsOf(node)).toEqual([])
    for (const each of [node, other])
      expect(each.output()).not.toMatch(/has lost events|another history/)
    expect([(await node.stop()).code, (await other.stop()).code]).toEqual([0, 0])
  })
}

if (isFullRun && testBackends().some(({ name }) => name === 'postgres'))
  describe('PostgreSQL', failover)
