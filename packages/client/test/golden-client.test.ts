/**
 * The client as it was before replies, reactions, pinned messages and streams, against the server
 * of today: what it shows equals the answers over HTTP, new fields aside.
 */
import { anyBackend, isFullRun, type Json } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { FieldChanges } from '../../server/test/support/messaging/field-changes.js'
import { textToGroups } from '../../server/test/support/groups/group-messaging.js'
import { historyPage } from '../../server/test/support/messaging/messaging.js'
import { Random } from '../../server/test/support/random.js'
import type { Client, Conversation, ConversationRef, View } from '../src/api.js'
import { createClient } from './fixtures/golden-client.js'
import { AppPlayground, type AppSetup } from './support/app-playground.js'

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

for (const backend of anyBackend()) {
  describe(`an earlier client on ${backend.name}`, () => {
    it('earlier client: shows what the server answers after random work and cuts', {
      timeout: 300_000,
    }, async () => {
      const random = new Random(seed)
      const options = { backend, random, users: 3, groups: 2, apps }
      await using playground = await AppPlayground.start(options)
      await using changes = new FieldChanges(playground.place)
      const owner = playground.people[0]?.id as number
      let [altered, replies] = [0, 0]

      /** Pins a message of a group, or unpins it. */
      async function changeFields(): Promise<void> {
        const group = random.pick(playground.groups)
        const { messages } = await historyPage(playground.apiOf(owner), group)
        const messageId = Number(messages.length > 0 && random.pick(messages).msg_id)
        const pinned = random.chance(0.7) ? { by: owner, at: altered } : null
        const change = { messageId, actorId: owner, set: { pinned } }
        altered += await changes.group(playground.server.appId, group, change)
      }

      /** Replies to a message of a group. */
      async function reply(): Promise<void> {
        const group = random.pick(playground.groups)
        const { messages } = await historyPage(playground.apiOf(owner), group)
        if (messages.length === 0) return
        const reply_to = Number(random.pick(messages).msg_id)
        const body = textToGroups([group], `reply ${++replies}`, { reply_to })
        await playground.apiOf(owner).call('POST', '/message/send', { body })
      }

      const written: { readonly group: number; readonly msg_id: number; next: number }[] = []
      let ends = 0

      /** Begins a stream in a group, or continues or ends one; who may not send is refused. */
      async function writeStream(): Promise<void> {
        const api = playground.apiOf(owner)
        const stream = random.chance(0.6) && written.length > 0 && random.pick(written)
        if (!stream) {
          const group = random.pick(playground.groups)
          const more = { type: 2, content_type: 0, stream: { kind: 'text' } }
          const body = { targets: [group], content: 'begun', ...more }
          const { code, envelope } = await api.call<Json>('POST', '/message/send', { body })
          if (code === 200) written.push({ group, msg_id: envelope.msg_ids[0], next: 1 })
          return
        }
        const { group, msg_id, next: index } = stream
        const piece = { conversation_id: group, type: 2, msg_id, index, text: `piece ${index} ` }
        const body = { ...piece, ...(random.chance(0.3) && { end: { state: 'done' } }) }
        const { code } = await api.call('POST', '/message/stream/append', { body })
        if (code === 200) stream.next++
        if (code !== 200 || 'end' in body) written.splice(written.indexOf(stream), 1)
        if (code === 200 && 'end' in body) ends++
      }

      await playground.run(workMs, async () => {
        if (random.chance(0.3)) playground.cut()
        else if (random.chance(0.4)) await writeStream()
        else await (random.chance(0.2) ? reply() : changeFields())
      })
      expect(altered).toBeGreaterThan(0)
      expect(ends).toBeGreaterThan(0)
      expect(await playground.settle()).toEqual([])
      expect(await playground.lost()).toEqual([])
    })
  })
}
