/** Messages to everybody (rule E9, decision page 028), through the API. */
import { type Api, anyBackend, waitFor } from '@hermod/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import type { Person } from '../support/contacts.js'
import { ownServer } from '../support/in-process-server.js'
import {
  addUsers,
  anApplication,
  broadcast,
  broadcastBody,
  newestId,
  unreadOf,
} from '../support/messaging/broadcasts.js'
import {
  acknowledge,
  contents,
  deleteConversation,
  history,
  integrityFaults,
  peers,
  sendText,
  unreadCounts,
} from '../support/messaging/messaging.js'

const system = 0

describe.each(anyBackend())('broadcasts on $name', (backend) => {
  const server = ownServer(backend)
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
  const call = (body: object) => admin.call('POST', '/message/broadcast', { body })
  const addUser = async (name: string) => (await addUsers(admin, 1, name))[0]
  const remove = (user: Person) => user.api.succeed('POST', '/user/delete', { body: {} })

  describe('what is sent', () => {
    it('is one message in the history of every user, from the system', async () => {
      expect(await broadcast(admin, 'hello all', { ext: 'x', config: 'y', attachment: 'z' })).toBe(
        3,
      )
      const shown = await Promise.all([alice, bob, bot].map(({ api }) => history(api, system)))
      for (const [index, [message, ...others]] of shown.entries()) {
        expect(others).toEqual([])
        expect(message).toMatchObject({
          content: 'hello all',
          ext: 'x',
          config: 'y',
          attachment: 'z',
          ctype: 'TEXT',
          is_system: false,
          status: 'UNREAD',
          edit_timestamp: 0,
          from_xid: { uid: system, device_sn: 0 },
          to_xid: { uid: [alice, bob, bot][index]?.id },
        })
      }
      expect(new Set(shown.map(([message]) => message?.msg_id)).size).toBe(1)
      const rows = await query(`select count(*) as count from messages where app_id = '${appId}'`)
      expect(Number(rows[0]?.count)).toBe(1)
    })

    it('costs the same rows whatever the number of users', async () => {
      const rowsOf = async () => {
        const tables = ['messages', 'conversations', 'readers', 'outbox']
        const counts: number[] = []
        for (const table of tables) {
          const [row] = await query(
            `select count(*) as count from ${table} where app_id = '${appId}'`,
          )
          counts.push(Number(row?.count))
        }
        return counts
      }
      await addUsers(admin, 60, 'more')
      const before = await rowsOf()
      expect(await broadcast(admin, 'hello')).toBe(63)
      const after = await rowsOf()
      expect(after.map((count, index) => count - (before[index] ?? 0))).toEqual([1, 1, 0, 1])
    })

    it('comes from the user of the header, or of from_user_id', async () => {
      await broadcast(admin.admin({ userId: bot.id }), 'by header')
      await broadcast(admin, 'by name', { from_user_id: bot.id })
      await broadcast(admin.admin({ userId: alice.id }), 'by name first', {
        from_user_id: bot.id,
      })
      expect(await contents(alice.api, bot.id)).toEqual(['by name first', 'by name', 'by header'])
      expect(await contents(alice.api, system)).toEqual([])
    })

    it('may be of every type up to COMMAND, and have no content', async () => {
      for (const content_type of [0, 1, 2, 3, 4, 5, 6])
        await expectCode(call({ type: 1, content_type, ext: `${content_type}` }), 'ok')
      expect((await history(alice.api, system)).map(({ ctype }) => ctype)).toEqual([
        'COMMAND',
        'LOCATION',
        'FILE',
        'VIDEO',
        'AUDIO',
        'IMAGE',
        'TEXT',
      ])
      expect(await unreadOf(alice.api, system)).toBe(7)
    })

    it('is a message also when it looks like a typing signal', async () => {
      await broadcast(admin, '', { ext: '{"input_status":"typing"}' })
      expect(await unreadOf(alice.api, system)).toBe(1)
    })

    it('is refused from a sender who is unknown or deleted', async () => {
      const unknown = await call(broadcastBody('hello', { from_user_id: 12345 }))
      await expectCode(unknown, 'user_not_found')
      await remove(bot)
      const gone = await call(broadcastBody('hello', { from_user_id: bot.id }))
      await expectCode(gone, 'user_deleted')
      expect(await unreadCounts(alice.api)).toEqual({})
    })

    it('has at most 64 KiB of texts', async () => {
      const texts = { content: 'ä'.repeat(16_384), ext: 'x'.repeat(32_768) }
      await expectCode(call({ ...broadcastBody(''), ...texts }), 'ok')
      await expectCode(call({ ...broadcastBody(''), ...texts, config: '1' }), 'message_too_large')
    })

    it('stays in its application', async () => {
      const elsewhere = await anApplication(server)
      const [other] = await addUsers(elsewhere, 1)
      expect(await broadcast(admin, 'here')).toBe(3)
      expect(await contents(other?.api as Api, system)).toEqual([])
      expect(await unreadCounts(other?.api as Api)).toEqual({})
      expect(await peers(other?.api as Api)).toEqual([])
      expect(await broadcast(elsewhere, 'there')).toBe(1)
      expect(await contents(alice.api, system)).toEqual(['here'])
    })

    it('names everybody in its event', async () => {
      await broadcast(admin, 'hello')
      const rows = await query(
        `select kind, payload from outbox where app_id = '${appId}' order by position desc`,
      )
      expect(rows[0]?.kind).toBe('message.stored')
      expect(rows[0]?.payload).toMatch(/^-1\.0\..+:[1-9a-z][0-9a-z]*$/)
    })
  })

  describe('whom it is for', () => {
    it('is those who exist when it is sent, not those who come later', async () => {
      expect(await broadcast(admin, 'first')).toBe(3)
      const late = await addUser('late')
      expect(await contents(late.api, system)).toEqual([])
      expect(await unreadCounts(late.api)).toEqual({})
      expect(await peers(late.api)).toEqual([])
      expect(await broadcast(admin, 'second')).toBe(4)
      expect(await contents(late.api, system)).toEqual(['second'])
      expect(await unreadCounts(late.api)).toEqual({ [system]: 1 })
      expect(await contents(alice.api, system)).toEqual(['second', 'first'])
    })

    it('is all of an import, and of every way to register', async () => {
      await broadcast(admin, 'before')
      const operator = server.api.as(server.operatorToken)
      const users = Array.from({ length: 40 }, (_, index) => ({ username: `imported_${index}` }))
      const { data } = await operator.succeed('POST', '/operator/v1/user/import', {
        body: { app_id: appId, users: [...users, users[0], { username: alice.username }] },
      })
      expect(data).toHaveLength(42)
      const body = { password: 'correct horse' }
      await admin.succeed('POST', '/user/register/push', {
        body: { ...body, username: 'pushed', device_guid: 'd' },
      })
      await admin.succeed('POST', '/user/register/anonymous', {
        body: { ...body, username: 'anon' },
      })
      await admin.succeed('POST', '/user/register/v2', { body: { ...body, username: 'second' } })
      // A name that is taken adds nobody.
      await expectCode(
        admin.call('POST', '/user/register/v2', { body: { ...body, username: 'SECOND' } }),
        'user_exists',
      )
      expect(await broadcast(admin, 'after')).toBe(46)
      const imported = admin.admin({ userId: data[7].user_id })
      expect(await contents(imported, system)).toEqual(['after'])
    })

    it('is no deleted users, but disabled ones', async () => {
      await remove(bob)
      await admin.succeed('PUT', '/user/disable', { body: { list: [bot.id] } })
      expect(await broadcast(admin, 'hello')).toBe(2)
      await expectCode(bob.api.call('GET', '/message/unread'), 'user_deleted')
      await admin.succeed('PUT', '/user/enable', { body: { list: [bot.id] } })
      expect(await unreadOf(bot.api, system)).toBe(1)
    })

    it('is nobody in an application without users', async () => {
      expect(await broadcast(await anApplication(server), 'hello')).toBe(0)
    })

    it('is everybody, also those who block the sender or take nothing from strangers', async () => {
      await alice.api.succeed('POST', '/roster/block', { body: { user_id: bot.id } })
      await bob.api.succeed('POST', '/user/stranger_chat', { query: { value: 2 } })
      await broadcast(admin, 'hello', { from_user_id: bot.id })
      expect(await contents(alice.api, bot.id)).toEqual(['hello'])
      expect(await contents(bob.api, bot.id)).toEqual(['hello'])
    })

    it('is the sender too, who has read it, in the conversation with itself', async () => {
      expect(await broadcast(admin, 'mine', { from_user_id: bot.id })).toBe(3)
      expect(await unreadCounts(bot.api)).toEqual({})
      expect(await peers(bot.api)).toEqual([bot.id])
      const [message] = await history(bot.api, bot.id)
      expect(message).toMatchObject({
        content: 'mine',
        status: 'READ',
        from_xid: { uid: bot.id },
        to_xid: { uid: bot.id },
      })
      // Whatever others read.
      await acknowledge(alice.api, { peer: bot.id })
      await acknowledge(bot.api, { peer: bot.id, message: Number(message?.msg_id) })
      await acknowledge(bot.api)
      expect(await history(bot.api, bot.id)).toEqual([message])
      expect(await contents(bot.api, alice.id)).toEqual([])
      await deleteConversation(bot.api, bot.id)
      expect(await contents(bot.api, bot.id)).toEqual([])
      expect(await contents(alice.api, bot.id)).toEqual(['mine'])
    })

    it('counts exactly while users come and go at once', async () => {
      const registered: number[] = []
      const sent: { readonly number: number; readonly content: string }[] = []
      const come = async (index: number) => {
        registered.push((await addUser(`crowd_${index}`)).id)
      }
      const say = async (index: number) => {
        const content = `b${index}`
        sent.push({ number: await broadcast(admin, content), content })
      }
      const others = await addUsers(admin, 5, 'leaving')
      await Promise.all([
        ...Array.from({ length: 25 }, (_, index) => come(index)),
        ...Array.from({ length: 15 }, (_, index) => say(index)),
        ...others.map(remove),
      ])
      const seen = await Promise.all(
        registered.map(async (userId) => contents(admin.admin({ userId }), system)),
      )
      const order = (await contents(alice.api, system)).toReversed()
      expect(order).toHaveLength(15)
      for (const own of seen) {
        const shown = own.toReversed()
        expect(shown).toEqual(order.slice(order.length - shown.length))
      }
      for (const { number, content } of sent) {
        const newcomers = seen.filter((own) => own.includes(content)).length
        // Alice, Bob, the bot, and some of those who leave.
        expect(number).toBeGreaterThanOrEqual(3 + newcomers)
        expect(number).toBeLessThanOrEqual(3 + newcomers + others.length)
      }
      expect(await broadcast(admin, 'last')).toBe(3 + 25)
      expect(await integrityFaults(server)).toEqual([])
    })
  })

  describe('when users are deleted', () => {
    it('their positions go, and what they have sent stays', async () => {
      await broadcast(admin, 'one', { from_user_id: bot.id })
      await acknowledge(alice.api, { peer: bot.id })
      await deleteConversation(bob.api, bot.id)
      await remove(alice)
      await remove(bot)
      const rows = await query(
        `select user_id from readers where low_id = -1 and app_id = '${appId}'`,
      )
      expect(rows.map(({ user_id }) => Number(user_id))).toEqual([bob.id])
      const carol = await addUser('carol')
      expect(await contents(carol.api, bot.id)).toEqual([])
      expect(await broadcast(admin, 'two')).toBe(2)
      await expectCode(call(broadcastBody('three', { from_user_id: bot.id })), 'user_deleted')
      expect(await integrityFaults(server)).toEqual([])
    })

    it('nothing is left of those who read at that moment', async () => {
      await broadcast(admin, 'one')
      const users = await addUsers(admin, 10, 'reader')
      await broadcast(admin, 'two')
      await Promise.all(
        users.flatMap((user) => [
          user.api.call('GET', '/message/ack', { query: { conversation_id: system } }),
          user.api.call('DELETE', '/message/conversation', { body: { conversation_id: system } }),
          remove(user),
        ]),
      )
      expect(await integrityFaults(server)).toEqual([])
      const rows = await query(
        `select user_id from readers where low_id = -1 and app_id = '${appId}'`,
      )
      expect(rows).toEqual([])
    })

    it('a broadcast of theirs at that moment is stored or refused', async () => {
      const senders = await addUsers(admin, 8, 'sender')
      const answers = await Promise.all(
        senders.flatMap((user) => [
          call(broadcastBody('hello', { from_user_id: user.id })),
          remove(user).then(() => null),
        ]),
      )
      const codes = answers.flatMap((answer) => answer?.code ?? [])
      expect(codes).toHaveLength(8)
      const unread = await unreadCounts(alice.api)
      for (const [index, code] of codes.entries()) {
        expect([200, answerCode.user_deleted]).toContain(code)
        expect(unread[senders[index]?.id as number]).toBe(code === 200 ? 1 : undefined)
      }
      expect(await integrityFaults(server)).toEqual([])
    })
  })

  describe('after a clock that was ahead of time', () => {
    const idsPerMs = 4_096
    const inFuture = (hours: number) =>
      (Date.now() + hours * 3_600_000 - Date.UTC(2015, 0, 1)) * idsPerMs

    it('keeps the order of broadcasts and messages in both directions', async () => {
      const [first, second, third] = [inFuture(1), inFuture(2), inFuture(3)]
      await broadcast(admin, 'one', { from_user_id: bot.id })
      const table = (name: string, set: string) =>
        query(`update ${name} set ${set} where app_id = '${appId}'`)
      await table('user_counts', `last_broadcast_id = ${first}`)
      await broadcast(admin, 'two', { from_user_id: bot.id })
      expect(await newestId(alice.api, bot.id)).toBeGreaterThan(first)
      // All at once, so that some batches are under way.
      const texts = Array.from({ length: 20 }, (_, index) => `direct ${index}`)
      await Promise.all([
        ...texts.map((text) => sendText(bot.api, alice.id, text)),
        broadcast(admin, 'among them', { from_user_id: bot.id }),
      ])
      await table('outbox_heads', `last_msg_id = ${second}`)
      await broadcast(admin, 'three', { from_user_id: bot.id })
      // As if another node, whose clock is ahead, had taken a broadcast since; the next one makes the tables agree again.
      await table('outbox_heads', `last_broadcast_id = ${third}`)
      expect(await sendText(bot.api, alice.id, 'after it')).toBeGreaterThan(third)
      await broadcast(admin, 'four', { from_user_id: bot.id })
      await sendText(alice.api, bot.id, 'thanks')
      const shown = await history(alice.api, bot.id)
      expect(shown.slice(0, 4).map(({ content }) => content)).toEqual([
        'thanks',
        'four',
        'after it',
        'three',
      ])
      expect(Number(shown[3]?.msg_id)).toBeGreaterThan(second)
      expect(shown.slice(-2).map(({ content }) => content)).toEqual(['two', 'one'])
      expect(shown).toHaveLength(27)
      expect(await integrityFaults(server)).toEqual([])
    })
  })

  it('survive a restart', async () => {
    await broadcast(admin, 'one')
    await acknowledge(bob.api, { peer: system })
    await server.stop()
    await server.startAgain()
    await waitFor(async () => (await unreadCounts(alice.api))[system] === 1, {
      what: 'the server',
      timeoutMs: 5_000,
    })
    expect(await unreadCounts(bob.api)).toEqual({})
    expect(await contents(alice.api, system)).toEqual(['one'])
  })

  it('leave nothing behind that does not agree', async () => {
    expect(await integrityFaults(server)).toEqual([])
  })
})
