/**
 * The client as it was before replies, reactions, pinned messages and streams, against the server
 * of today: what it shows equals the answers over HTTP, new fields aside.
 */
import { anyBackend, isFullRun, type Session, waitFor } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { expectSuccess, groupCall } from '../../server/test/support/groups/groups.js'
import { Random } from '../../server/test/support/random.js'
import type { Client, Conversation, ConversationRef, View } from '../src/api.js'
import { createClient } from './fixtures/golden-client.js'
import { AppPlayground, type AppSetup } from './support/app-playground.js'
import { MessageWork } from './support/message-work.js'

const seed = Number(process.env.HERMOD_TEST_SEED ?? 20_260_101)
const workMs = isFullRun ? 10_000 : 1_000

const apps = {
  memory: ({ token, ...setup }: AppSetup): Client => {
    const client = createClient({ ...setup, token: () => token })
    // The names of that time.
    const value = ({ id, kind }: ConversationRef) => {
      const conversation = client.conversation(...([id, kind] as never as [never]))
      const { loadOlder } = conversation as never as Conversation['messages']
      return { ...conversation, messages: { ...conversation.messages, loadOlder } }
    }
    const named = <T extends object, N>(view: View<T | undefined>, name: (value: T) => N) => ({
      ...view,
      getSnapshot: () => {
        const value = view.getSnapshot()
        return value && name(value)
      },
    })
    const list = named(client.groups.list, (groups) =>
      groups.map((group) => ({ id: (group as never as { group_id: number }).group_id })),
    )
    const profile = named(client.profile, (own) => ({
      nickname: (own as never as { nick_name: string }).nick_name,
    }))
    return Object.create(client, {
      conversation: { value },
      groups: { value: { ...client.groups, list } },
      profile: { value: profile },
    })
  },
}

/** What must have happened at least once. */
const kinds = [
  ...['reply', 'edit', 'refused edit', 'reaction', 'pin', 'unpin', 'append'],
  ...['stream', 'stream of a bot', 'stream/cancel'],
  ...['stream done', 'stream failed', 'stream cancelled'],
]
const shortKinds = ['reply', 'edit', 'reaction', 'pin', 'stream done']
/** Kinds that only clients that know them are sent. */
const newKinds = /"event":"(message\.updated|changes\.skipped|message\.delta|message\.activity)"/g

for (const backend of anyBackend()) {
  describe(`an earlier client on ${backend.name}`, () => {
    it('earlier client: shows what the server answers after random work and cuts', {
      timeout: 300_000,
    }, async () => {
      const random = new Random(seed)
      const settings = { HERMOD_STREAM_SILENT_SECONDS: '1', HERMOD_STREAMS_PER_SENDER: '1000' }
      const options = { backend, random, users: 3, groups: 2, apps, settings }
      await using playground = await AppPlayground.start(options)
      const { people, groups } = playground
      const admin = (userId?: number) => playground.server.api.admin(userId ? { userId } : {})
      const { data } = await admin().succeed('POST', '/token/issue', {
        body: { issuer: 'app', subject: 'bot', create: { is_bot: true } },
      })
      const work = new MessageWork({
        ...{ random, groups, admin },
        people: people.map(({ id }) => ({ id, api: () => playground.apiOf(id) })),
        bot: { id: data.user_id, api: () => playground.server.api.as(data.token) },
      })
      const [owner] = people as [Session]
      const user_list = [data.user_id]
      const join = groupCall(owner.api, '/group/admin/member_join', groups[0], { user_list })
      await expectSuccess(await join)
      const unknown = new Set<string>()
      for (const { proxy } of playground.apps)
        proxy.onText = (text) => {
          for (const [, kind = ''] of text.matchAll(newKinds)) unknown.add(kind)
        }

      await playground.run(workMs, async () => {
        const choice = random.next()
        if (choice < 0.1) playground.cut()
        else if (choice < 0.15) await playground.addGroup({ history_visible: random.chance(0.5) })
        else if (choice < 0.2) await Promise.all([playground.goOffline(), work.reactOften()])
        else await work.step()
      })
      const wanted = isFullRun ? kinds : shortKinds
      const missing = () => wanted.filter((kind) => !work.done.has(kind))
      for (let steps = 0; missing().length > 0 && steps < 1_000; steps++) await work.step()
      expect(missing()).toEqual([])
      const waiting = { what: 'the end of silent streams', timeoutMs: 20_000 }
      const states = await waitFor(async () => {
        const found = await work.streamStates()
        return !found.has('open') && found
      }, waiting)
      if (isFullRun) expect([...states]).toContain('interrupted')
      expect(await playground.settle()).toEqual([])
      expect(await playground.lost()).toEqual([])
      if (process.env.HERMOD_SHOW_FIGURES) console.log(Object.fromEntries(work.done), [...states])
      expect([...unknown]).toEqual([])
    })
  })
}
