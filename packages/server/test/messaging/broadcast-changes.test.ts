/** Recalls and edits of broadcasts. */
import { type Api, anyBackend, sharedPassword } from '@hermod/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import type { Person } from '../support/contacts.js'
import { sharedServer } from '../support/in-process-server.js'
import {
  addUsers,
  anApplication,
  broadcast,
  newestId,
  unreadOf,
} from '../support/messaging/broadcasts.js'
import { ChangeReader } from '../support/messaging/change-reader.js'
import { operate, recall } from '../support/messaging/message-operations.js'
import {
  acknowledge,
  contents,
  conversationList,
  deleteConversation,
  history,
  peers,
  unreadCounts,
} from '../support/messaging/messaging.js'

const system = 0

describe.each(anyBackend())('a broadcast that is recalled or edited on $name', (backend) => {
  const server = sharedServer(backend)
  /** Of an application of the test's own. */
  let admin: Api
  let appId: string
  let alice: Person
  let bob: Person
  let bot: Person

  beforeEach(async () => {
    admin = await anApplication(server)
    appId = admin.options.appId
    ;[alice, bob, bot] = await addUsers(admin, 3)
  })

  const query = (text: string) => server.sql.run(text)
  const addUser = async (name: string) => (await addUsers(admin, 1, name))[0]

  it('is gone for everybody, by an Admin token', async () => {
    await broadcast(admin, 'one')
    await broadcast(admin, 'two')
    const message = await newestId(alice.api, system)
    await acknowledge(bob.api, { peer: system })
    await expectCode(recall(admin, system, message), 'ok')
    expect(await contents(alice.api, system)).toEqual(['one'])
    expect(await unreadCounts(alice.api)).toEqual({ [system]: 1 })
    expect(await unreadCounts(bob.api)).toEqual({})
    const [entry] = await conversationList(alice.api)
    expect(entry?.latest_msg_id).toBe((await history(alice.api, system))[0]?.msg_id)
    await expectCode(recall(admin, system, message), 'message_not_found')
    // A recalled one still marks its place.
    await acknowledge(alice.api, { peer: system, message })
    expect(await unreadCounts(alice.api)).toEqual({})
    const [event] = await query(
      `select payload from outbox where app_id = '${appId}' and kind = 'message.recalled'`,
    )
    expect(JSON.parse(String(event?.payload))).toEqual({
      actor_id: 0,
      user_ids: [],
      conversation: { low_id: -1, high_id: system, is_group: false },
      msg_id: message,
      seq: expect.any(Number),
      sender_id: system,
      is_system: expect.any(Boolean),
      timestamp: expect.any(Number),
      change: expect.any(Number),
    })
  })

  it('is recalled in the name of its sender, of a reader, or of nobody', async () => {
    const callers = [admin.admin({ userId: bot.id }), admin.admin({ userId: alice.id }), admin]
    for (const caller of callers) {
      await broadcast(admin, 'one', { from_user_id: bot.id })
      await expectCode(recall(caller, bot.id, await newestId(alice.api, bot.id)), 'ok')
      expect(await contents(bob.api, bot.id)).toEqual([])
      expect(await peers(bob.api)).toEqual([])
      expect(await unreadCounts(bob.api)).toEqual({})
    }
    await broadcast(admin, 'by a message', { from_user_id: bot.id })
    const message = await newestId(alice.api, bot.id)
    const ofBot = admin.admin({ userId: bot.id })
    await expectCode(operate(ofBot, 'recall', { peer: alice.id, message }), 'ok')
    expect(await contents(bob.api, bot.id)).toEqual([])
  })

  it('is changed for everybody, by an Admin token', async () => {
    await broadcast(admin, 'one', { ext: '{"a":1}' })
    const message = await newestId(alice.api, system)
    const replaced = { peer: system, message, content: 'new', ext: '{"b":2}' }
    await expectCode(operate(admin, 'replace', replaced), 'ok')
    await expectCode(operate(admin, 'append', { peer: alice.id, message, content: '!' }), 'ok')
    for (const { api } of [alice, bob]) {
      const [shown, ...others] = await history(api, system)
      expect(others).toEqual([])
      expect(shown).toMatchObject({ content: 'new!', msg_id: message })
      expect(JSON.parse(shown?.ext ?? '')).toEqual({ a: 1, b: 2 })
      expect(Number(shown?.edit_timestamp)).toBeGreaterThan(Number(shown?.timestamp))
    }
    expect(await unreadCounts(alice.api)).toEqual({ [system]: 1 })
    const tooLong = { peer: system, message, content: 'x'.repeat(65_530) }
    await expectCode(operate(admin, 'append', tooLong), 'message_too_large')
  })

  it("is left alone by user tokens, the sender's too", async () => {
    await broadcast(admin, 'one', { from_user_id: bot.id })
    const message = await newestId(alice.api, bot.id)
    const token = async (user: Person) =>
      (await admin.sessionOf({ ...user, password: sharedPassword })).api
    const [asBot, asAlice] = [await token(bot), await token(alice)]
    const late = await token(await addUser('late'))
    const tries = [
      [asAlice, bot.id, answerCode.no_permission],
      [asBot, bot.id, answerCode.no_permission],
      [late, bot.id, answerCode.conversation_not_found],
      [asAlice, bob.id, answerCode.conversation_not_found],
    ] as const
    for (const [api, peer, code] of tries) {
      expect((await recall(api, peer, message)).code).toBe(code)
      for (const operation of ['recall', 'append', 'replace'] as const)
        expect((await operate(api, operation, { peer, message, content: 'x' })).code).toBe(code)
    }
    expect(await contents(alice.api, bot.id)).toEqual(['one'])
  })

  it('stays unread as often as it is there', async () => {
    for (const content of ['1', '2', '3', '4', '5']) await broadcast(admin, content)
    const ids = (await history(alice.api, system)).map(({ msg_id }) => Number(msg_id)).reverse()
    await acknowledge(bob.api, { peer: system, message: ids[1] as number })
    await recall(admin, system, ids[0] as number)
    await recall(admin, system, ids[3] as number)
    expect(await unreadOf(alice.api, system)).toBe(3)
    expect(await unreadOf(bob.api, system)).toBe(2)
    const late = await addUser('late')
    await recall(admin, system, ids[4] as number)
    expect(await unreadCounts(late.api)).toEqual({})
    await broadcast(admin, '6')
    expect(await unreadCounts(late.api)).toEqual({ [system]: 1 })
    expect(await unreadOf(bob.api, system)).toBe(2)
  })

  it('has numbers of its own in the order of changes', async () => {
    await using reader = new ChangeReader(server.place)
    await broadcast(admin, 'one')
    await broadcast(admin, 'two')
    const late = await addUser('late')
    await broadcast(admin, 'three')
    const [three, , one] = (await history(alice.api, system)).map(({ msg_id }) => Number(msg_id))
    await operate(admin, 'append', { peer: system, message: three as number, content: '!' })
    await recall(admin, system, one as number)
    const of = async (user: Person, after = 0) => {
      const page = await reader.broadcastChangesAfter({ appId, userId: user.id }, system, after)
      return [
        page.end,
        ...(page.changes?.flatMap((each) => {
          if (each.kind === 'skipped') return []
          const what = each.kind === 'recalled' ? each.tombstone.messageId : each.message.content
          return [[each.change, each.kind, what]]
        }) ?? ['refetch']),
      ]
    }
    expect(await of(alice)).toEqual([
      5,
      [2, 'stored', 'two'],
      [3, 'stored', 'three!'],
      [4, 'edited', 'three!'],
      [5, 'recalled', one],
    ])
    expect(await of(alice, 4)).toEqual([5, [5, 'recalled', one]])
    expect(await of(late)).toEqual([5, [3, 'stored', 'three!'], [4, 'edited', 'three!']])
    expect(await of(alice, 6)).toEqual([5, 'refetch'])
    await deleteConversation(alice.api, system)
    expect(await of(alice)).toEqual([5])
  })
})
