/** How fast the service sends with a certificate, as its gateway sees it, on both databases. */
import {
  certificateFields,
  type PushSimulator,
  type RecordedCall,
  type SimulatedChannel,
} from '@hermod/push-simulator'
import { anyBackend, type Json, waitFor } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../../support/answer-codes.js'
import { callHermod } from '../../support/hermod-command.js'
import type { InProcessServer } from '../../support/in-process-server.js'
import { type PushPlace, type PushWorld, startPushWorld } from '../../support/push/push-world.js'

const message = { title: 'News', body: 'There is something new.' }
const path = '/operator/v1/push/certificate'
let names = 0

describe.each(anyBackend())('limits of certificates on $name', (backend) => {
  let place: PushPlace
  let watched: InProcessServer
  let simulator: PushSimulator
  let world: PushWorld

  beforeAll(async () => {
    ;({ watched, simulator, world } = place = await startPushWorld(backend, []))
  })
  afterAll(() => place?.[Symbol.asyncDispose]())

  /** Users with a device each. @param certificate its name */
  async function crowd(certificate: string, size: number) {
    const tokens = Array.from({ length: size }, () => (++names).toString(16).padStart(64, '0'))
    const users = await Promise.all(tokens.map((token) => world.user({ [certificate]: token })))
    return { tokens, ids: users.map(({ id }) => id) }
  }

  /** Pushes to users and waits until the gateway has it all. @returns when that was asked for */
  async function push(channel: SimulatedChannel, userIds: readonly number[]): Promise<number> {
    const startedAt = Date.now()
    const taskId = await world.notify({ audience: { user_id: userIds }, message })
    const [target, sent] = [`${channel}_target`, `${channel}_sent`]
    await world.reaches(taskId, { [target]: userIds.length, [sent]: userIds.length })
    return startedAt
  }

  /** When the gateway was sent something for one of the devices, in order. */
  function arrivals(channel: SimulatedChannel, tokens: readonly string[], since = 0): number[] {
    const isFor = ({ body }: RecordedCall) => tokens.some((token) => body.includes(`"${token}"`))
    const calls = simulator.gateways[channel].calls.filter(isFor)
    return calls.map(({ at }) => at).filter((at) => at >= since)
  }

  it('the rate of a certificate is kept, also beside a faster one of the same gateway, and another one holds at once', async () => {
    await world.setCertificate('cloud_gw', 'slow', { max_per_second: 4 })
    await world.setCertificate('cloud_gw', 'quick')
    const slow = await crowd('slow', 9)
    const quick = await crowd('quick', 9)
    const shortestMs = (8 / 4) * 1000
    const startedAt = await push('cloud_gw', [...slow.ids, ...quick.ids])
    const lastSlow = arrivals('cloud_gw', slow.tokens).at(-1) ?? 0
    expect(lastSlow - startedAt).toBeGreaterThanOrEqual(shortestMs)
    expect(arrivals('cloud_gw', quick.tokens).at(-1)).toBeLessThan(lastSlow)

    await world.setCertificate('cloud_gw', 'slow', { max_per_second: 1000 })
    const again = await push('cloud_gw', slow.ids)
    const times = arrivals('cloud_gw', slow.tokens, again)
    expect(times).toHaveLength(9)
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeLessThan(shortestMs)
  })

  it('those of other certificates do not wait behind many pushes of a slow one', async () => {
    await world.setCertificate('cloud_gw', 'crawling', { max_per_second: 1 })
    await world.setCertificate('cloud_gw', 'walking')
    const slow = await crowd('crawling', 60)
    const other = await crowd('walking', 1)
    const { clock } = watched
    clock.stop()
    try {
      for (const id of slow.ids) await world.notify({ audience: { user_id: [id] }, message })
      await push('cloud_gw', other.ids)
      // While the clock stands still, the slow certificate sends what its rate allows at once.
      const sent = () => arrivals('cloud_gw', slow.tokens).length
      const what = 'a push of the slow certificate'
      await waitFor(() => sent() > 0, { what, timeoutMs: 60_000 })
      expect(sent()).toBeLessThan(5)
    } finally {
      clock.go()
    }
  })

  it('where the vendor counts messages, a request carries no more than the rate allows', async () => {
    await world.setCertificate('vendor_h', 'counted', { max_per_second: 10 })
    const { tokens, ids } = await crowd('counted', 15)
    const startedAt = await push('vendor_h', ids)
    const sizes = simulator.gateways.vendor_h.calls.flatMap(({ body }) =>
      body.includes('"token"') ? JSON.parse(body).message.token.length : [],
    )
    expect(sizes).toEqual(Array(15).fill(1))
    const last = arrivals('vendor_h', tokens).at(-1) ?? 0
    expect(last - startedAt).toBeGreaterThanOrEqual((14 / 10) * 1000)
  })

  it('no more requests are in flight than a certificate allows', async () => {
    const { ios_gw: gateway } = simulator.gateways
    await world.setCertificate('ios_gw', 'one by one', { max_in_flight: 1 })
    const { ids } = await crowd('one by one', 12)
    await push('ios_gw', ids)
    expect(gateway.mostStreams).toBe(1)
    await world.setCertificate('ios_gw', 'one by one')
    await push('ios_gw', ids)
    expect(gateway.mostStreams).toBeGreaterThan(1)
  })

  const set = (name: string, changes: Json) =>
    world.operator.call('POST', `${path}/set`, {
      body: {
        app_id: watched.server.appId,
        name,
        ...certificateFields(simulator.gateways.vendor_v.certificate),
        ...changes,
      },
    })
  const ofChannel = { max_per_second: 1500, max_in_flight: 20 }

  it('are those of the channel where none are set, and are shown', async () => {
    expect((await set('shown', {})).data).toMatchObject(ofChannel)
    const limits = { max_per_second: 30_000, max_in_flight: 50 }
    expect((await set('shown', limits)).data).toMatchObject(limits)
    const query = { app_id: watched.server.appId }
    const { data } = await world.operator.succeed('GET', `${path}/list`, { query })
    expect(data.find(({ name }: Json) => name === 'shown')).toMatchObject(limits)
    // A set is complete.
    expect((await set('shown', { max_in_flight: 3 })).data).toMatchObject({
      ...ofChannel,
      max_in_flight: 3,
    })
  })

  it('out of range are refused by name, and leave the certificate as it is', async () => {
    await set('ranges', {})
    const wrong = { max_per_second: 0, max_in_flight: 1001 }
    const answer = await set('ranges', wrong)
    expect(answer.code).toBe(answerCode.invalid_parameter)
    expect(answer.envelope.message).toContain('max_per_second')
    expect(answer.envelope.message).toContain('max_in_flight')
    for (const field of Object.keys(ofChannel))
      expect((await set('ranges', { [field]: 1.5 })).envelope.message).toContain(field)
    const query = { app_id: watched.server.appId }
    const { data } = await world.operator.succeed('GET', `${path}/list`, { query })
    expect(data.find(({ name }: Json) => name === 'ranges')).toMatchObject(ofChannel)
  })

  it('hermod certificate: sets and lists them, and says why no receipts arrive', async () => {
    const hermod = (...args: string[]) =>
      callHermod(
        ['certificate', ...args, '--app', watched.server.appId],
        watched.settings,
        JSON.stringify(certificateFields(simulator.gateways.vendor_v.certificate)),
      )
    const setLimits = (...limits: string[]) => hermod('set', 'by-command', '--from', '-', ...limits)
    expect(await setLimits('--max-per-second', '70', '--max-in-flight', '6')).toMatchObject({
      code: 0,
      err: '',
    })
    const table = (await hermod('list')).out.split('\n').map((line) => line.split(/ {2,}/))
    const row = table.find(([name]) => name === 'by-command') ?? []
    const shown = Object.fromEntries(table[0]?.map((title, index) => [title, row[index]]) ?? [])
    expect(shown).toMatchObject({ max_per_second: '70', max_in_flight: '6' })
    // The server of this test has no public address.
    const problem = 'pushes request no receipts, since HERMOD_PUBLIC_URL is not set'
    expect(shown).toMatchObject({ receipt_problem: problem })
    expect((await setLimits()).out).toContain(`Receipts: ${problem}.`)
    expect((await hermod('check', 'by-command')).out).toContain(problem)
    const byId = await setLimits('--receipt-id', '7145')
    expect(byId.out).toContain('receipt_url is only a path, since HERMOD_PUBLIC_URL is not set')
    const many = await setLimits('--max-per-second', 'many')
    expect(many.code).not.toBe(0)
    expect(many.err).toContain('It must be a whole number.')
  })
})
