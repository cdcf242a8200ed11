/** Receipts that cannot arrive, and the words about them for operators, on both databases. */
import { PushSimulator } from '@hermod/push-simulator'
import { anyBackend } from '@hermod/testkit'
import { expect, it } from 'vitest'
import { InProcessServer } from '../../support/in-process-server.js'
import { PushWorld } from '../../support/push/push-world.js'

const limits = { vendor_x: 128, vendor_v: 128, vendor_o: 200, vendor_f: 128 } as const
const channels = Object.keys(limits) as (keyof typeof limits)[]
const publicUrl = `https://chat.example.org/${'long'.repeat(40)}`
const message = { title: 'News', body: 'There is something new.' }
const path = '/operator/v1/push/certificate'

for (const backend of anyBackend()) {
  it(`pushes request no receipts at an address that a gateway does not take, and the operator reads why, on ${backend.name}`, async () => {
    await using simulator = await PushSimulator.start()
    await using watched = await InProcessServer.start(backend, { HERMOD_PUBLIC_URL: publicUrl })
    const world = new PushWorld(watched.server, simulator)
    await world.setCertificates(channels, { vendor_f: { requests_receipts: true } })
    await world.setCertificate('vendor_v', 'by ID', { receipt_id: '7145' })
    const app_id = watched.server.appId
    const { data } = await world.operator.succeed('GET', `${path}/list`, { query: { app_id } })
    for (const channel of channels) {
      const problem = `and ${channel} takes ${limits[channel]}; HERMOD_PUBLIC_URL is too long`
      const listed = data.find(({ name }: { name: string }) => name === channel)
      expect(listed.receipt_problem).toContain(problem)
      const body = { app_id, name: channel }
      const check = await world.operator.succeed('POST', `${path}/check`, { body })
      expect(check.data).toMatchObject({ ok: true, words: expect.stringContaining(problem) })
    }
    expect(data.at(-1)).toMatchObject({ name: 'by ID', receipt_id: '7145', receipt_problem: '' })
    const users = await Promise.all(
      channels.map((channel) => world.user({ [channel]: `device of ${channel}` })),
    )
    const audience = { user_id: users.map(({ id }) => id) }
    await world.reaches(
      await world.notify({ audience, message }),
      Object.fromEntries(
        channels.flatMap((channel) => [
          [`${channel}_target`, 1],
          [`${channel}_sent`, 1],
        ]),
      ),
    )
    for (const channel of channels)
      for (const { body } of simulator.gateways[channel].calls)
        expect(decodeURIComponent(body)).not.toContain(publicUrl)
  })
}
