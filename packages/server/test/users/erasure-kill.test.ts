/** Kills of the server in the middle of an erasure, and others who go on meanwhile. */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  anyBackend,
  isFullRun,
  type Json,
  type ServerProcess,
  startServer,
  waitFor,
} from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { aGroup } from '../support/groups/groups.js'
import { integrityFaults, sendText } from '../support/messaging/messaging.js'
import { Random } from '../support/random.js'

const seed = Number(process.env.HERMOD_TEST_SEED ?? 20_260_101)
const kills = isFullRun ? 10 : 1
const groups = isFullRun ? 200 : 10
const messages = isFullRun ? 10_000 : 800
/** Messages that are sent at once. */
const chunk = 100
const env = { HERMOD_CHECK_ANSWERS: 'on', HERMOD_RATE_LIMIT: 'off' }
/** A send beside an erasure waits for one small transaction at most. */
const slowestSendMs = 1_500

for (const backend of anyBackend('durable'))
  describe(`kills of an erasure on ${backend.name}`, () => {
    it('kill: the job goes on, nothing of the person is left, and others send meanwhile', {
      timeout: 400_000,
    }, async () => {
      const random = new Random(seed)
      await using database = await backend.createDatabase()
      const { url: databaseUrl } = database
      let server: ServerProcess = await startServer({ ...(databaseUrl && { databaseUrl }), env })
      try {
        const [alice, bob, carol] = [
          await server.api.newSession(),
          await server.api.newSession(),
          await server.api.newSession(),
        ]
        const marker = `zq${alice.id.toString(36)}qz`
        const targets: number[] = []
        for (let group = 0; group < groups; group++)
          targets.push(await aGroup(bob, { members: [alice] }))
        for (let sent = 0; sent < messages; sent += chunk)
          await Promise.all(
            Array.from({ length: chunk }, (_, index) =>
              sendText(
                alice.api,
                targets[(sent + index) % groups] ?? 0,
                `${marker} ${sent + index}`,
                {
                  type: 2,
                },
              ),
            ),
          )
        const operate = (path: string, body: object) =>
          server.api.as(server.operatorToken).succeed('POST', `/operator/v1/${path}`, { body })
        const of = { app_id: server.appId, user_id: alice.id }
        const { data } = await operate('user/erase', { ...of, messages: 'delete', reason: 'test' })
        const jobOf = async (): Promise<Json> => {
          const { data: job } = await server.api
            .as(server.operatorToken)
            .succeed('GET', '/operator/v1/job/get', { query: { job_id: data.job_id } })
          return job
        }
        for (let round = 0; round < kills && (await jobOf()).ended_at === 0; round++) {
          await sleep(random.integer(20, 1_500))
          await server.kill9()
          server = await server.startAgain()
        }
        let slowest = 0
        const end = await waitFor(
          async () => {
            const startedAt = performance.now()
            await sendText(server.api.admin({ userId: bob.id }), carol.id, 'meanwhile')
            slowest = Math.max(slowest, performance.now() - startedAt)
            const job = await jobOf()
            return job.ended_at !== 0 && job
          },
          { what: 'the end of the erasure', timeoutMs: 240_000, everyMs: 5 },
        )
        expect([end.state, end.error]).toEqual(['done', ''])
        expect(slowest).toBeLessThan(slowestSendMs)
        expect(end.result.counts.messages).toBeLessThanOrEqual(messages)
        const { data: found } = await operate('user/check_erased', { ...of, texts: [marker] })
        expect(found.faults).toEqual([])
        expect(await integrityFaults(server)).toEqual([])
      } finally {
        await server[Symbol.asyncDispose]()
      }
    })
  })
