/** A node that is drained moves its callers to others and ends. */
import {
  type BackendDatabase,
  GatewayClient,
  startServer,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openSql, type Sql } from '../support/database/sql.js'
import { callHermod } from '../support/hermod-command.js'
import { contents, sendText } from '../support/messaging/messaging.js'
import { sharedKey, sharedTokens } from '../support/shared-settings.js'

const postgres = testBackends().filter(({ name }) => name === 'postgres')
const patience = { timeoutMs: 60_000 }

describe.each(postgres)('several nodes', (backend) => {
  let database: BackendDatabase
  let sql: Sql

  beforeEach(async () => {
    database = await backend.createDatabase()
    sql = await openSql({ dataDir: '', databaseUrl: database.url })
  })
  afterEach(async () => {
    await sql[Symbol.asyncDispose]()
    await database[Symbol.asyncDispose]()
  })

  it('drain: the node says so, moves its sessions and its work, and ends with code 0', async () => {
    const databaseUrl = database.url as string
    const env = { ...sharedKey, HERMOD_DRAIN_SECONDS: '1' }
    await using first = await startServer({ ...sharedTokens, databaseUrl, env })
    await using second = await startServer({ ...sharedTokens, databaseUrl, env })
    const [alice, bob] = [await first.api.newSession(), await first.api.newSession()]
    const clients: GatewayClient[] = []
    for (let each = 0; each < 3; each++) {
      const client = await GatewayClient.connect(second.url)
      await client.open({ appId: second.appId, accessToken: bob.token })
      clients.push(client)
    }
    const settings = { HERMOD_DATA_DIR: first.dataDir, HERMOD_DATABASE_URL: databaseUrl }
    const [, drained] = await sql.run('select node_id from nodes order by started_at')
    const command = ['nodes', 'drain', `${drained?.node_id}`]
    expect(await callHermod(command, settings)).toMatchObject({ code: 0 })
    await waitFor(async () => (await fetch(`${second.url}/readyz`)).status === 503, {
      what: '/readyz of the drained node',
      ...patience,
    })
    expect(await (await fetch(`${second.url}/readyz`)).json()).toEqual({
      status: 'not ready',
      reason: 'draining',
    })
    await sendText(second.api.as(alice.token), bob.id, 'to a node that is drained')
    for (const client of clients) {
      const { data } = await client.next('session.closing')
      expect(data).toMatchObject({ reason: 'shutdown', retry_after_ms: expect.any(Number) })
    }
    expect(await second.exited).toEqual({ code: 0, signal: null })
    expect(await contents(first.api.as(bob.token), alice.id)).toEqual(['to a node that is drained'])
    expect(await sql.run('select drain from nodes')).toEqual([{ drain: 0 }])
    await waitFor(
      async () =>
        (
          await sql.run(`select count(*) as works from node_shares s join nodes n on n.lease = s.lease
            where kind = 'webhooks'`)
        )[0]?.works === 16,
      { what: 'the other node has the work', ...patience },
    )
    expect(await callHermod(command, settings)).toMatchObject({
      code: 1,
      err: expect.stringContaining('no live node has this ID'),
    })
  })
})
