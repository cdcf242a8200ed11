/** Replies, and what readers see of their originals (rule E8c). */
import { type Api, type Json, type Session, testBackends } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { block } from '../support/contacts.js'
import { sendToGroup, textToGroups } from '../support/groups/group-messaging.js'
import { aGroup, expectSuccess, groupCall, types } from '../support/groups/groups.js'
import { ownServer } from '../support/in-process-server.js'
import { broadcast, newestId } from '../support/messaging/broadcasts.js'
import { aMoment, keepHistory, Retention } from '../support/messaging/history-retention.js'
import { operate, recall } from '../support/messaging/message-operations.js'
import {
  deleteConversation,
  historyPage,
  integrityFaults,
  notify,
  send,
  sendText,
  sessions,
  textTo,
} from '../support/messaging/messaging.js'
import {
  changesPage,
  direct,
  groupLog,
  type LogKey,
  logPage,
  syncPage,
} from '../support/messaging/sync-client.js'

for (const backend of testBackends())
  describe(`replies on ${backend.name}`, () => {
    const server = ownServer(backend)

    const get = async (api: Api, conversation_id: number, msg_id: number) =>
      (await api.succeed('GET', '/message/get', { query: { conversation_id, msg_id } })).data

    const join = async (owner: Session, group: number, member: Session) =>
      expectSuccess(
        await groupCall(owner.api, '/group/admin/member_join', group, { user_list: [member.id] }),
      )

    /** The quotes in each kind of answer that holds the reply as its newest message, and no other. */
    async function quotesIn(api: Api, peer: number, log: LogKey, reply: number): Promise<Json[]> {
      const { heads, quotes } = await syncPage(api, { list: true, window: 1 })
      const head = heads.find(
        ({ log: { high_id, low_id } }) => high_id === log.high_id && low_id === log.low_id,
      )
      expect(head?.messages).toMatchObject([{ msg_id: reply }])
      const change = Number(head?.change)
      const changes = await changesPage(api, log, change - 1)
      return [
        (await get(api, peer, reply)).quotes,
        (await historyPage(api, peer, { limit: 1 })).quotes,
        (await logPage(api, log, { limit: 1 })).quotes,
        quotes,
        ...(changes.changes[0]?.event === 'message.stored' ? [changes.quotes] : []),
      ]
    }

    it('a reply names its original in every answer; edits keep it, forwards drop it', async () => {
      const [alice, bob] = await sessions(server, 2)
      const original = await sendText(alice.api, bob.id, 'original')
      const reply = await sendText(bob.api, alice.id, 'reply', { reply_to: original })
      const named = { msg_id: original, seq: 1 }
      const log = direct(alice.id, bob.id)
      const edit = { peer: alice.id, message: reply, content: ' edited' }
      await operate(bob.api, 'append', edit)
      for (const { api, id } of [alice, bob]) {
        const peer = id === alice.id ? bob.id : alice.id
        const shown = { msg_id: reply, content: 'reply edited', reply_to: named }
        expect((await get(api, peer, reply)).message).toMatchObject(shown)
        expect((await historyPage(api, peer)).messages[0]).toMatchObject(shown)
        expect((await logPage(api, log)).messages[0]).toMatchObject(shown)
        expect((await changesPage(api, log, 2)).changes.at(-1)?.data).toMatchObject(shown)
        expect((await historyPage(api, peer)).messages[1]).not.toHaveProperty('reply_to')
        // The page has the original itself.
        expect(await historyPage(api, peer)).not.toHaveProperty('quotes')
      }
      const changed = await operate(bob.api, 'replace', { ...edit, reply_to: reply })
      expect(changed.code).toBe(answerCode.invalid_parameter)
      const forward = { content_type: 7, reply_to: original }
      const forwarded = await sendText(bob.api, alice.id, 'forward', forward)
      expect((await get(bob.api, alice.id, forwarded)).message).not.toHaveProperty('reply_to')
      expect(await integrityFaults(server)).toEqual([])
    })

    it('quotes show the present text of an original, and that it was recalled', async () => {
      const [alice, bob] = await sessions(server, 2)
      const long = '🙂'.repeat(250)
      const original = await sendText(alice.api, bob.id, long)
      const reply = await sendText(bob.api, alice.id, 'reply', { reply_to: original })
      const log = direct(alice.id, bob.id)
      const common = { msg_id: original, seq: 1, sender_id: alice.id }
      const present = { ...common, state: 'present', content_type: 0 }
      const all = (quote: Json) => expect.arrayContaining([[quote]])
      const expectQuotes = async (quote: Json) => {
        for (const { api, id } of [alice, bob]) {
          const found = await quotesIn(api, id === alice.id ? bob.id : alice.id, log, reply)
          expect(found).toEqual(found.map(() => [quote]))
          expect(found).toEqual(all(quote))
        }
      }
      await expectQuotes({ ...present, excerpt: '🙂'.repeat(200) })
      await operate(alice.api, 'replace', { peer: bob.id, message: original, content: 'edited' })
      await expectQuotes({ ...present, excerpt: 'edited' })
      await recall(alice.api, bob.id, original)
      await expectQuotes({ ...common, state: 'recalled' })
    })

    it('quotes have each original once, and those of all logs of a sync', async () => {
      const [alice, bob, carol] = await sessions(server, 3)
      const originals = []
      for (const peer of [bob, carol]) {
        const original = await sendText(alice.api, peer.id, `to ${peer.id}`)
        originals.push(original)
        await sendText(peer.api, alice.id, 'one', { reply_to: original })
        await sendText(peer.api, alice.id, 'two', { reply_to: original })
      }
      const { quotes } = await syncPage(alice.api, { list: true, window: 2 })
      expect(quotes?.map(({ msg_id, excerpt }) => [msg_id, excerpt])).toEqual([
        [originals[0], `to ${bob.id}`],
        [originals[1], `to ${carol.id}`],
      ])
    })

    it('a quote shows nothing of what its reader may not read', async () => {
      const [owner, member] = await sessions(server, 2)
      const group = await aGroup(owner)
      const original = await sendToGroup(owner.api, group, 'before the member')
      const gone = await sendToGroup(owner.api, group, 'recalled')
      await join(owner, group, member)
      const reply = await sendToGroup(owner.api, group, 'reply', { reply_to: original })
      await recall(owner.api, group, gone)
      const log = groupLog(group)
      const quoted = async ({ api }: { readonly api: Api }, to = reply) =>
        (await get(api, group, to)).quotes
      const hidden = { msg_id: original, seq: 1, state: 'hidden' }
      expect(await quoted(member)).toEqual([hidden])
      for (const quotes of await quotesIn(member.api, group, log, reply))
        expect(quotes).toEqual([hidden])
      const present = {
        ...hidden,
        state: 'present',
        sender_id: owner.id,
        excerpt: 'before the member',
      }
      expect(await quoted(owner)).toMatchObject([present])
      expect(await quoted({ api: server.api.admin({ groupId: group }) })).toMatchObject([present])
      await groupCall(owner.api, '/group/settings/history_visible', group, { value: true })
      expect(await quoted(member)).toMatchObject([present])
      await deleteConversation(member.api, group)
      const later = await sendToGroup(owner.api, group, 'later', { reply_to: reply })
      expect(await quoted(member, later)).toEqual([{ msg_id: reply, seq: 3, state: 'hidden' }])
      expect(await quoted(owner, later)).toMatchObject([{ state: 'present', excerpt: 'reply' }])
    })

    it('refuses what the sender does not see in the conversation', async () => {
      const [alice, bob, carol] = await sessions(server, 3)
      const replyTo = async (api: Api, target: number, reply_to: number, more = {}) =>
        (await send(api, textTo([target], 'reply', { reply_to, ...more }))).code
      const elsewhere = await sendText(alice.api, carol.id, 'elsewhere')
      const original = await sendText(alice.api, bob.id, 'original')
      const unavailable = answerCode.reply_unavailable
      expect(await replyTo(alice.api, bob.id, elsewhere)).toBe(unavailable)
      expect(await replyTo(carol.api, bob.id, original)).toBe(unavailable)
      expect(await replyTo(alice.api, bob.id, 1)).toBe(unavailable)
      expect(await replyTo(server.api.admin({ userId: bob.id }), alice.id, original)).toBe(
        answerCode.ok,
      )
      expect(await replyTo(alice.api, bob.id, original, { online_only: true })).toBe(
        answerCode.invalid_parameter,
      )
      const both = await send(alice.api, textTo([bob.id, carol.id], 'x', { reply_to: original }))
      expect(both.envelope).toMatchObject({ fails: [{ target: carol.id, code: unavailable }] })
      const once = { transaction_id: 5 }
      expect(await replyTo(bob.api, alice.id, original, once)).toBe(answerCode.ok)
      await recall(alice.api, bob.id, original)
      expect(await replyTo(bob.api, alice.id, original)).toBe(unavailable)
      // The repeat of a send that succeeded.
      expect(await replyTo(bob.api, alice.id, original, once)).toBe(answerCode.ok)
      const hidden = await sendText(alice.api, bob.id, 'hidden')
      await deleteConversation(bob.api, alice.id)
      expect(await replyTo(bob.api, alice.id, hidden)).toBe(unavailable)
      expect(await replyTo(alice.api, bob.id, hidden)).toBe(answerCode.ok)
      // Whether a message is there is nothing for those whose messages are refused.
      await block(alice.api, bob.id)
      for (const message of [hidden, original, 1])
        expect(await replyTo(bob.api, alice.id, message)).toBe(answerCode.blocked_by_recipient)
    })

    it('refuses messages before the join of a member, broadcasts and notifications', async () => {
      const [owner, member] = await sessions(server, 2)
      const group = await aGroup(owner)
      const old = await sendToGroup(owner.api, group, 'old')
      await join(owner, group, member)
      const replyIn = async (api: Api, reply_to: number) =>
        (await send(api, textToGroups([group], 'reply', { reply_to }))).code
      expect(await replyIn(member.api, old)).toBe(answerCode.reply_unavailable)
      expect(await replyIn(server.api.admin(), old)).toBe(answerCode.ok)
      await groupCall(owner.api, '/group/settings/history_visible', group, { value: true })
      expect(await replyIn(member.api, old)).toBe(answerCode.ok)
      await broadcast(server.api.admin(), 'to all', { from_user_id: owner.id })
      const shout = await newestId(member.api, owner.id)
      const answer = await send(member.api, textTo([owner.id], 'x', { reply_to: shout }))
      expect(answer.code).toBe(answerCode.message_type_refused)
      const note = await notify(server.api.admin(), member.id, 'note')
      const system = textTo([member.id], 'x', { reply_to: note, from_user_id: 0 })
      expect((await send(server.api.admin(), system)).code).toBe(answerCode.message_type_refused)
    })

    it('chatrooms have replies', async () => {
      const [owner] = await sessions(server, 1)
      const room = await aGroup(owner, { more: { type: types.chatroom } })
      const original = await sendToGroup(owner.api, room, 'original')
      const reply = await sendToGroup(owner.api, room, 'reply', { reply_to: original })
      expect(await get(owner.api, room, reply)).toMatchObject({
        message: { reply_to: { msg_id: original, seq: 1 } },
        quotes: [{ state: 'present', excerpt: 'original' }],
      })
    })

    it('an original that retention removed is quoted as removed', async () => {
      const [alice, bob] = await sessions(server, 2)
      await keepHistory(server.api.as(server.operatorToken), 'test', 30)
      await using retention = new Retention(server.place)
      const original = await sendText(alice.api, bob.id, 'original')
      const moment = await aMoment()
      const reply = await sendText(bob.api, alice.id, 'reply', { reply_to: original })
      await retention.run('test', moment)
      const removed = { msg_id: original, seq: 1, state: 'removed' }
      expect(await quotesIn(alice.api, bob.id, direct(alice.id, bob.id), reply)).toEqual(
        expect.arrayContaining([[removed]]),
      )
      expect((await historyPage(bob.api, alice.id)).messages).toMatchObject([
        { msg_id: reply, reply_to: { msg_id: original, seq: 1 } },
      ])
      expect(await integrityFaults(server)).toEqual([])
      await keepHistory(server.api.as(server.operatorToken), 'test', 0)
    })
  })
