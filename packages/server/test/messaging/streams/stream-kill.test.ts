/** Kills of the server while messages are written: answered pieces are stored once and in order. */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  isFullRun,
  type ServerProcess,
  type Session,
  startServer,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { integrityFaults } from '../../support/messaging/messaging.js'
import { append, begin, shown } from '../../support/messaging/streams.js'
import { Random } from '../../support/random.js'

const seed = Number(process.env.HERMOD_TEST_SEED ?? 20_260_101)
const kills = isFullRun ? 8 : 1
const writerCount = 6
const timeoutMs = 240_000
const env = {
  HERMOD_CHECK_ANSWERS: 'on',
  HERMOD_RATE_LIMIT: 'off',
  HERMOD_STREAM_APPENDS_PER_SECOND: '1000',
  HERMOD_STREAM_APPEND_BURST: '9000',
  HERMOD_STREAM_SILENT_SECONDS: '600',
}

/** A message that is written, with what its sender knows about it. */
interface Written {
  readonly msg_id: number
  /** Pieces that were answered. */
  answered: number
}

const piece = (index: number) => `${index} `
const textUpTo = (index: number) =>
  Array.from({ length: index }, (_, before) => piece(before + 1)).join('')

for (const backend of testBackends('durable'))
  describe(`kills while streams are written on ${backend.name}`, () => {
    it('kill: each answered piece is there, none twice, and the next one is taken', {
      timeout: timeoutMs,
    }, async () => {
      const random = new Random(seed)
      await using database = await backend.createDatabase()
      const { url: databaseUrl } = database
      let server: ServerProcess = await startServer({ ...(databaseUrl && { databaseUrl }), env })
      try {
        const [sender, reader] = (await Promise.all([
          server.api.newSession(),
          server.api.newSession(),
        ])) as [Session, Session]
        const callers = () => ({
          sender: { api: server.api.as(sender.token) },
          reader: { ...reader, api: server.api.as(reader.token) },
        })
        const all: Written[] = []
        for (let index = 0; index < writerCount; index++)
          all.push({ msg_id: await begin(sender, reader), answered: 0 })
        for (let round = 0; round < kills; round++) {
          let answers = 0
          const { sender: writer } = callers()
          const writing = all.map(async (each) => {
            for (;;) {
              const index = each.answered + 1
              const body = { msg_id: each.msg_id, index, text: piece(index) }
              const answer = await append(writer, reader, body).catch(() => null)
              // The connection has ended: it is not known whether the piece is stored.
              if (typeof answer?.next_index !== 'number') return
              each.answered = index
              answers++
            }
          })
          const wanted = random.integer(20, 80)
          await waitFor(() => answers >= wanted, { what: 'answers', timeoutMs: 30_000, everyMs: 1 })
          await sleep(random.next() * 10)
          await server.kill9()
          await Promise.all(writing)
          server = await server.startAgain()
          await verify(all)
        }
        for (const { msg_id, answered } of all) {
          const last = { msg_id, index: answered + 1, text: '', end: { state: 'done' } }
          expect(await append(callers().sender, reader, last)).toMatchObject({ cancel: false })
          const message = await shown(callers().reader, sender.id, msg_id)
          expect(message.content).toBe(textUpTo(answered))
        }
        expect(await integrityFaults(server)).toEqual([])

        /** Repeats the piece whose answer was lost: it is stored once, whether it was before or not. */
        async function verify(written: readonly Written[]): Promise<void> {
          const { sender: writer, reader: caller } = callers()
          for (const each of written) {
            const { msg_id, answered } = each
            const before = await shown(caller, sender.id, msg_id)
            expect([textUpTo(answered), textUpTo(answered + 1)]).toContain(before.stream.text)
            const index = answered + 1
            const repeat = { msg_id, index, text: piece(index) }
            expect(await append(writer, reader, repeat)).toMatchObject({ next_index: index + 1 })
            each.answered = index
            const after = await shown(caller, sender.id, msg_id)
            expect(after.stream).toMatchObject({ next_index: index + 1, text: textUpTo(index) })
          }
          expect(await integrityFaults(server)).toEqual([])
        }
      } finally {
        await server[Symbol.asyncDispose]()
      }
    })
  })
