/** Alerts to a receiver, which verifies their signatures. */
import { anyBackend, testBackends, waitFor } from '@hermod/testkit'
import { type ReceiverAnswer, WebhookReceiver } from '@hermod/testkit/webhooks'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createOutbound } from '../../dist/context/adapters/outbound.js'
import { AlertSender } from '../../dist/domain/alerts/alert-sender.js'
import { AlertService } from '../../dist/domain/alerts/alert-service.js'
import { AlertStore } from '../../dist/domain/alerts/alert-store.js'
import { systemClock } from '../../dist/lib/clock.js'
import { DatabasePlace } from '../support/database/database-place.js'
import { callHermod } from '../support/hermod-command.js'
import { InProcessServer, TestClock } from '../support/in-process-server.js'

const secret = `whsec_${Buffer.alloc(32, 'a').toString('base64')}`
const webhook = new Webhook(secret)
const hourMs = 3_600_000
const never = new AbortController().signal

describe.each(testBackends())('alerts on $name', (backend) => {
  const outbound = createOutbound({ outbound: { allow: ['127.0.0.1'], proxy: null } })
  const clock = new TestClock()
  let place: DatabasePlace
  let receiver: WebhookReceiver
  let lost: number
  let raised: string[]
  let nextId = 1

  beforeAll(async () => {
    place = await DatabasePlace.create(backend)
    receiver = await WebhookReceiver.start({
      verify: (body, headers) => webhook.verify(body, headers),
    })
  })
  afterAll(async () => {
    await outbound.client[Symbol.asyncDispose]()
    await receiver[Symbol.asyncDispose]()
    await place[Symbol.asyncDispose]()
  })
  beforeEach(async () => {
    await place.database.writer.deleteFrom('alerts').execute()
    receiver.accepted.length = 0
    receiver.answer = () => undefined
    lost = 0
    raised = []
  })

  /** The alerts of a node. */
  const node = () =>
    new AlertService({
      database: place.database,
      store: new AlertStore(),
      sources: {
        backup: async () => {
          throw new Error('the target is not there')
        },
        disks: async () => [],
        certificates: async () => [],
        disabledEndpoints: async () => [],
        nodes: async () => [],
        lostHistories: async () => lost,
      },
      sender: new AlertSender({
        client: outbound.client,
        ...{ url: `${receiver.url}/alerts`, secret, publicUrl: 'https://chat.example.org' },
        // A receiver refuses signatures of another hour.
        clock: systemClock,
      }),
      ids: { next: async () => nextId++ },
      clock,
      observer: { raised: (kind) => raised.push(kind), sent: () => {}, failed: () => {} },
    })
  const pass = (ms: number) => clock.set(clock.now() + ms)
  const received = () => receiver.accepted.flatMap(({ events }) => events)

  it('one an hour for each kind, whichever node looks', async () => {
    const [first, second] = [node(), node()]
    await first.run(never)
    expect(received()).toEqual([])
    lost = 2
    await second.reportIntegrity('hermod check found 1 wrong facts')
    await first.run(never)
    const data = (kind: string) => ({ kind, service: 'https://chat.example.org' })
    expect(received()).toMatchObject([
      { type: 'alert.lost_history', id: expect.stringMatching(/^alr_\d+$/) },
      { type: 'alert.integrity_fault', data: data('integrity_fault') },
    ])
    expect(received()[0]?.data.text).toContain('2 applications')
    pass(hourMs / 2)
    await second.run(never)
    expect(received()).toHaveLength(2)
    pass(hourMs / 2)
    await second.reportIntegrity('')
    await second.run(never)
    expect(
      received()
        .map(({ type }) => type)
        .slice(2),
    ).toEqual(['alert.lost_history'])
    expect(raised).toEqual(['lost_history', 'integrity_fault', 'lost_history'])
    expect(receiver.invalid).toEqual([])
  })

  it('alerts of a clock that was ahead do not keep others back', async () => {
    lost = 1
    pass(365 * 24 * hourMs)
    await node().run(never)
    pass(-365 * 24 * hourMs)
    await node().run(never)
    await node().run(never)
    expect(raised).toEqual(['lost_history', 'lost_history'])
  })

  it('an alert that is not taken: is sent again with its ID, also when its reason is over', async () => {
    const answers: (ReceiverAnswer | undefined)[] = [{ status: 503 }, 'silence', undefined]
    receiver.answer = () => answers.shift()
    lost = 1
    const first = node()
    await first.run(never)
    const [refused] = (await first.list()).alerts.filter(({ last }) => last !== null)
    expect(refused).toMatchObject({
      ...{ kind: 'lost_history', last: { attempts: 1, error: 'it answered 503' } },
    })
    lost = 0
    const stopped = AbortSignal.timeout(500)
    await first.run(stopped)
    await node().run(never)
    expect(received()).toMatchObject([{ id: `alr_${refused?.last?.alertId}` }])
    await node().run(never)
    expect(received()).toHaveLength(1)
    expect((await first.list()).alerts.find(({ kind }) => kind === 'lost_history')).toMatchObject({
      ...{ found: null, last: { attempts: 2, error: '', deliveredAt: expect.any(Number) } },
    })
  })
})

