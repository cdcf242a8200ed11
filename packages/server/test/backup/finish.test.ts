/** Ends of restores that are interrupted after each of their transactions. */
import { errorCatalogue, finishRestore } from '@hermod/protocol'
import { testBackends } from '@hermod/testkit'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../dist/config/config.js'
import { type Context, openContext } from '../../dist/context/context.js'
import { appendErasure } from '../../dist/domain/erasure/erasure-log.js'
import { asValue } from '../../dist/pipeline/executor.js'
import { operatorPrincipal } from '../../dist/pipeline/principal.js'
import { answerCode } from '../support/answer-codes.js'
import { InProcessServer } from '../support/in-process-server.js'
import { sendText, sessions } from '../support/messaging/messaging.js'

/**
 * Finishes a restore in a process that dies after so many commits.
 * @returns the code of the answer
 */
async function dyingFinish({ database, executor }: Context, commits: number): Promise<number> {
  const { transaction } = database
  let left = commits
  database.transaction = async <T>(work: Parameters<typeof transaction<T>>[0]) => {
    if (left === 0) throw new Error('the process has died')
    const result = await transaction.call<Context['database'], [typeof work], Promise<T>>(
      database,
      work,
    )
    if (--left === 0) throw new Error('the process dies')
    return result
  }
  const call = {
    ...{ requestId: 'test', address: 'local', userAgent: '', baseUrl: '', query: {} },
    principal: operatorPrincipal,
    body: () => ({ end_logins: true }),
  }
  try {
    const reply = await executor.execute(finishRestore, call, asValue)
    return reply.kind === 'failure' ? reply.error.entry.code : 200
  } finally {
    database.transaction = transaction
  }
}

describe.each(testBackends())('the end of a restore on $name', (backend) => {
  it('that dies after any of its transactions is repeated, with the effects of one', async () => {
    await using server = await InProcessServer.start(backend)
    const [alice, bob, carol] = await sessions(server, 3)
    await sendText(alice.api, bob.id, 'from alice')
    await sendText(carol.api, bob.id, 'from carol')
    await server.stop()
    const now = Date.now()
    for (const [id, at] of [
      [1, now - 6 * 60_000],
      [2, now - 60_000],
    ] as const)
      await server.sql.run(`insert into push_tasks (app_id, task_id, msg_id, request_id, content, state, begins_at, expires_at, created_at, updated_at, page, page_batch_id, position, devices, finished)
        values ('test', ${id}, ${id}, '', '{"audience":{"kind":"all"},"strategy":"ospush_only"}', 0, ${at}, ${at + 90_000_000}, ${at}, ${at}, 1, 0, 0, 0, 0)`)
    await server.sql.run(`update database_identity set state = 'restored', state_since = 1`)
    const line = {
      app_id: 'test',
      user_id: carol.id,
      at: now,
      messages: 'delete',
      reason: 'wanted',
    }
    await appendErasure(server.dataDir, { ...line, messages: 'delete' })

    const { databaseUrl } = server.place
    const { config, secrets } = loadConfig({
      HERMOD_DATA_DIR: server.dataDir,
      ...(databaseUrl !== undefined && { HERMOD_DATABASE_URL: databaseUrl }),
    })
    const context = await openContext({ config, secrets, log: pino({ level: 'silent' }) })
    let deaths = 0
    try {
      // The last transaction finishes the restore.
      while ((await dyingFinish(context, deaths + 1)) === errorCatalogue.internal_error.code)
        deaths++
      expect(await dyingFinish(context, 1)).toBe(errorCatalogue.not_restored.code)
    } finally {
      await context.stop()
    }
    expect(deaths).toBeGreaterThan(3)

    const [slots] = await server.sql.run('select min(reserved_until) as until from id_slots')
    expect(Number(slots?.until) + Date.UTC(2015, 0, 1)).toBeGreaterThan(now + 60_000)
    const tasks = await server.sql.run('select state from push_tasks order by task_id')
    expect(tasks.map(({ state }) => Number(state))).toEqual([3, 0])
    await server.startAgain()
    const ended = await alice.api.call('GET', '/user/profile')
    expect(ended.code).toBe(answerCode.token_expired)
    const operator = server.api.as(server.operatorToken)
    const { data } = await operator.succeed('GET', '/operator/v1/user/erasures', {
      query: { app_id: server.appId, user_id: carol.id },
    })
    expect(data.erasures).toMatchObject([{ messages: 'delete', finished_at: expect.any(Number) }])
    const { data: check } = await operator.succeed('POST', '/operator/v1/check', { body: {} })
    expect(check.faults).toEqual([])
    await sendText((await server.api.newSession()).api, bob.id, 'after')
  })
})
