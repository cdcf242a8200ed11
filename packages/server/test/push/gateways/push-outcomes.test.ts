/** What operators see of gateways that do not do as they should: metrics and log lines (rule G8). */
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import {
  gatewayModels,
  type SimulatedChannel,
  SimulatedGateway,
  type TestAuthority,
} from '@hermod/push-simulator'
import { anyBackend, type Json, waitFor } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type PushPlace, type PushWorld, startPushWorld } from '../../support/push/push-world.js'

const channels = ['vendor_x', 'vendor_v', 'vendor_o', 'vendor_n'] as const
const message = { title: 'News', body: 'There is something new.' }
let names = 0

/** A gateway that answers everything with a code of its own. */
async function startOddGateway(authority: TestAuthority, code: number) {
  const server = createServer(authority.server(), (request, response) => {
    request.resume()
    response.end(JSON.stringify({ result: 'error', code, reason: 'odd' }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

describe.each(anyBackend())('outcomes of gateways on $name', (backend) => {
  let place: PushPlace
  let world: PushWorld

  beforeAll(async () => {
    place = await startPushWorld(backend, channels)
    world = place.world
  })
  afterAll(() => place?.[Symbol.asyncDispose]())

  /** Pushes to a device of a token with this beginning, through a certificate. */
  async function push(certificate: string, prefix = ''): Promise<string> {
    const token = `${prefix}device-${++names}`
    const user = await world.user({ [certificate]: token })
    await world.notify({ audience: { user_id: [user.id] }, message })
    return token
  }

  /** Log lines about a certificate, as soon as there are so many. */
  async function lines(certificate: string, count: number): Promise<Json[]> {
    const read = () =>
      place.watched.server
        .output()
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line) as Json)
        .filter((line) => line.certificate === certificate)
    await waitFor(() => read().length >= count, {
      what: `${count} lines about ${certificate}`,
      timeoutMs: 30_000,
    })
    return read()
  }

  /**
   * Waits for a line of another certificate, behind all that was logged before it; then the lines
   * so far can be counted.
   */
  async function laterLine(): Promise<void> {
    const name = `later-${++names}`
    await world.setCertificate('vendor_n', name)
    await push(name, 'wrong-')
    await lines(name, 1)
  }

  /** Waits until a figure is at least so high; it never counts down here. */
  const reaches = (name: string, labels: string, least: number) =>
    waitFor(
      async () => {
        const { text } = await world.api.call('GET', '/metrics')
        const line = text.split('\n').find((each) => each.startsWith(`${name}{${labels}}`))
        return Number(line?.split(' ').at(-1) ?? 0) >= least
      },
      { what: `${name}{${labels}} ${least}`, timeoutMs: 30_000 },
    )
  const counted = (channel: SimulatedChannel, kind: string, least: number) =>
    reaches('hermod_push_outcomes_total', `channel="${channel}",kind="${kind}"`, least)

  it('are counted by channel and kind', async () => {
    await push('vendor_o')
    await push('vendor_o')
    await counted('vendor_o', 'accepted', 2)
    await push('vendor_o', 'payload-')
    await counted('vendor_o', 'payload', 1)
    // All of that is nothing for operators.
    await laterLine()
    expect(await lines('vendor_o', 0)).toEqual([])
  })

  it('that refuse the set-up are told of once a minute, and their open circuits are counted', async () => {
    const token = await push('vendor_x', 'denied-')
    await counted('vendor_x', 'config', 1)
    await reaches('hermod_push_open_circuits', 'channel="vendor_x"', 1)
    await push('vendor_x')
    await push('vendor_x')
    const [refused, blocked] = await lines('vendor_x', 2)
    expect(refused).toMatchObject({
      level: 40,
      app: world.server.appId,
      channel: 'vendor_x',
      code: '21301',
      msg: 'push gateway refuses the credentials or the set-up',
    })
    expect(blocked).toMatchObject({
      app: world.server.appId,
      channel: 'vendor_x',
      code: 'circuit_open',
      msg: 'nothing is sent to a push gateway for now',
    })
    await counted('vendor_x', 'held_back', 2)
    await laterLine()
    expect(await lines('vendor_x', 2)).toHaveLength(2)
    const output = place.watched.server.output()
    expect(output).not.toContain(token)
    expect(output).not.toContain(place.simulator.gateways.vendor_x.certificate.appSecret)
  })

  it('that call tokens dead which are kept are told of', async () => {
    await push('vendor_n', 'wrong-')
    expect(await lines('vendor_n', 1)).toMatchObject([
      { channel: 'vendor_n', code: '80300007', msg: expect.stringContaining('tokens are kept') },
    ])
  })

  it('whose clock differs are told of, with the difference', async () => {
    const { authority } = place.simulator
    await using gateway = await SimulatedGateway.start(gatewayModels.vendor_v(), {
      authority,
      now: () => Date.now() + 3_600_000,
    })
    const { sendUrl, authUrl } = gateway.certificate.endpoint
    const elsewhere = { send_url: sendUrl, auth_url: authUrl }
    await world.setCertificate('vendor_v', 'skewed', elsewhere)
    await push('skewed')
    const [line] = await lines('skewed', 1)
    expect(line).toMatchObject({
      channel: 'vendor_v',
      code: '10207',
      msg: 'push gateway finds the clock of this machine wrong',
    })
    expect(Math.abs(line?.skewSeconds + 3_600)).toBeLessThan(60)
  })

  it('that answer a code which is not known are told of', async () => {
    await using gateway = await startOddGateway(place.simulator.authority, 4242)
    await world.setCertificate('vendor_x', 'odd', { send_url: gateway.url })
    await push('odd')
    expect(await lines('odd', 1)).toMatchObject([
      {
        channel: 'vendor_x',
        code: '4242',
        msg: 'push gateway answers a code that is not known',
      },
    ])
    await counted('vendor_x', 'server_error', 1)
  })
})
