/** Events and cursors for other systems after the epoch of the database was renewed. */
import type { EventPage } from '@hermod/protocol'
import { type Api, startServer, testBackends, waitFor } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { openSql } from '../support/database/sql.js'
import { StallingProxy } from '../support/database/stalling-proxy.js'
import { callHermod } from '../support/hermod-command.js'
import { sendText, sessions } from '../support/messaging/messaging.js'
import { WatchedServer } from '../support/watched-server.js'
import { hookSecret, hookSettings, startReceiver } from '../support/webhooks/hooks.js'

const patience = { timeoutMs: 30_000 }

async function page(api: Api, after: string): Promise<EventPage> {
  const { data } = await api.succeed<EventPage>('GET', '/events', { query: { after } })
  return data
}

/** Returns the cursor of another place of the same epoch. */
function moved(cursor: string, by: number, place = 0): string {
  const [epoch, appId, position = ''] = cursor.split('~')
  const there = Number.parseInt(position, 36) + by
  return [epoch, appId, there.toString(36), place.toString(36)].join('~')
}

describe.each(testBackends())('a renewed epoch on $name', (backend) => {
  it('events keep their IDs, also those that wait for an endpoint, new ones have a mark, and cursors go on up to the renewal', async () => {
    await using watched = await WatchedServer.start(backend, { env: hookSettings })
    await using receiver = await startReceiver(({ data }) =>
      data.content === 'refused' ? { status: 422 } : undefined,
    )
    const admin = () => watched.api.admin()
    const [alice, bob, cleo] = await sessions(watched.server, 3)
    const send = (text: string, to: number) =>
      sendText(admin(), to, text, { from_user_id: alice.id })
    const created = await admin().succeed('POST', '/app/webhook/create', {
      body: { url: receiver.url, secret: hookSecret, kinds: ['message.stored'] },
    })
    const { endpoint_id } = created.data
    const endpoint = async () => {
      const { data } = await admin().succeed('GET', '/app/webhook/list')
      return data[0]
    }
    await admin().succeed('GET', '/events', { query: { consumer: 'crm' } })
    await send('refused', bob.id)
    const delivered = await send('delivered', cleo.id)
    await waitFor(async () => (await endpoint()).waiting === 1 && receiver.events.length === 1, {
      what: 'one event delivered and one waiting',
      ...patience,
    })
    const before = await page(admin(), '')
    const [refused, last] = before.events.slice(-2)
    expect(last?.data.msg_id).toBe(delivered)

    await watched.server.stop()
    expect((await callHermod(['database', 'new-epoch'], watched.settings)).code).toBe(0)
    await watched.startAgain()

    const after = await page(admin(), '')
    expect(after.events.map(({ id }) => id)).toEqual(before.events.map(({ id }) => id))
    expect((await page(admin(), refused?.cursor ?? '')).events.map(({ id }) => id)).toEqual([
      last?.id,
    ])
    expect((await page(admin(), before.cursor)).events).toEqual([])
    for (const cursor of [moved(before.cursor, 1), moved(before.cursor, 0, 1)])
      for (const answer of [
        await admin().call('GET', '/events', { query: { after: cursor } }),
        await admin().call('POST', '/events/ack', { body: { consumer: 'crm', cursor } }),
      ]) {
        expect(answer.code).toBe(answerCode.event_cursor_invalid)
        expect(answer.text).toContain('read the present state, then from the start')
      }
    await admin().succeed('POST', '/events/ack', {
      body: { consumer: 'crm', cursor: refused?.cursor },
    })
    const { data: crm } = await admin().succeed('GET', '/events', { query: { consumer: 'crm' } })
    expect(crm.events.map(({ id }: { id: string }) => id)).toEqual([last?.id])

    receiver.answer = () => undefined
    await admin().succeed('POST', '/app/webhook/update', {
      body: { endpoint_id, state: 'enabled' },
    })
    const next = await send('new', cleo.id)
    await waitFor(() => receiver.events.length === 3, { what: 'all events', ...patience })
    const { appId } = watched.server
    const position = Number(/_(\d+)_\d+$/.exec(last?.id ?? '')?.[1]) + 1
    const newId = expect.stringMatching(new RegExp(`^evt_${appId}_[A-Z]{6}_${position}_${next}$`))
    expect(new Set(receiver.events.map(({ id }) => id))).toEqual(
      new Set([
        last?.id,
        refused?.id,
        receiver.events.find(({ data }) => data.msg_id === next)?.id,
      ]),
    )
    const [added, ...others] = (await page(admin(), before.cursor)).events
    expect([added?.id, others]).toEqual([newId, []])
  })
})

for (const backend of testBackends().filter(({ name }) => name === 'postgres'))
  describe('a lost history', () => {
    it('the event in the place of a lost one has another ID, and the cursor of the lost one is refused', async () => {
      await using place = await backend.createDatabase()
      const { proxy, url: databaseUrl } = await StallingProxy.start(place.url as string)
      await using _ = proxy
      await using server = await startServer({ databaseUrl })
      await using sql = await openSql({ dataDir: server.dataDir, databaseUrl: place.url })
      const [alice, bob] = await sessions(server, 2)
      await sendText(alice.api, bob.id, 'kept')
      const kept = await page(server.api.admin(), '')
      await sendText(alice.api, bob.id, 'lost')
      const lost = await page(server.api.admin(), kept.cursor)
      await sql.run('delete from outbox where position = (select position from outbox_heads)')
      await sql.run('update outbox_heads set position = position - 1')
      proxy.resume()
      await server.exited
      await using again = await server.startAgain()
      const admin = again.api.admin()
      await sendText(again.api.as(alice.token), bob.id, 'new')
      const { events } = await page(admin, kept.cursor)
      const position = lost.events[0]?.id.split('_')[2]
      expect(events.map(({ id }) => id)).toEqual([
        expect.stringMatching(new RegExp(`^evt_${again.appId}_[A-Z]{6}_${position}_\\d+$`)),
      ])
      const answer = await admin.call('GET', '/events', { query: { after: lost.cursor } })
      expect(answer.code).toBe(answerCode.event_cursor_invalid)
      expect(answer.text).toContain('has lost events')
    })
  })
