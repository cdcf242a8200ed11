/** Imports against a simple model: random calls, repeats, kills and finishes. */
import { anyBackend, isFullRun, type ServerProcess, startServer } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { callImport, importGroup, importItems } from '../support/imports/imports.js'
import { history, integrityFaults, unreadCounts } from '../support/messaging/messaging.js'
import { Random } from '../support/random.js'

const seed = Number(process.env.HERMOD_TEST_SEED ?? 20_260_101)
const rounds = isFullRun ? 40 : 6
const kills = isFullRun ? 10 : 1
const start = Date.UTC(2014, 11, 31, 23, 58)
const env = { HERMOD_CHECK_ANSWERS: 'on', HERMOD_RATE_LIMIT: 'off' }

interface Item {
  readonly external_id: string
  readonly created_at: number
  readonly sender_id: number
  readonly content: string
  readonly reply_to?: string
  readonly reactions?: readonly { readonly user_id: number; readonly key: string }[]
}

interface Log {
  readonly name: { readonly group_id: number } | { readonly peer_id: number }
  readonly senders: readonly number[]
  readonly items: Item[]
  /** The time of the newest message. */
  at: number
}

for (const backend of anyBackend('durable'))
  describe(`imports against a model on ${backend.name}`, () => {
    it('import: logs equal the model after random calls, repeats and kills between commit and answer', {
      timeout: 300_000,
    }, async () => {
      const random = new Random(seed)
      await using database = await backend.createDatabase()
      const { url: databaseUrl } = database
      let server: ServerProcess = await startServer({ ...(databaseUrl && { databaseUrl }), env })
      const ids = new Map<string, number>()
      let made = 0
      try {
        const users = await Promise.all(Array.from({ length: 4 }, () => server.api.newSession()))
        const [alice, bob, carol] = users.map(({ id }) => id) as [number, number, number]
        const groups = [
          await importGroup(server, alice, { external_id: 'one' }),
          await importGroup(server, bob, { external_id: 'two' }),
        ]
        const everybody = users.map(({ id }) => id)
        const logs: Log[] = [
          ...groups.map((group_id) => ({ name: { group_id }, senders: everybody })),
          { name: { peer_id: bob }, senders: [alice] },
          { name: { peer_id: carol }, senders: [carol] },
        ].map((each) => ({ ...each, items: [], at: start }))

        for (let round = 0; round < rounds; round++) {
          const call = aCall()
          const isKilled = round % Math.ceil(rounds / kills) === 1
          if (isKilled) await callAndKill(call)
          await store(call)
          if (random.chance(0.5)) await store(call)
        }
        await importItems(
          server,
          'member',
          groups.flatMap((group_id) => everybody.map((user_id) => ({ user_id, group_id }))),
        )
        for (const log of logs) await verify(log)
        expect(await integrityFaults(server)).toEqual([])

        /** New messages of several logs, with some that are stored already. */
        function aCall(): { log: Log; item: Item }[] {
          const times = new Map<Log, number>()
          return Array.from({ length: random.integer(1, 60) }, () => {
            const log = random.pick(logs)
            const old = log.items.length > 0 && random.chance(0.2)
            if (old) return { log, item: random.pick(log.items) }
            const at = (times.get(log) ?? log.at) + random.pick([0, 0, 1, 500, 70_000])
            times.set(log, at)
            const external_id = `m${made++}`
            const original = random.chance(0.2) ? random.pick(log.items) : undefined
            const item = {
              ...{ external_id, created_at: at, sender_id: random.pick(log.senders) },
              content: `text of ${external_id}`,
              ...(original && { reply_to: original.external_id }),
              ...(random.chance(0.2) && {
                reactions: [{ user_id: random.pick(everybody), key: random.pick(['a', 'b']) }],
              }),
            }
            return { log, item }
          })
        }

        function bodies(call: readonly { log: Log; item: Item }[]) {
          return call.map(({ log, item }) => ({ ...item, ...log.name }))
        }

        /** Kills the server about when it answers: the call is stored or it is not. */
        async function callAndKill(call: readonly { log: Log; item: Item }[]): Promise<void> {
          const answer = callImport(server, 'message', bodies(call)).catch(() => null)
          await new Promise((resolve) => setTimeout(resolve, random.integer(0, 30)))
          await server.kill9()
          await answer
          server = await server.startAgain()
        }

        async function store(call: readonly { log: Log; item: Item }[]): Promise<void> {
          const results = await importItems(server, 'message', bodies(call))
          for (const [index, { log, item }] of call.entries()) {
            const { result, msg_id } = results[index] ?? {}
            expect(['stored', 'known']).toContain(result)
            const known = ids.get(item.external_id)
            expect(known ?? msg_id).toBe(msg_id)
            if (known !== undefined) continue
            ids.set(item.external_id, Number(msg_id))
            log.items.push(item)
            log.at = item.created_at
          }
        }

        async function verify({ name, items, senders }: Log): Promise<void> {
          const peer = 'group_id' in name ? name.group_id : name.peer_id
          const reader = users.find(({ id }) => id === senders[0])
          if (!reader) throw new Error('a log without a reader')
          const api = server.api.as(reader.token)
          const read = (await history(api, peer)).reverse()
          expect(
            read.map(({ content, timestamp, msg_id }) => [content, timestamp, msg_id]),
          ).toEqual(
            items.map(({ content, created_at, external_id }) => [
              content,
              created_at,
              ids.get(external_id),
            ]),
          )
          expect(read.map(({ reactions = [] }) => reactions.map(({ key }) => key))).toEqual(
            items.map(({ reactions = [] }) => reactions.map(({ key }) => key)),
          )
          expect(read.map(({ reply_to }) => reply_to?.msg_id)).toEqual(
            items.map(({ reply_to }) => reply_to && ids.get(reply_to)),
          )
          expect((await unreadCounts(api))[peer] ?? 0).toBe(0)
        }
      } finally {
        await server[Symbol.asyncDispose]()
      }
    })
  })
