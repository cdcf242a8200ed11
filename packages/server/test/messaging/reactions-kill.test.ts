/** Kills of the server under reactions: answered ones are stored, and sums equal their rows. */
import { setTimeout as sleep } from 'node:timers/promises'
import { anyBackend, isFullRun, type ServerProcess, startServer, waitFor } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { sendToGroup } from '../support/groups/group-messaging.js'
import { aGroup } from '../support/groups/groups.js'
import { integrityFaults } from '../support/messaging/messaging.js'
import { Random } from '../support/random.js'

const seed = Number(process.env.HERMOD_TEST_SEED ?? 20_260_101)
const kills = isFullRun ? 12 : 1
const keys = ['a', 'b', 'c']
const env = { HERMOD_CHECK_ANSWERS: 'on', HERMOD_RATE_LIMIT: 'off' }

/** A user and a message, with what the user knows about the own reactions. */
interface Reacting {
  readonly userId: number
  readonly msg_id: number
  readonly own: Set<string>
  /** The key of the call without an answer. */
  unknown: string | null
}

for (const backend of anyBackend('durable'))
  describe(`kills under reactions on ${backend.name}`, () => {
    it('kill: each answered reaction is there or gone as it was wanted, and the sums equal the rows', {
      timeout: 240_000,
    }, async () => {
      const random = new Random(seed)
      await using database = await backend.createDatabase()
      const { url: databaseUrl } = database
      let server: ServerProcess = await startServer({ ...(databaseUrl && { databaseUrl }), env })
      try {
        const users = await Promise.all(Array.from({ length: 4 }, () => server.api.newSession()))
        const [owner, ...members] = users
        if (!owner) throw new Error('no users were made')
        const conversation_id = await aGroup(owner, { members })
        const all: Reacting[] = []
        for (let index = 0; index < 5; index++) {
          const msg_id = await sendToGroup(owner.api, conversation_id, `text ${index}`)
          for (const { id: userId } of users)
            all.push({ userId, msg_id, own: new Set(), unknown: null })
        }
        for (let round = 0; round < kills; round++) {
          let answers = 0
          const reacting = all.map(async (each) => {
            const { userId, msg_id, own } = each
            for (;;) {
              const key = random.pick(keys)
              const on = !own.has(key)
              const body = { conversation_id, type: 2, msg_id, key, on }
              const admin = server.api.admin({ userId })
              const answer = await admin
                .call('POST', '/message/reaction', { body })
                .catch(() => null)
              if (answer?.envelope.code !== 200) {
                // The connection has ended: it is not known whether it is stored.
                each.unknown = key
                return
              }
              if (on) own.add(key)
              else own.delete(key)
              answers++
            }
          })
          const wanted = random.integer(20, 60)
          await waitFor(() => answers >= wanted, { what: 'answers', timeoutMs: 30_000, everyMs: 1 })
          await sleep(random.next() * 10)
          await server.kill9()
          await Promise.all(reacting)
          server = await server.startAgain()
          for (const each of all) await verify(each)
          expect(await integrityFaults(server)).toEqual([])
        }

        async function verify({ userId, msg_id, own, unknown }: Reacting): Promise<void> {
          const query = { conversation_id, msg_id }
          const admin = server.api.admin({ userId })
          const { data } = await admin.succeed('GET', '/message/get', { query })
          const shown = new Set<string>(data.message.own ?? [])
          for (const key of keys)
            if (key !== unknown) expect([key, shown.has(key)]).toEqual([key, own.has(key)])
          own.clear()
          for (const key of shown) own.add(key)
        }
      } finally {
        await server[Symbol.asyncDispose]()
      }
    })
  })
