/** Reactions to messages. */
import { type Api, GatewayClient, type Json, testBackends, waitFor } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { sendToGroup } from '../support/groups/group-messaging.js'
import { aGroup, expectSuccess, groupCall } from '../support/groups/groups.js'
import { ownServer } from '../support/in-process-server.js'
import { addUsers, anApplication, broadcast } from '../support/messaging/broadcasts.js'
import { operate, recall } from '../support/messaging/message-operations.js'
import {
  conversationList,
  deleteConversation,
  history,
  integrityFaults,
  notify,
  sendText,
  sessions,
  statuses,
  unreadCounts,
} from '../support/messaging/messaging.js'

interface Target {
  readonly conversation_id: number
  readonly type: 1 | 2
  readonly msg_id: number
}

const react = (api: Api, target: Target, key: string, on = true) =>
  api.call('POST', '/message/reaction', { body: { ...target, key, on } })

const codeOf = async (answer: ReturnType<typeof react>) => (await answer).envelope.code

async function shownTo(api: Api, { conversation_id, msg_id }: Target) {
  const query = { conversation_id, msg_id }
  const { message } = (await api.succeed('GET', '/message/get', { query })).data
  return message
}

const listed = async (api: Api, { conversation_id, msg_id }: Target, more = {}) =>
  api.succeed('GET', '/message/reactions', { query: { conversation_id, msg_id, ...more } })

