/** The states in which the service refuses calls: maintenance, and restored data. */
import { errorCatalogue } from '@hermod/protocol'
import {
  type Api,
  anyBackend,
  GatewayClient,
  isFullRun,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { timestampOf } from '../../dist/lib/ids/ids.js'
import { openSql } from '../support/database/sql.js'
import { fileTypes, pathOf, png, sendFile, targets } from '../support/files/files.js'
import { callHermod } from '../support/hermod-command.js'
import { InProcessServer, ownServer } from '../support/in-process-server.js'
import { contents, send, sendText, statuses } from '../support/messaging/messaging.js'
import { ownNodes } from '../support/nodes/own-nodes.js'

const { code: unavailable } = errorCatalogue.unavailable
const text = 'We move to another machine.'

const message = (peer: number) => ({ type: 1, targets: [peer], content_type: 0, content: 'hi' })

describe.each(anyBackend())('maintenance on $name', (backend) => {
  const server = ownServer(backend, {}, 'gateway')
  const hermod = (...args: string[]) => callHermod(args, server.settings)
  const off = () => hermod('maintenance', 'off')

  it('on: reads work, writes answer 503 with the text, until off', async () => {
    const [alice, bob] = [await server.api.newSession(), await server.api.newSession()]
    await sendText(alice.api, bob.id, 'before')
    const { code, out } = await hermod('maintenance', 'on', '--text', text)
    expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining(text) })
    const refused = [
      await send(alice.api, message(bob.id)),
      await server.api.admin().call('POST', '/message/send', { body: message(bob.id) }),
      await server.api.call('POST', '/user/register/anonymous', { body: {} }),
      await server.api.call('POST', '/token/id', {
        body: { user_id: alice.id, password: alice.password },
      }),
    ]
    for (const answer of refused) {
      expect(answer).toMatchObject({ status: 503, code: unavailable })
      expect(answer.envelope.message).toContain(text)
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
    }
    expect(await contents(bob.api, alice.id)).toEqual(['before'])
    await off()
    await sendText(alice.api, bob.id, 'after')
    expect(await contents(bob.api, alice.id)).toEqual(['after', 'before'])
  })

  it('on: a page that a device reads counts as delivered afterwards only', async () => {
    const alice = await server.api.newSession()
    const bob = await server.api.login(await server.api.newSession(), 'phone')
    await sendText(alice.api, bob.id, 'before')
    await hermod('maintenance', 'on')
    expect(await contents(bob.api, alice.id)).toEqual(['before'])
    expect(await statuses(alice.api, bob.id)).toEqual(['UNREAD'])
    await off()
    await contents(bob.api, alice.id)
    expect(await statuses(alice.api, bob.id)).toEqual(['DELIVERED'])
  })

  it('on: sessions open and read, and frames that write are told when to try again', async () => {
    const [alice, bob] = [await server.api.newSession(), await server.api.newSession()]
    await hermod('maintenance', 'on')
    const client = await GatewayClient.connect(server.url)
    await client.open({ appId: server.appId, accessToken: alice.token })
    expect(await client.call('message.unread', {})).toMatchObject({ code: 200 })
    expect(await client.call('message.send', message(bob.id))).toMatchObject({
      ...{ code: unavailable, retry: true, retry_after_ms: expect.any(Number) },
    })
    await off()
    expect(await client.call('message.send', message(bob.id))).toMatchObject({ code: 200 })
    await client.close()
  })

  it('on: operators do everything, and health, metrics and the check name it', async () => {
    await hermod('maintenance', 'on', '--text', text)
    const operator = server.api.as(server.operatorToken)
    const app_id = `in-maintenance-${backend.name}`
    await operator.succeed('POST', '/operator/v1/app/create', { body: { app_id, name: 'x' } })
    expect(await (await fetch(`${server.url}/readyz`)).json()).toEqual({
      ...{ status: 'ready', degraded: ['maintenance'] },
    })
    const metrics = await (await fetch(`${server.url}/metrics`)).text()
    expect(metrics).toContain('hermod_service_state{state="maintenance"} 1')
    const check = await hermod('check')
    expect(check).toMatchObject({ code: 0, out: expect.stringContaining('is in maintenance') })
    expect((await off()).out).toContain('takes reads and writes')
    expect((await hermod('maintenance', 'status')).out).toContain('takes reads and writes')
  })

  it('on: an upload that has a ticket is refused before its bytes', async () => {
    const alice = await server.api.newSession()
    const path = '/file/upload/avatar/user'
    const ticket = await alice.api.succeed('GET', path, { query: { user_id: alice.id } })
    await hermod('maintenance', 'on')
    expect(await alice.api.call('GET', path, { query: { user_id: alice.id } })).toMatchObject({
      ...{ status: 503, code: unavailable },
    })
    const form = new FormData()
    form.append('file', new Blob(['x']), 'x.png')
    const uploaded = await fetch(ticket.data.upload_url, { method: 'POST', body: form })
    expect(uploaded.status).toBe(503)
    await off()
  })

  it('on before a stop: the next start refuses too', async () => {
    await using own = await InProcessServer.start(backend)
    await own.stop()
    await callHermod(['maintenance', 'on'], own.settings)
    await own.startAgain()
    const answer = await own.api.call('POST', '/user/register/anonymous', { body: {} })
    expect(answer).toMatchObject({ status: 503, code: unavailable })
  })

  it('restored: operators and reads of Admin tokens work, all else is refused, and nothing runs in the background', async () => {
    await using own = await InProcessServer.start(backend)
    const [alice, bob] = [await own.api.newSession(), await own.api.newSession()]
    await sendText(alice.api, bob.id, 'before')
    const { data: ticket } = await alice.api.succeed('GET', '/file/upload/avatar/user')
    const picture = { to_id: bob.id, to_type: targets.user, file_type: fileTypes.picture }
    const pictureUrl = await sendFile(alice.api, picture, png)
    await own.stop()
    await own.sql.run(`update database_identity set state = 'restored', state_since = 1`)
    await own.sql.run(
      `insert into jobs (app_id, job_id, kind, payload, run_at, created_at, updated_at)
        values ('', 1, 'long_job', '{"jobId":1}', 0, 0, 0)`,
    )
    await own.startAgain()
    const admin = own.api.admin({ userId: bob.id })
    expect(await contents(admin, alice.id)).toEqual(['before'])
    const refused = [
      await admin.call('POST', '/message/send', { body: message(alice.id) }),
      await alice.api.call('GET', '/message/unread'),
      await own.api.call('GET', '/app/user/name_check', { query: { username: 'x' } }),
      await bob.api.call('GET', pathOf(pictureUrl)),
    ]
    for (const answer of refused) expect(answer).toMatchObject({ status: 503, code: unavailable })
    const client = await GatewayClient.connect(own.url)
    const access = { appId: own.appId, accessToken: alice.token }
    expect(await client.open(access)).toMatchObject({ code: unavailable })
    await client.close()
    const form = new FormData()
    form.append('file', new Blob(['x']), 'x.png')
    expect((await fetch(ticket.upload_url, { method: 'POST', body: form })).status).toBe(503)
    expect(
      (await admin.succeed('GET', '/events', { query: { after: '' } })).data.events,
    ).not.toEqual([])
    const operator = own.api.as(own.operatorToken)
    await operator.succeed('GET', '/operator/v1/app/list')
    expect(await callHermod(['check'], own.settings)).toMatchObject({ code: 0 })
    const maintenance = await operator.call('POST', '/operator/v1/maintenance/off')
    expect(maintenance.code).toBe(errorCatalogue.restore_unfinished.code)
    expect((await fetch(`${own.url}/readyz`)).status).toBe(503)
    const [job] = await own.sql.run('select outcome from jobs where job_id = 1')
    expect(job?.outcome).toBe('')
    // A restore is finished by another process, or on another node.
    await own.stop()
    await own.sql.run(`update database_identity set state = 'serving'`)
    await own.startAgain()
    await sendText(alice.api, bob.id, 'after')
    await waitFor(
      async () =>
        (await own.sql.run('select outcome from jobs where job_id = 1'))[0]?.outcome !== '',
      { what: 'the run of the job', timeoutMs: 30_000 },
    )
  })
})