describe.each(anyBackend())('hermod alert on $name', (backend) => {
  it('test and list: reach the receiver, and name what is wrong', async () => {
    await using receiver = await WebhookReceiver.start({
      verify: (body, headers) => webhook.verify(body, headers),
    })
    await using server = await InProcessServer.start(backend, {
      HERMOD_ALERT_URL: receiver.url,
      HERMOD_ALERT_SECRET: secret,
      HERMOD_OUTBOUND_ALLOW: '127.0.0.1',
    })
    const hermod = (...args: string[]) => callHermod(args, server.settings)
    expect(await hermod('alert', 'test')).toMatchObject({ code: 0 })
    expect(receiver.events).toMatchObject([{ type: 'alert.test' }])
    receiver.answer = () => ({ status: 410 })
    const refused = await hermod('alert', 'test')
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('410') })

    await server.sql.run(
      `insert into lost_histories (epoch, app_id, position, time, head) values ('e', 'test', 9, 0, 1)`,
    )
    await server.sql.run(
      `insert into readers (app_id, user_id, low_id, high_id) values ('test', 1, 1, 2)`,
    )
    const check = await hermod('check', '--json')
    expect(check.code).toBe(1)
    const { alerts } = JSON.parse((await hermod('alert', 'list', '--json')).out)
    const held = alerts.filter(({ holds }: { holds: boolean }) => holds)
    expect(held.map(({ kind }: { kind: string }) => kind)).toEqual([
      ...['lost_history', 'integrity_fault'],
    ])
    expect((await hermod('alert')).out).toContain('lost_history')
  })

  it('a private address without HERMOD_OUTBOUND_ALLOW: is refused and named', async () => {
    await using server = await InProcessServer.start(backend, {
      HERMOD_ALERT_URL: 'http://127.0.0.1:9/',
      HERMOD_ALERT_SECRET: secret,
    })
    const refused = await callHermod(['alert', 'test'], server.settings)
    expect(refused).toMatchObject({
      ...{ code: 1, err: expect.stringContaining('HERMOD_OUTBOUND_ALLOW') },
    })
  })
})

describe.each(testBackends().filter(({ name }) => name === 'postgres'))(
  'the disks of several nodes',
  (backend) => {
    it('each is told with the heartbeat, and the alert names the node whose disk is full', async () => {
      await using server = await InProcessServer.start(backend)
      await waitFor(
        async () => {
          const [row] = await server.sql.run('select figures from nodes')
          return JSON.parse((row as { figures: string }).figures).disk?.free > 0
        },
        { what: 'the disk of the node', timeoutMs: 20_000 },
      )
      const copied = 'drain, version, schema, host, pool, settings'
      await server.sql.run(`insert into nodes (node_id, lease, started_at, heartbeat_at, figures, ${copied})
        select 'full', lease + 1, started_at, heartbeat_at + 60000,
          '{"disk":{"free":1000000,"floor":2000000}}', ${copied} from nodes`)
      const listed = await callHermod(['alert', 'list', '--json'], server.settings)
      const { alerts } = JSON.parse(listed.out)
      const found = alerts.find(({ kind }: { kind: string }) => kind === 'disk_low')
      expect(found).toMatchObject({
        holds: true,
        text: expect.stringMatching(
          /^uploads are refused: the disk of node full \(.*\) has 1 MB free/,
        ),
      })
    })
  },
)