// Most of their time these tests wait for the next transaction of a message.
for (const backend of testBackends())
  describe.concurrent(`reactions on ${backend.name}`, () => {
    const server = ownServer(backend)

    it('reaction: both parties see the sum, its users and their own; a repeat changes nothing', async () => {
      const [alice, bob] = await sessions(server, 2)
      const msg_id = await sendText(alice.api, bob.id, 'text')
      const [ofAlice, ofBob] = [
        { conversation_id: bob.id, type: 1, msg_id },
        { conversation_id: alice.id, type: 1, msg_id },
      ] as const
      for (const key of ['👍', '👍', '❤️']) expectSuccess(await react(bob.api, ofBob, key))
      // The same key in another form: without the selector, and decomposed.
      expectSuccess(await react(alice.api, ofAlice, '❤'))
      expectSuccess(await react(alice.api, ofAlice, 'e\u0301'))
      expectSuccess(await react(alice.api, ofAlice, '\u00e9', false))
      const reactions = [
        { key: '👍', count: 1, latest: [bob.id] },
        { key: '❤️', count: 2, latest: [bob.id, alice.id] },
      ]
      expect(await shownTo(alice.api, ofAlice)).toMatchObject({ reactions, own: ['❤️'] })
      expect(await shownTo(bob.api, ofBob)).toMatchObject({ reactions, own: ['👍', '❤️'] })
      const [page] = await history(bob.api, alice.id)
      expect(page).toMatchObject({ reactions, own: ['👍', '❤️'] })
      const { data } = await listed(bob.api, ofBob)
      expect(data).toMatchObject([
        { user_id: alice.id, key: '❤️' },
        { user_id: bob.id, key: '❤️' },
        { user_id: bob.id, key: '👍' },
      ])
      const first = await listed(alice.api, ofAlice, { key: '❤', limit: 1 })
      expect(first.data).toMatchObject([{ user_id: alice.id }])
      const second = await listed(alice.api, ofAlice, { key: '❤', limit: 1, cursor: first.cursor })
      expect(second.data).toMatchObject([{ user_id: bob.id }])
      expect(second).not.toHaveProperty('cursor')
      for (const key of ['👍', '❤️']) expectSuccess(await react(bob.api, ofBob, key, false))
      expectSuccess(await react(alice.api, ofAlice, '❤', false))
      expect(await shownTo(bob.api, ofBob)).not.toHaveProperty('reactions')
      expect(await shownTo(bob.api, ofBob)).not.toHaveProperty('own')
      expect(await integrityFaults(server)).toEqual([])
    })

    it('reaction: adding needs the right to send, removing the right to read', async () => {
      const [alice, bob, carol] = await sessions(server, 3)
      const msg_id = await sendText(alice.api, bob.id, 'text')
      const ofBob = { conversation_id: alice.id, type: 1, msg_id } as const
      expectSuccess(await react(bob.api, ofBob, '👍'))
      await alice.api.succeed('PUT', '/roster/block', { query: { user_id: bob.id } })
      expect(await codeOf(react(bob.api, ofBob, '❤️'))).toBe(answerCode.blocked_by_recipient)
      expectSuccess(await react(bob.api, ofBob, '👍', false))
      expect(await codeOf(react(carol.api, ofBob, '👍'))).toBe(answerCode.message_not_found)
      const asGroup = { ...ofBob, type: 2 } as const
      expect(await codeOf(react(bob.api, asGroup, '👍'))).toBe(answerCode.group_not_found)
      const refused = ['', 'a\u0000', '\n', '\u007f', '\u0085', '\uFE0F', '\ud83d']
      for (const key of [...refused, 'x'.repeat(65), `${'👍'.repeat(16)}x`])
        expect(await codeOf(react(bob.api, ofBob, key))).toBe(answerCode.invalid_parameter)
      await alice.api.succeed('POST', '/roster/unblock', { query: { user_id: bob.id } })
      expectSuccess(await react(bob.api, ofBob, '👍'.repeat(16)))
      const [stranger, peer] = await addUsers(await anApplication(server), 2)
      expect(await codeOf(react(stranger.api, { ...ofBob, conversation_id: peer.id }, 'a'))).toBe(
        answerCode.message_not_found,
      )

      const group = await aGroup(alice, { members: [bob] })
      const message = await sendToGroup(alice.api, group, 'text')
      const ofGroup = { conversation_id: group, type: 2, msg_id: message } as const
      expectSuccess(await react(bob.api, ofGroup, '👍'))
      const ban = { user_list: [bob.id], duration: -1 }
      expectSuccess(await groupCall(alice.api, '/group/ban', group, ban))
      expect(await codeOf(react(bob.api, ofGroup, '❤️'))).toBe(answerCode.member_banned)
      expectSuccess(await react(bob.api, ofGroup, '👍', false))
      expectSuccess(await groupCall(alice.api, '/group/unban', group, { user_list: [bob.id] }))
      expectSuccess(await react(bob.api, ofGroup, '👍'))
      const anHour = { duration: 60 }
      expectSuccess(await groupCall(alice.api, '/group/settings/ban_all', group, anHour))
      expect(await codeOf(react(bob.api, ofGroup, '❤️'))).toBe(answerCode.member_banned)
      expectSuccess(await react(bob.api, ofGroup, '👍', false))
      expect(await codeOf(react(carol.api, ofGroup, '👍'))).toBe(answerCode.member_required)
      const admin = server.api.admin({ userId: carol.id })
      expect(await codeOf(react(admin, ofGroup, '👍'))).toBe(answerCode.member_required)
      expectSuccess(await react(server.api.admin({ userId: bob.id }), ofGroup, '👍'))
    })

    it('reaction: a recall takes them along, an edit keeps them, hidden messages have none', async () => {
      const [alice, bob] = await sessions(server, 2)
      const message = await sendText(alice.api, bob.id, 'text')
      const ofBob = { conversation_id: alice.id, type: 1, msg_id: message } as const
      expectSuccess(await react(bob.api, ofBob, '👍'))
      await operate(alice.api, 'replace', { peer: bob.id, message, content: 'edited' })
      expect(await shownTo(bob.api, ofBob)).toMatchObject({ content: 'edited', own: ['👍'] })
      await recall(alice.api, bob.id, message)
      expect(await codeOf(react(bob.api, ofBob, '👍'))).toBe(answerCode.message_not_found)
      const hidden = await sendText(alice.api, bob.id, 'hidden')
      await deleteConversation(bob.api, alice.id)
      const target = { ...ofBob, msg_id: hidden }
      expect(await codeOf(react(bob.api, target, '👍'))).toBe(answerCode.message_not_found)
      expect(await integrityFaults(server)).toEqual([])
    })

    it('reaction: a user has at most 20 on a message, and those at once are stored together', async () => {
      const [alice, bob] = await sessions(server, 2)
      const msg_id = await sendText(alice.api, bob.id, 'text')
      const ofBob = { conversation_id: alice.id, type: 1, msg_id } as const
      const keys = Array.from({ length: 22 }, (_, index) => `key ${index}`)
      const codes = await Promise.all(keys.map((key) => codeOf(react(bob.api, ofBob, key))))
      const refused = codes.filter((code) => code === answerCode.reaction_or_pin_limit_reached)
      expect(refused).toHaveLength(2)
      const { reactions, own } = await shownTo(bob.api, ofBob)
      expect(reactions).toHaveLength(20)
      expect(own).toHaveLength(20)
      const [low_id, high_id] = [Math.min(alice.id, bob.id), Math.max(alice.id, bob.id)]
      const log = { low_id, high_id, is_group: false }
      const page = await bob.api.succeed('POST', '/message/changes', {
        body: { log, after_change: 0 },
      })
      // The message, the first reaction alone, then the others.
      expect(page.data.change).toBeLessThan(6)
      expect(await integrityFaults(server)).toEqual([])
    })

    it('reaction: a message has at most 50 different ones, and more users have each', async () => {
      const [owner, ...members] = await sessions(server, 4)
      if (!owner) throw new Error('no users were made')
      const group = await aGroup(owner, { members })
      const msg_id = await sendToGroup(owner.api, group, 'text')
      const target = { conversation_id: group, type: 2, msg_id } as const
      const keys = Array.from({ length: 51 }, (_, index) => `key ${index}`)
      const reactAs = (index: number) => {
        const { api } = members[Math.floor(index / 20)] ?? owner
        return react(api, target, keys[index] as string)
      }
      for (const answer of await Promise.all(keys.slice(0, 50).map((_, index) => reactAs(index))))
        expectSuccess(answer)
      const codes = await Promise.all([
        codeOf(reactAs(50)),
        codeOf(react(owner.api, target, 'key 0')),
      ])
      expect(codes).toEqual([answerCode.reaction_or_pin_limit_reached, answerCode.ok])
      expectSuccess(await react(members[1]?.api as Api, target, 'key 20', false))
      expectSuccess(await reactAs(50))
      const { reactions } = await shownTo(owner.api, target)
      expect(reactions).toHaveLength(50)
      expect(reactions.find(({ key }: Json) => key === 'key 0').count).toBe(2)
    })

    it('reaction: moves no position, no unread count, and no place in a list', async () => {
      const [alice, bob] = await sessions(server, 2)
      const msg_id = await sendText(alice.api, bob.id, 'text')
      await sendText(alice.api, bob.id, 'another')
      const seen = async () => [
        await conversationList(alice.api),
        await conversationList(bob.api),
        await unreadCounts(bob.api),
        await statuses(alice.api, bob.id),
      ]
      const before = await seen()
      for (const on of [true, false, true]) {
        const target = { conversation_id: alice.id, type: 1, msg_id } as const
        expectSuccess(await react(bob.api, target, 'a', on))
        expect(await seen()).toEqual(before)
      }
    })

    it('reaction: one that waits is dropped when its connection ends', async () => {
      const [alice, bob] = await sessions(server, 2)
      const msg_id = await sendText(alice.api, bob.id, 'text')
      const ofBob = { conversation_id: alice.id, type: 1, msg_id } as const
      const ofAlice = { ...ofBob, conversation_id: bob.id }
      const client = await GatewayClient.connect(server.url)
      await client.open({ appId: server.appId, accessToken: bob.token })
      // From 20 reactions on the next one waits for a second.
      const keys = Array.from({ length: 11 }, (_, index) => `key ${index}`)
      for (const [{ api }, target] of [
        [alice, ofAlice],
        [bob, ofBob],
      ] as const)
        for (const answer of await Promise.all(
          keys.map((key) => react(api, target, `${key} of ${target.conversation_id}`)),
        ))
          expectSuccess(answer)
      const waiting = client.call('message.reaction', { ...ofBob, key: 'waiting', on: true })
      waiting.catch(() => {})
      // Frames are taken in their order.
      await client.succeed('user.profile.get')
      client[Symbol.dispose]()
      expectSuccess(await react(alice.api, ofAlice, 'of another user'))
      const { reactions } = await shownTo(bob.api, ofBob)
      const shown = reactions.map(({ key }: Json) => key)
      expect([shown.length, shown.at(-1)]).toEqual([23, 'of another user'])
      expect(shown).not.toContain('waiting')
    })

    it('reaction: mode one replaces the reaction of a user', async () => {
      const admin = await anApplication(server)
      const body = { app_id: admin.options.appId, settings: { reaction_mode: 'one' } }
      await server.api.as(server.operatorToken).succeed('POST', '/operator/v1/app/update', { body })
      const [alice, bob] = await addUsers(admin, 2)
      const msg_id = await sendText(alice.api, bob.id, 'text')
      const ofBob = { conversation_id: alice.id, type: 1, msg_id } as const
      expectSuccess(await react(bob.api, ofBob, 'a'))
      expectSuccess(await react(bob.api, ofBob, 'b'))
      expect(await shownTo(bob.api, ofBob)).toMatchObject({
        reactions: [{ key: 'b', count: 1, latest: [bob.id] }],
        own: ['b'],
      })
    })

    it('reaction: not to broadcasts, messages of the system and in chatrooms', async () => {
      // The broadcast would be in the lists of the users of other tests.
      const admin = await anApplication(server)
      const [alice, bob] = await addUsers(admin, 2)
      await broadcast(admin, 'to all', { from_user_id: alice.id })
      await notify(admin, bob.id, 'welcome')
      const room = await aGroup(alice, { members: [bob], more: { type: 2 } })
      await sendToGroup(alice.api, room, 'text')
      for (const [conversation_id, type] of [
        [alice.id, 1],
        [0, 1],
        [room, 2],
      ] as const) {
        const [newest] = await history(bob.api, conversation_id)
        const target = { conversation_id, type, msg_id: Number(newest?.msg_id) }
        expect(await codeOf(react(bob.api, target, 'a'))).toBe(answerCode.message_type_refused)
      }
    })

    it('reaction: the newest five users stay known when some of them remove theirs', async () => {
      const [owner, ...members] = await sessions(server, 8)
      if (!owner) throw new Error('no users were made')
      const group = await aGroup(owner, { members })
      const msg_id = await sendToGroup(owner.api, group, 'text')
      const target = { conversation_id: group, type: 2, msg_id } as const
      for (const { api } of members) expectSuccess(await react(api, target, 'a'))
      const ids = members.map(({ id }) => id)
      const shown = async () => (await shownTo(owner.api, target)).reactions
      expect(await shown()).toEqual([{ key: 'a', count: 7, latest: ids.slice(-5) }])
      for (const { api } of members.slice(3, 5)) expectSuccess(await react(api, target, 'a', false))
      const left = ids.filter((id) => id !== ids[3] && id !== ids[4])
      expect(await shown()).toEqual([{ key: 'a', count: 5, latest: left }])
      expect(await integrityFaults(server)).toEqual([])
    })

    it('reaction: devices get the sums with a number, other systems what was added and removed', async () => {
      const [alice, bob] = await sessions(server, 2)
      using client = await GatewayClient.connect(server.url)
      const opened = { appId: server.appId, features: ['message.updated'] }
      await client.open({ ...opened, accessToken: alice.token })
      using actor = await GatewayClient.connect(server.url)
      await actor.open({ ...opened, accessToken: bob.token })
      const msg_id = await sendText(alice.api, bob.id, 'text')
      await actor.succeed('message.reaction', {
        ...{ conversation_id: alice.id, type: 1, msg_id, key: 'a', on: true },
      })
      expectSuccess(
        await react(bob.api, { conversation_id: alice.id, type: 1, msg_id }, 'a', false),
      )
      const events = await Promise.all(
        [client, actor].map(async (each) => {
          await each.next(({ change }) => change === 3)
          return each.events.filter(({ event }) => event === 'message.updated')
        }),
      )
      const reacted = (on: boolean) => [{ user_id: bob.id, key: 'a', on }]
      for (const received of events)
        expect(received).toMatchObject([
          {
            change: 2,
            data: {
              actor_id: bob.id,
              set: { reactions: [{ key: 'a', count: 1, latest: [bob.id] }] },
              reacted: reacted(true),
            },
          },
          { change: 3, data: { set: { reactions: null }, reacted: reacted(false) } },
        ])
      const { data } = await server.api.admin().succeed('GET', '/events', {
        query: { after: '', kinds: 'message.reaction' },
      })
      const ofMessage = data.events.filter((each: Json) => each.data.msg_id === msg_id)
      expect(ofMessage.map((each: Json) => each.data)).toMatchObject([
        { actor_id: bob.id, user_ids: [bob.id], seq: 1, reacted: reacted(true) },
        { reacted: reacted(false) },
      ])
    })

    it('reaction: the deletion of a user takes theirs, with an event that does not name them', async () => {
      const [alice, bob] = await sessions(server, 2)
      const group = await aGroup(alice, { members: [bob] })
      const direct = await sendText(alice.api, bob.id, 'text')
      const inGroup = await sendToGroup(alice.api, group, 'text')
      const targets = [
        { conversation_id: bob.id, type: 1, msg_id: direct },
        { conversation_id: group, type: 2, msg_id: inGroup },
      ] as const
      const [first, second] = targets
      expectSuccess(await react(bob.api, { ...first, conversation_id: alice.id }, 'a'))
      for (const { api } of [alice, bob]) expectSuccess(await react(api, second, 'a'))
      expectSuccess(await server.api.admin({ userId: bob.id }).call('POST', '/user/delete'))
      const isGone = async () => {
        const shown = await Promise.all(targets.map((each) => shownTo(alice.api, each)))
        return shown.every((each) => !JSON.stringify(each.reactions ?? []).includes(`${bob.id}`))
      }
      await waitFor(isGone, { what: 'the end of the reactions', timeoutMs: 10_000 })
      expect(await shownTo(alice.api, first)).not.toHaveProperty('reactions')
      expect(await shownTo(alice.api, second)).toMatchObject({
        reactions: [{ key: 'a', count: 1, latest: [alice.id] }],
      })
      expect(await integrityFaults(server)).toEqual([])
    })
  })