describe.each(testBackends().filter(({ name }) => name === 'postgres'))(
  'maintenance of several nodes on $name',
  (backend) => {
    const nodes = ownNodes(backend)

    it('on and off reach the other node within a second', async () => {
      const [first, second] = nodes
      if (!first || !second) throw new Error('no nodes')
      const [alice, bob] = [await first.api.newSession(), await first.api.newSession()]
      const operator = first.api.as(first.operatorToken)
      const sendAtSecond = () => send(second.api.as(alice.token), message(bob.id))
      for (const [step, code] of [
        ['on', unavailable],
        ['off', 200],
      ] as const) {
        await operator.succeed('POST', `/operator/v1/maintenance/${step}`, { body: {} })
        const startedAt = performance.now()
        await waitFor(async () => (await sendAtSecond()).code === code, {
          what: `maintenance ${step} on the other node`,
          timeoutMs: 30_000,
        })
        if (isFullRun) expect(performance.now() - startedAt).toBeLessThan(2_000)
      }
    })

    it('restored: after finish on one node, no node uses an ID that it reserved before', async () => {
      const [first, second] = nodes
      if (!first || !second) throw new Error('no nodes')
      const [alice, bob] = [await first.api.newSession(), await first.api.newSession()]
      const atSecond = second.api.as(alice.token)
      await sendText(atSecond, bob.id, 'before')
      const operator = first.api.as(first.operatorToken)
      await using sql = await openSql(first)
      await sql.run(`update database_identity set state = 'restored', state_since = 1`)
      const unreadAnswers = (api: Api, code: number) =>
        waitFor(async () => (await api.call('GET', '/message/unread')).code === code, {
          what: `code ${code} for users`,
          timeoutMs: 30_000,
        })
      await unreadAnswers(alice.api, unavailable)
      await unreadAnswers(atSecond, unavailable)
      const finishedAt = Date.now()
      await operator.succeed('POST', '/operator/v1/restore/finish', { body: {} })
      await unreadAnswers(atSecond, 200)
      // Before any other message, since the ID of each one is above those of earlier ones.
      const ids = [await sendText(atSecond, bob.id, 'after')]
      ids.push(await sendText(alice.api, bob.id, 'after'))
      for (const id of ids) expect(timestampOf(id)).toBeGreaterThan(finishedAt + 60_000)
    })
  },
)
