/** A public address that is too long for what some gateways take, on both databases. */
import { anyBackend } from '@hermod/testkit'
import { PushSimulator } from '@hermod/testkit/push'
import { expect, it } from 'vitest'
import { InProcessServer } from '../../support/in-process-server.js'
import { PushWorld } from '../../support/push/push-world.js'

const limits = { vendor_x: 128, vendor_v: 128, vendor_o: 200 } as const
const channels = Object.keys(limits) as (keyof typeof limits)[]
const publicUrl = `https://chat.example.org/${'long'.repeat(40)}`
const message = { title: 'News', body: 'There is something new.' }

for (const backend of anyBackend()) {
  it(`receipts at an address that a gateway does not take are not asked for, which the operator is told, on ${backend.name}`, async () => {
    await using simulator = await PushSimulator.start()
    await using watched = await InProcessServer.start(backend, { HERMOD_PUBLIC_URL: publicUrl })
    const world = new PushWorld(watched.server, simulator)
    await world.setCertificates([...channels, 'vendor_f'])
    const app_id = watched.server.appId
    const path = '/operator/v1/push/certificate'
    const { data } = await world.operator.succeed('GET', `${path}/list`, { query: { app_id } })
    for (const channel of channels) {
      const problem = `and ${channel} takes ${limits[channel]}; HERMOD_PUBLIC_URL is too long`
      const listed = data.find(({ name }: { name: string }) => name === channel)
      expect(listed.receipt_problem).toContain(problem)
      const body = { app_id, name: channel }
      const check = await world.operator.succeed('POST', `${path}/check`, { body })
      expect(check.data).toMatchObject({ ok: true, words: expect.stringContaining(problem) })
    }
    expect(data.at(-1)).toMatchObject({ name: 'vendor_f', receipt_problem: '' })
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
  })
}
