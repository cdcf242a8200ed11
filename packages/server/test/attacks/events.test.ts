/** Readers of the log of events (rule K15). */
import { anyBackend } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { attackMs, expectUnharmed, flood, Honest } from '../support/attack.js'
import { WatchedServer } from '../support/watched-server.js'

/** The rows that a read looks at. */
const rows = 10_000
const readers = 32

describe.each(anyBackend())('the log of events on $name', (backend) => {
  it('32 readers with a key that fits nothing: sends of another application are not delayed', async () => {
    await using watched = await WatchedServer.start(backend)
    const { server, api, sql } = watched
    const honest = await Honest.on(server)
    const appId = 'attacking-app'
    const { data } = await api
      .as(server.operatorToken)
      .succeed('POST', '/operator/v1/app/create', { body: { app_id: appId } })
    const payload = JSON.stringify({
      ...{ actor_id: 10_001, user_ids: [10_001], properties: ['nick_name'] },
      ...{ timestamp: 1_767_225_600_000, changed: { nick_name: 'A name of usual length' } },
    })
    await sql.run(`insert into outbox (app_id, position, kind, payload, created_at)
        with recursive n(i) as (select 1 union all select i + 1 from n where i < ${rows})
        select '${appId}', 100 + i, 'user.info_updated', '${payload}', 1767225600000 from n`)
    await sql.run(`update outbox_heads set position = ${100 + rows} where app_id = '${appId}'`)
    const query = { after: '', key: 'u:1' }
    const read = () =>
      api.call('GET', '/events', { query, appId, token: data.admin_token as string })
    const figures = await honest.beside(`readers of events (${backend.name})`, async () => {
      const codes = await flood({ ms: attackMs, lines: readers }, read)
      expect(codes.get(answerCode.ok)).toBeGreaterThan(0)
      expect(codes.get(answerCode.too_many_event_readers)).toBeGreaterThan(0)
    })
    expectUnharmed(figures)
  })
})
