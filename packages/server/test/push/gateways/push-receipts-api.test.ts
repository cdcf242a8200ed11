/** Receipts of gateways, from the gateways to the counts, on both databases (rules G1, G8). */
import { createHmac } from 'node:crypto'
import { PushSimulator, vendorFAccessToken, vendorHCallback } from '@hermod/push-simulator'
import { anyBackend, freePort, type Json, type LoginSession, waitFor } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../../support/answer-codes.js'
import { InProcessServer } from '../../support/in-process-server.js'
import {
  ReceiptForwarder,
  receiptAddresses,
  sendReceipt,
} from '../../support/push/push-receipts.js'
import { PushWorld, receiptFields } from '../../support/push/push-world.js'

const message = { title: 'News', body: 'There is something new.' }
const channels = ['vendor_h', 'vendor_n', 'vendor_x', 'vendor_o', 'vendor_v', 'vendor_f'] as const
type Channel = (typeof channels)[number]
const json = { 'content-type': 'application/json' }
let names = 0

function token(prefix = ''): string {
  return `${prefix}device-${++names}`
}

describe.each(anyBackend())('receipts on $name', (backend) => {
  let forwarder: ReceiptForwarder
  let watched: InProcessServer
  let simulator: PushSimulator
  let world: PushWorld
  let addresses: Record<string, string>

  beforeAll(async () => {
    forwarder = await ReceiptForwarder.start()
    simulator = await PushSimulator.start({ receiptUrl: forwarder.url })
    const port = await freePort()
    watched = await InProcessServer.start(backend, {
      HERMOD_PORT: String(port),
      HERMOD_PUBLIC_URL: `http://127.0.0.1:${port}`,
      HERMOD_LOG_LEVEL: 'debug',
    })
    world = new PushWorld(watched.server, simulator)
    await world.setCertificates(channels, receiptFields)
    addresses = await receiptAddresses(world.operator, watched.server.appId)
    forwarder.addresses = addresses
  })
  afterAll(async () => {
    await watched?.[Symbol.asyncDispose]()
    await simulator?.[Symbol.asyncDispose]()
    await forwarder?.[Symbol.asyncDispose]()
  })

  /** A push that the gateway took. */
  async function sent(channel: Channel, tokens: readonly string[]) {
    const users = await Promise.all(tokens.map((own) => world.user({ [channel]: own })))
    const audience = { user_id: users.map(({ id }) => id) }
    const taskId = await world.notify({ audience, message })
    await world.reaches(taskId, {
      [`${channel}_target`]: tokens.length,
      [`${channel}_sent`]: tokens.length,
    })
    return { users, taskId, tag: await tagOf(taskId), audience }
  }

  /** What the gateway is given to name the pushes of a task in its receipts. */
  async function tagOf(taskId: number): Promise<string> {
    const delivery = await waitFor(
      async () =>
        (
          await watched.sql.run(`select batch_id from push_deliveries where task_id = ${taskId}`)
        )[0],
      { what: 'a delivery', timeoutMs: 60_000 },
    )
    return `${taskId}.${delivery.batch_id}`
  }

  const receivedBy = async (channel: Channel, taskId: number) =>
    (await world.counts(taskId))[`${channel}_received`] ?? 0

  /** A receipt of vendor_n, whose form is the plainest. */
  const plainReceipt = (status: number, tag: string, own: string, timestamp = Date.now()) =>
    JSON.stringify({ statuses: [{ token: own, status, timestamp, biTag: tag, requestId: 'any' }] })
  const post = (url: string, body: string, headers: Record<string, string> = json) =>
    sendReceipt({ url, body, headers })
  const address = (name: string) => addresses[name] ?? ''

  async function bindings(user: LoginSession): Promise<Json[]> {
    return watched.sql.run(
      `select device_token, paused_until from push_bindings where user_id = ${user.id}`,
    ) as Promise<Json[]>
  }

  it.each(channels)('%s: count each device once, in the form of the vendor', async (channel) => {
    const tokens = [token(), token(), token()]
    const { taskId } = await sent(channel, tokens)
    const requests = await simulator.gateways[channel].sendReceipts()
    expect(requests).toBeGreaterThan(0)
    expect(await receivedBy(channel, taskId)).toBe(3)
  })

  it.each(channels.filter((channel) => channel !== 'vendor_f'))(
    '%s: a token that has ended is forgotten, and not counted',
    async (channel) => {
      const { users, taskId } = await sent(channel, [token('gone-'), token()])
      await simulator.gateways[channel].sendReceipts()
      expect(await receivedBy(channel, taskId)).toBe(1)
      const [gone, there] = users as [LoginSession, LoginSession]
      expect(await bindings(gone)).toEqual([])
      expect(await bindings(there)).toHaveLength(1)
    },
  )

  it('of a token that has ended are followed also after so many tries that not all are kept', async () => {
    const { users, taskId } = await sent('vendor_n', [token('gone-')])
    const [user] = users as [LoginSession]
    const line = JSON.stringify({
      at: 1,
      step: 'tried',
      result: 'network',
      reason: 'x'.repeat(300),
    })
    await watched.sql.run(
      `update push_deliveries set steps = steps || '${`${line}\n`.repeat(11)}' where task_id = ${taskId}`,
    )
    await simulator.gateways.vendor_n.sendReceipts()
    expect(await bindings(user)).toEqual([])
    const { steps } = (await world.trace({ task_id: taskId }, user.id)).devices[0].delivery
    expect(steps.slice(-2).map(({ step }: Json) => step)).toEqual(['receipt', 'token_cleared'])
    const leftOut = steps.find(({ step }: Json) => step === 'left_out')
    expect(leftOut.text).toMatch(
      /^(One more step was left out|\d more steps were left out here)\.$/,
    )
  })

  it('count nothing twice, whether they are repeated one after another or all at once', async () => {
    const tokens = Array.from({ length: 5 }, () => token())
    const { taskId, tag } = await sent('vendor_n', tokens)
    const statuses = tokens.map((own) => ({
      token: own,
      status: 40000002,
      timestamp: Date.now(),
      biTag: tag,
      requestId: 'any',
    }))
    // Each request has all of them, in an order of its own, and some twice.
    const bodies = Array.from({ length: 20 }, (_, index) => {
      const turned = [...statuses.slice(index % 5), ...statuses.slice(0, index % 5)]
      return JSON.stringify({ statuses: [...turned, ...turned.slice(0, 2)] })
    })
    const answers = await Promise.all(bodies.map((body) => post(address('vendor_n'), body)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(await receivedBy('vendor_n', taskId)).toBe(5)
    await post(address('vendor_n'), bodies[0] ?? '')
    expect(await receivedBy('vendor_n', taskId)).toBe(5)
  })

  it('that say a push was opened count as received, before and after the other', async () => {
    const [a, b] = [token(), token()]
    const { taskId, tag } = await sent('vendor_n', [a, b])
    const [delivered, clicked] = [40000002, 40000007]
    for (const [own, status] of [
      [a, clicked],
      [a, delivered],
      [b, delivered],
      [b, clicked],
    ] as const)
      await post(address('vendor_n'), plainReceipt(status, tag, own))
    expect(await receivedBy('vendor_n', taskId)).toBe(2)
  })

  it('of other tokens, unknown tasks and other channels count nothing', async () => {
    const own = token()
    const { taskId, tag } = await sent('vendor_n', [own])
    const other = await sent('vendor_n', [token()])
    const stranger = await sent('vendor_h', [token()])
    for (const [id, receiptToken] of [
      [tag, token()],
      [`${taskId + 1_000_000}${tag.slice(tag.indexOf('.'))}`, own],
      [`${tag}1`, own],
      [other.tag, own],
      [stranger.tag, own],
      ['', own],
      ['x', own],
      [String(taskId), own],
      [`${taskId}.99999999999999999999`, own],
    ] as const) {
      const answer = await post(address('vendor_n'), plainReceipt(40000002, id, receiptToken))
      // The vendor need not send it again.
      expect(answer.status).toBe(200)
    }
    // A gateway speaks for its own certificate alone.
    const statuses = [{ token: own, status: 0, biTag: tag, requestId: 'any' }]
    await post(address('vendor_h'), JSON.stringify({ statuses }))
    expect(await receivedBy('vendor_n', taskId)).toBe(0)
    expect(await receivedBy('vendor_n', other.taskId)).toBe(0)
    await post(address('vendor_n'), plainReceipt(40000002, tag, own))
    expect(await receivedBy('vendor_n', taskId)).toBe(1)
  })

  it('count for the token that was sent, also when the device has another one by now', async () => {
    const own = token()
    const { users, taskId, tag } = await sent('vendor_n', [own])
    const [user] = users as [LoginSession]
    await world.bind(user, 'vendor_n', token())
    await post(address('vendor_n'), plainReceipt(40000002, tag, own))
    expect(await receivedBy('vendor_n', taskId)).toBe(1)
  })

  it('before the outcome of the send is known count as well', async () => {
    const own = token('slow-')
    const user = await world.user({ vendor_n: own })
    const taskId = await world.notify({ audience: { user_id: [user.id] }, message })
    await world.reaches(taskId, { vendor_n_target: 1 })
    const tag = await tagOf(taskId)
    await post(address('vendor_n'), plainReceipt(40000002, tag, own))
    expect(await world.counts(taskId)).toEqual({ vendor_n_target: 1, vendor_n_received: 1 })
  })

  it('to an unknown address or with a wrong secret are no address at all', async () => {
    const right = address('vendor_n')
    const wrong = [
      `${right}x`,
      right.slice(0, -1),
      `${right}/`,
      right.replace('vendor_n', 'vendor_h'),
      right.replace('vendor_n', 'core'),
      right.replace('vendor_n', 'ios_gw'),
      right.replace(/[^/]*$/, 'x'),
      right.replace(/[^/]*$/, '1.x'),
    ]
    const unknown = await post(`${watched.server.url}/push/nothing`, '{}')
    expect(unknown.status).toBe(404)
    for (const url of wrong) expect(await post(url, '{}'), url).toEqual(unknown)
    expect((await post(right, '{"statuses":[]}')).status).toBe(200)
  })

  it('that are malformed store nothing, and say what is wrong', async () => {
    const own = token()
    const { taskId, tag } = await sent('vendor_n', [own])
    const whole = JSON.parse(plainReceipt(40000002, tag, own))
    whole.statuses.push({ token: 'x' })
    for (const body of ['x', '[]', '{"statuses":{}}', JSON.stringify(whole)]) {
      const answer = await post(address('vendor_n'), body)
      expect([answer.status, JSON.parse(answer.text).code], body).toEqual([
        400,
        answerCode.malformed_request,
      ])
      expect(answer.text).toMatch(/is not|is missing/)
    }
    expect(await receivedBy('vendor_n', taskId)).toBe(0)
    const large = await post(address('vendor_n'), ' '.repeat(1_100_000))
    expect(large.status).toBe(413)
    const got = await fetch(address('vendor_n'))
    expect(got.status).toBe(405)
  })

  it('pause a device that shows nothing, and leave it its token', async () => {
    const own = token('muted-')
    const { users, taskId, audience } = await sent('vendor_h', [own])
    await simulator.gateways.vendor_h.sendReceipts()
    const [user] = users as [LoginSession]
    const [binding] = await bindings(user)
    expect(binding.device_token).toBe(own)
    const dayMs = 86_400_000
    expect(Number(binding.paused_until)).toBeGreaterThan(Date.now() + dayMs - 60_000)
    expect(Number(binding.paused_until)).toBeLessThan(Date.now() + dayMs + 60_000)
    expect(await receivedBy('vendor_h', taskId)).toBe(0)
    const next = await world.notify({ audience, message })
    await world.hasEnded(next)
    expect(await world.counts(next)).toEqual({})
    const { devices } = await world.trace({ task_id: next }, user.id)
    expect(devices[0].delivery.steps.at(-1)).toMatchObject({ result: 'device_paused' })
    // Bound again, it is in reach again.
    await world.bind(user, 'vendor_h', own)
    await world.reaches(await world.notify({ audience, message }), {
      vendor_h_target: 1,
      vendor_h_sent: 1,
    })
  })

  it('keep a token that was bound after the gateway looked', async () => {
    const own = token()
    const { users, tag } = await sent('vendor_n', [own])
    const [user] = users as [LoginSession]
    const before = Date.now()
    await world.bind(user, 'vendor_n', own)
    await post(address('vendor_n'), plainReceipt(40000003, tag, own, before - 1))
    expect(await bindings(user)).toHaveLength(1)
    const again = await sent('vendor_n', [token()])
    expect(await receivedBy('vendor_n', again.taskId)).toBe(0)
  })

  it('give the device its new token where the gateway names it', async () => {
    const [own, next, taken] = [token(), token(), token()]
    const { users, tag } = await sent('vendor_x', [own])
    const [user] = users as [LoginSession]
    const body = (from: string, to: string, tag: string) =>
      new URLSearchParams({
        data: JSON.stringify({
          m: { param: tag, type: 16, targets: from, replaceTarget: { [from]: to } },
        }),
      }).toString()
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const first = await post(address('vendor_x'), body(own, next, tag), form)
    expect(first).toEqual({ status: 200, text: '{}' })
    expect((await bindings(user)).map(({ device_token }) => device_token)).toEqual([next])
    // A token that somebody has bound is that device's.
    const owner = await world.user({ vendor_x: taken })
    const second = await sent('vendor_x', [token()])
    const [loser] = second.users as [LoginSession]
    const [lost] = await bindings(loser)
    await post(address('vendor_x'), body(lost.device_token, taken, second.tag), form)
    expect(await bindings(loser)).toEqual([])
    expect((await bindings(owner)).map(({ device_token }) => device_token)).toEqual([taken])
  })

  it('are taken from the vendor alone where it proves itself', async () => {
    await world.setCertificate('vendor_h', 'signed-h', {
      receipt_user: vendorHCallback.user,
      receipt_key: vendorHCallback.secret,
    })
    await world.setCertificate('vendor_f', 'signed-f', { receipt_key: vendorFAccessToken })
    const known = await receiptAddresses(world.operator, watched.server.appId)
    const [signedH = '', signedF = ''] = [known['signed-h'], known['signed-f']]
    const own = token()
    const user = await world.user({ 'signed-h': own })
    const taskId = await world.notify({ audience: { user_id: [user.id] }, message })
    await world.reaches(taskId, { vendor_h_target: 1, vendor_h_sent: 1 })
    const tag = await tagOf(taskId)
    const statuses = [{ token: own, status: 0, biTag: tag, requestId: 'any' }]
    const body = JSON.stringify({ statuses })
    const signed = (secret: string | Buffer, at = watched.clock.now()) => {
      const value = createHmac('sha256', secret)
        .update(`${at}nonce${vendorHCallback.user}`)
        .digest('base64')
      return { ...json, 'x-huawei-callback-id': `timestamp=${at};nonce=nonce;value=${value}` }
    }
    expect((await post(signedH, body)).status).toBe(404)
    expect((await post(signedH, body, signed('another'))).status).toBe(404)
    const hourAgo = watched.clock.now() - 3_600_000
    expect((await post(signedH, body, signed(vendorHCallback.secret, hourAgo))).status).toBe(404)
    expect(await receivedBy('vendor_h', taskId)).toBe(0)
    const genuine = signed(vendorHCallback.secret)
    // A repeated request counts nothing.
    for (const _ of ['first', 'repeated'])
      expect(await post(signedH, body, genuine)).toMatchObject({ status: 200 })
    expect(await receivedBy('vendor_h', taskId)).toBe(1)
    // The console tests the address with a request that reports nothing, signed or not.
    for (const headers of [genuine, json]) {
      const test = await post(signedH, '{}', headers)
      expect(JSON.parse(test.text)).toMatchObject({ code: '0', errno: '0' })
    }
    const asBase64 = { receipt_user: vendorHCallback.user, receipt_key: 'c2VjcmV0' }
    await world.setCertificate('vendor_h', 'signed-h', asBase64)
    for (const key of ['c2VjcmV0', Buffer.from('secret')])
      expect((await post(signedH, body, signed(key))).status).toBe(200)
    expect((await post(signedH, body, genuine)).status).toBe(404)
    const form = (access: string) => new URLSearchParams({ cb: '{}', access_token: access })
    const urlencoded = { 'content-type': 'application/x-www-form-urlencoded' }
    expect((await post(signedF, form('x').toString(), urlencoded)).status).toBe(404)
    const right = await post(signedF, form(vendorFAccessToken).toString(), urlencoded)
    expect(right.status).toBe(200)
  })

  it('show in the metrics by what they were worth', async () => {
    const own = token()
    const { tag } = await sent('vendor_n', [own])
    const figures = async () => {
      const text = await (await fetch(`${watched.server.url}/metrics`)).text()
      const of = (result: string) =>
        Number(
          new RegExp(
            `^hermod_push_receipts_total\\{channel="vendor_n",result="${result}"\\} (\\d+)`,
            'm',
          ).exec(text)?.[1] ?? 0,
        )
      return ['received', 'repeated', 'unknown', 'refused', 'malformed'].map(of)
    }
    const before = await figures()
    const receipt = plainReceipt(40000002, tag, own)
    await post(address('vendor_n'), receipt)
    await post(address('vendor_n'), receipt)
    await post(address('vendor_n'), plainReceipt(40000002, tag, 'another'))
    await post(`${address('vendor_n')}x`, receipt)
    await post(address('vendor_n'), 'x')
    const after = await figures()
    expect(after.map((figure, index) => figure - (before[index] ?? 0))).toEqual([1, 1, 1, 1, 1])
  })
})
