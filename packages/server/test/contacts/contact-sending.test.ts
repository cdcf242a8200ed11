/** Who may send to whom: blocks, strangers and deleted users. */
import { anyBackend } from '@hermod/testkit'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import {
  accept,
  apply,
  authModes,
  block,
  blockedIds,
  changeSettings,
  connect,
  contactIds,
  mayMessage,
  PeoplePool,
  type Person,
  remove,
  unblock,
} from '../support/contacts.js'
import { aGroup, memberIds } from '../support/groups/groups.js'
import { ownServer } from '../support/in-process-server.js'
import { integrityFaults, sendText, textTo } from '../support/messaging/messaging.js'

/** Positive and never issued. */
const nobody = 1

describe.each(anyBackend())('sending between contacts and strangers on $name', (backend) => {
  const server = ownServer(backend)
  let pool: PeoplePool
  let alice: Person
  let bob: Person
  let carol: Person

  beforeAll(async () => {
    pool = new PeoplePool(server, 150)
  })

  beforeEach(async () => {
    ;[alice, bob, carol] = await people(3)
  })

  const people = <Count extends number>(count: Count) => pool.take(count)

  const sql = (statement: string) => server.sql.run(statement)

  async function deletePerson({ api }: Person): Promise<void> {
    await api.succeed('POST', '/user/delete', { body: {} })
  }

  async function changeApp(settings: object): Promise<void> {
    const body = { app_id: server.appId, settings }
    await server.api.as(server.operatorToken).succeed('POST', '/operator/v1/app/update', { body })
  }

  describe('sending', () => {
    /** With the user's own token, for an Admin token passes over all of this. */
    const sender = async () => server.api.newSession()
    const send = (api: Person['api'], targets: readonly number[]) =>
      api.call('POST', '/message/send', { body: textTo(targets, 'hi') })

    it('send: a block refuses the sender immediately, until it is lifted', async () => {
      const mallory = await sender()
      await expectCode(send(mallory.api, [alice.id]), 'ok')
      await block(alice.api, mallory.id)
      const refused = await send(mallory.api, [alice.id])
      expect(refused.envelope).toEqual({
        code: answerCode.blocked_by_recipient,
        data: null,
        message: 'you have been blocked by the recipient',
      })
      expect(await mayMessage(alice.api, mallory.id, alice.id)).toBe(false)
      expect(await mayMessage(alice.api, alice.id, mallory.id)).toBe(true)
      await connect(alice, mallory)
      await expectCode(send(mallory.api, [alice.id]), 'blocked_by_recipient')
      await unblock(alice.api, mallory.id)
      await expectCode(send(mallory.api, [alice.id]), 'ok')
      expect(await mayMessage(alice.api, mallory.id, alice.id)).toBe(true)
    })

    it('send: a user who refuses strangers gets messages of contacts only, immediately', async () => {
      const bobby = await sender()
      await expectCode(send(bobby.api, [alice.id]), 'ok')
      await changeSettings(alice, { stranger_chat: 2 })
      const refused = await send(bobby.api, [alice.id])
      expect(refused.envelope).toEqual({
        code: answerCode.stranger_refused,
        data: null,
        message: 'your relation with target does not allow chat',
      })
      expect(await mayMessage(alice.api, bobby.id, alice.id)).toBe(false)
      await connect(alice, bobby)
      await expectCode(send(bobby.api, [alice.id]), 'ok')
      await remove(bobby.api, alice.id)
      await expectCode(send(bobby.api, [alice.id]), 'stranger_refused')
      await changeSettings(bobby, { auth_mode: authModes.consent })
      await apply(alice.api, bobby.id)
      await accept(server.api.admin({ userId: bobby.id }), alice.id)
      await expectCode(send(bobby.api, [alice.id]), 'ok')
      await remove(alice.api, bobby.id)
      await expectCode(send(bobby.api, [alice.id]), 'stranger_refused')
      await alice.api.succeed('PUT', '/user/stranger_chat', { query: { value: 1 } })
      await expectCode(send(bobby.api, [alice.id]), 'ok')
    })

    it('send: a contact that the sender alone has made opens no door to a user who refuses strangers', async () => {
      const [mallory, bobby, dora, eve] = [
        await sender(),
        await sender(),
        await sender(),
        await sender(),
      ]
      await changeSettings(alice, { stranger_chat: 2, auth_mode: authModes.open })
      for (const each of [mallory, bobby, dora]) await apply(each.api, alice.id)
      const codes = async () =>
        Promise.all(
          [mallory, bobby, dora, eve].map(async ({ api }) => (await send(api, [alice.id])).code),
        )
      const { ok, stranger_refused: refused } = answerCode
      expect(await codes()).toEqual([refused, refused, refused, refused])
      expect(await mayMessage(alice.api, mallory.id, alice.id)).toBe(false)
      const group = await aGroup(mallory, { members: [alice] })
      expect(await memberIds(mallory.api, group)).not.toContain(alice.id)
      // Alice writes to the one, edits her entry of the other, applies to the third, and has
      // written before the fourth applies.
      expect((await send(alice.api, [mallory.id, eve.id])).code).toBe(ok)
      await alice.api.succeed('POST', '/roster/ext', { body: { user_id: bobby.id, alias: 'B' } })
      await apply(alice.api, dora.id)
      await apply(eve.api, alice.id)
      expect(await codes()).toEqual([ok, ok, ok, ok])
      // She ends a contact. What she has written before opens no door again.
      await alice.api.succeed('DELETE', '/roster/delete', { body: { user_id: eve.id } })
      await apply(eve.api, alice.id)
      expect(await codes()).toEqual([ok, ok, ok, refused])
    })

    it('send: the setting of the application holds for users without their own', async () => {
      const bobby = await sender()
      await changeSettings(carol, { stranger_chat: 1 })
      await changeApp({ stranger_chat_default: 2 })
      try {
        await expectCode(send(bobby.api, [alice.id]), 'stranger_refused')
        await expectCode(send(bobby.api, [carol.id]), 'ok')
        await connect(alice, bobby)
        await expectCode(send(bobby.api, [alice.id]), 'ok')
      } finally {
        await changeApp({ stranger_chat_default: 1 })
      }
      await expectCode(send(bobby.api, [bob.id]), 'ok')
    })

    it('send: the check of each target is independent', async () => {
      const mallory = await sender()
      await block(alice.api, mallory.id)
      await changeSettings(bob, { stranger_chat: 2 })
      await expectCode(send(mallory.api, [alice.id, bob.id, carol.id]), 'ok')
      const shown = async ({ api }: Person) => {
        const query = { opposite_id: mallory.id, msg_id_start: 0, limit: 10 }
        return (await api.succeed('GET', '/message/conversation', { query })).data.messages.length
      }
      expect([await shown(alice), await shown(bob), await shown(carol)]).toEqual([0, 0, 1])
      await expectCode(send(mallory.api, [bob.id, alice.id]), 'stranger_refused')
      await expectCode(send(mallory.api, [alice.id, bob.id]), 'blocked_by_recipient')
    })

    it('send: an Admin token ignores blocks and the stranger setting', async () => {
      await block(alice.api, bob.id)
      await changeSettings(alice, { stranger_chat: 2 })
      await sendText(bob.api, alice.id, 'as Bob')
      await sendText(server.api.admin(), alice.id, 'as the system')
    })

    it('send: the sender can send to itself and to users that it blocked', async () => {
      const me = await sender()
      await changeSettings(me, { stranger_chat: 2 })
      await block(me.api, alice.id)
      await expectCode(send(me.api, [me.id]), 'ok')
      await expectCode(send(me.api, [alice.id]), 'ok')
      expect(await mayMessage(me.api, me.id, me.id)).toBe(true)
    })

    it('send: online-only messages are checked as well', async () => {
      const mallory = await sender()
      await block(alice.api, mallory.id)
      for (const extras of [
        { online_only: true },
        { content: '', ext: '{"input_status":"typing"}' },
      ]) {
        const body = { ...textTo([alice.id], 'x'), ...extras }
        await expectCode(
          mallory.api.call('POST', '/message/send', { body }),
          'blocked_by_recipient',
        )
      }
    })
  })

  describe('may_message', () => {
    it('may_message: one of the two users or an Admin token can call it', async () => {
      const [one, other] = [await server.api.newSession(), await server.api.newSession()]
      await block(one.api, other.id)
      expect(await mayMessage(one.api, other.id, one.id)).toBe(false)
      expect(await mayMessage(other.api, other.id, one.id)).toBe(false)
      expect(await mayMessage(server.api.admin(), other.id, one.id)).toBe(false)
      expect(await mayMessage(server.api.admin(), one.id, other.id)).toBe(true)
      const query = { user_id: alice.id, roster_id: bob.id }
      await expectCode(one.api.call('GET', '/roster/may_message', { query }), 'no_permission')
    })

    it('may_message: unknown and deleted users are refused; disabled users may not message', async () => {
      await deletePerson(carol)
      const ask = async (user_id: number, roster_id: number) =>
        (await alice.api.call('GET', '/roster/may_message', { query: { user_id, roster_id } })).code
      expect(await ask(alice.id, nobody)).toBe(answerCode.user_not_found)
      expect(await ask(nobody, alice.id)).toBe(answerCode.user_not_found)
      expect(await ask(alice.id, carol.id)).toBe(answerCode.user_deleted)
      expect(await ask(carol.id, alice.id)).toBe(answerCode.user_deleted)
      await server.api.admin().succeed('PUT', '/user/disable', { body: { list: [bob.id] } })
      expect(await mayMessage(server.api.admin(), bob.id, alice.id)).toBe(false)
      const answer = await alice.api.call('GET', '/roster/may_message', { query: { user_id: 'x' } })
      expect(answer.envelope.message).toMatch(/roster_id.*user_id|user_id.*roster_id/)
    })
  })

  describe('a deleted user', () => {
    it('deleted user: it disappears from contact and block lists', async () => {
      await connect(alice, bob, carol)
      await block(alice.api, bob.id)
      await block(bob.api, alice.id)
      await deletePerson(bob)
      expect(await contactIds(alice.api)).toEqual([carol.id])
      expect(await blockedIds(alice.api)).toEqual([])
      expect((await alice.api.succeed('GET', '/user/rosters')).data).toHaveLength(1)
    })

    it('deleted user: simultaneous calls about it leave no rows', async () => {
      const others = await people(8)
      await connect(bob, ...others.slice(0, 2))
      await Promise.all([
        ...others.flatMap(({ api }) => [apply(api, bob.id), block(api, bob.id)]),
        deletePerson(bob),
        ...others.map(({ api, id }) => connect({ api }, carol).then(() => apply(bob.api, id))),
      ])
      for (const { api } of others) expect(await contactIds(api)).toEqual([carol.id])
      expect(
        await sql(`select * from contacts where user_id = ${bob.id} or peer_id = ${bob.id}`),
      ).toEqual([])
    })
  })

  it('the integrity check finds no fault after all tests', async () => {
    expect(await integrityFaults(server)).toEqual([])
  })
})
