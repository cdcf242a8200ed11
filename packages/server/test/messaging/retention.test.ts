/**
 * How long history is kept (rule E14): the setting, what goes and what stays, and what users see of
 * it, on both databases.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type Api, isFullRun, type Json, type Session, testBackends } from '@hermod/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { followed, keepUp } from '../support/files/file-upkeep.js'
import { fetchAs, png, sendFile } from '../support/files/files.js'
import { sendToGroup } from '../support/groups/group-messaging.js'
import { aGroup, expectSuccess, groupCall, types } from '../support/groups/groups.js'
import { hermodEnvironment } from '../support/hermod-command.js'
import { InProcessServer } from '../support/in-process-server.js'
import { addUsers, anApplication, broadcast, newestId } from '../support/messaging/broadcasts.js'
import { aMoment, keepHistory, Retention } from '../support/messaging/history-retention.js'
import { operate, recall } from '../support/messaging/message-operations.js'
import {
  acknowledge,
  contents,
  conversationList,
  deleteConversation,
  history,
  historyPage,
  integrityFaults,
  newestMessages,
  notify,
  peers,
  sendText,
  textTo,
  unreadCounts,
} from '../support/messaging/messaging.js'
import { itOnce } from '../support/once.js'

const hourMs = 3_600_000
const dayHours = 24
const stepSize = 200
const child = join(import.meta.dirname, '../support/messaging/history-retention-child.mjs')

for (const backend of testBackends()) {
  describe(`history with an end on ${backend.name}`, () => {
    let watched: InProcessServer
    let server: InProcessServer
    let retention: Retention
    let operator: Api
    let alice: Session
    let bob: Session

    beforeAll(async () => {
      watched = await InProcessServer.start(backend)
      server = watched.server
      retention = new Retention(watched.place)
      operator = server.api.as(server.operatorToken)
      await keepHistory(operator, 'test', 30)
    })

    beforeEach(async () => {
      ;[alice, bob] = [await server.api.newSession(), await server.api.newSession()]
    })

    afterAll(async () => {
      await retention?.[Symbol.asyncDispose]()
      await watched?.[Symbol.asyncDispose]()
    })

    /** Everything that has been sent until now is too old. */
    const expire = async () => retention.run('test', await aMoment())

    /** Many messages at once, in no particular order. */
    async function sendMany(count: number, text = 'x'): Promise<void> {
      for (let sent = 0; sent < count; sent += 100)
        await Promise.all(
          Array.from({ length: Math.min(100, count - sent) }, () =>
            sendText(alice.api, bob.id, text),
          ),
        )
    }

    const total = (steps: readonly { readonly messages: number }[]) =>
      steps.reduce((sum, { messages }) => sum + messages, 0)

    describe('is a setting of the application', () => {
      const set = (history_days: unknown) =>
        operator.call('POST', '/operator/v1/app/update', {
          body: { app_id: 'test', settings: { history_days } },
        })

      it.each([-1, 36_501, 1.5, 'month'])('that is not %s', async (days) => {
        const answer = await set(days)
        expect(answer.code).toBe(answerCode.invalid_parameter)
        expect(answer.envelope.message).toContain('settings.history_days')
      })

      it('without which everything stays', async () => {
        const id = await sendText(alice.api, bob.id, 'for ever')
        try {
          expect((await set(0)).data.settings.history_days).toBe(0)
          expect((await retention.run('test', Date.now() + 900 * dayHours * hourMs)).steps).toEqual(
            [],
          )
        } finally {
          expect((await set(30)).data.settings.history_days).toBe(30)
        }
        expect(await newestId(bob.api, alice.id)).toBe(id)
      })

      it('and no other application is touched', async () => {
        const other = await anApplication(server)
        const [user, peer] = await addUsers(other, 2)
        if (!user || !peer) throw new Error('nobody')
        await sendText(user.api, peer.id, 'stays')
        await expire()
        expect(await contents(peer.api, user.id)).toEqual(['stays'])
      })
    })

    it('leaves what a hold covers, until it is released', async () => {
      const carol = await server.api.newSession()
      const group = await aGroup(bob, { members: [alice, carol] })
      await sendText(alice.api, bob.id, 'of a held user')
      await sendToGroup(alice.api, group, 'of a former member')
      await alice.api.succeed('POST', '/group/leave', { body: { group_id: group } })
      await sendText(bob.api, carol.id, 'of a held conversation')
      const other = await sendText(carol.api, carol.id, 'of others')
      const hold = (body: object) =>
        operator.succeed('POST', '/operator/v1/hold/set', {
          body: { app_id: 'test', name: 'case', reason: 'x', ...body },
        })
      await hold({ user_id: alice.id })
      await hold({ conversation: [bob.id, carol.id] })
      const kept = async () => [
        ...(await contents(bob.api, alice.id)),
        ...(await contents(bob.api, group)),
        ...(await contents(bob.api, carol.id)),
      ]
      await expire()
      expect(await kept()).toEqual([
        'of a held user',
        'of a former member',
        'of a held conversation',
      ])
      expect(await newestId(carol.api, carol.id)).not.toBe(other)
      await operator.succeed('POST', '/operator/v1/hold/release', {
        body: { app_id: 'test', name: 'case' },
      })
      await expire()
      expect(await kept()).toEqual([])
    })

    it('takes reactions and pins along with their messages', async () => {
      const target = { conversation_id: bob.id, msg_id: await sendText(alice.api, bob.id, 'text') }
      const body = { ...target, type: 1, key: '👍', on: true }
      await alice.api.succeed('POST', '/message/reaction', { body })
      await alice.api.succeed('POST', '/message/pin', { body: target })
      for (let count = 1; count < 50; count++) {
        const msg_id = await sendText(alice.api, bob.id, 'text')
        await alice.api.succeed('POST', '/message/pin', { body: { ...target, msg_id } })
      }
      await expire()
      const next = { ...target, msg_id: await sendText(alice.api, bob.id, 'next') }
      await alice.api.succeed('POST', '/message/pin', { body: next })
      const query = { conversation_id: bob.id }
      const { data } = await alice.api.succeed('GET', '/message/pinned', { query })
      expect(data.messages.map(({ msg_id }: Json) => msg_id)).toEqual([next.msg_id])
      for (const table of ['message_reactions', 'pinned_messages'])
        expect(
          await server.sql.run(`select * from ${table} where msg_id = ${target.msg_id}`),
        ).toEqual([])
      expect(await integrityFaults(server)).toEqual([])
    })

    it('takes messages from the list, the history and the unread counts, and the next one brings the conversation back', async () => {
      await sendText(alice.api, bob.id, 'one')
      const recalled = await sendText(alice.api, bob.id, 'two')
      await recall(alice.api, bob.id, recalled)
      const edited = await sendText(bob.api, alice.id, 'three')
      await operate(bob.api, 'append', { peer: alice.id, message: edited, content: '!' })
      await notify(server.api.admin({ userId: alice.id }), bob.id, 'in her name')
      const moment = await aMoment()
      const last = await sendText(alice.api, bob.id, 'four')
      await retention.run('test', moment)
      expect(await contents(bob.api, alice.id)).toEqual(['four'])
      expect(await unreadCounts(bob.api)).toEqual({ [alice.id]: 1 })
      expect(await unreadCounts(alice.api)).toEqual({})
      expect(await newestMessages(bob.api)).toEqual([[alice.id, last]])
      await expire()
      for (const [user, peer] of [
        [alice, bob],
        [bob, alice],
      ] as const) {
        expect(await historyPage(user.api, peer.id)).toMatchObject({
          messages: [],
          is_last: true,
          next_msg_id: 0,
        })
        expect(await unreadCounts(user.api)).toEqual({})
        expect(await conversationList(user.api)).toEqual([])
      }
      const next = await sendText(bob.api, alice.id, 'five')
      expect(next).toBeGreaterThan(last)
      expect(await newestMessages(alice.api)).toEqual([[bob.id, next]])
      expect(await unreadCounts(alice.api)).toEqual({ [bob.id]: 1 })
      expect(await contents(alice.api, bob.id)).toEqual(['five'])
      expect(await integrityFaults(server)).toEqual([])
    })

    it('leaves pages complete that were begun before', async () => {
      const ids: number[] = []
      for (let number = 0; number < 6; number++) {
        ids.push(await sendText(alice.api, bob.id, `${number}`))
        await aMoment()
      }
      const page = await historyPage(bob.api, alice.id, { limit: 2 })
      expect(page.next_msg_id).toBe(ids[3])
      const moment = await aMoment()
      const late = await sendText(alice.api, bob.id, 'late')
      await retention.run('test', moment)
      expect(await historyPage(bob.api, alice.id, { start: page.next_msg_id })).toMatchObject({
        messages: [],
        is_last: true,
        next_msg_id: 0,
      })
      expect((await history(bob.api, alice.id, 1)).map(({ msg_id }) => msg_id)).toEqual([late])
    })

    it('takes acknowledgements of what is gone, and neither recalls nor edits of it', async () => {
      const first = await sendText(alice.api, bob.id, 'one')
      const recalled = await sendText(alice.api, bob.id, 'two')
      await recall(alice.api, bob.id, recalled)
      await expire()
      const kept = await sendText(alice.api, bob.id, 'three')
      for (const message of [first, recalled]) {
        await acknowledge(bob.api, { peer: alice.id, message })
        await acknowledge(bob.api, { message })
        expect((await operate(bob.api, 'readAck', { peer: alice.id, message })).code).toBe(200)
        expect((await recall(alice.api, bob.id, message)).code).toBe(answerCode.message_not_found)
        for (const operation of ['recall', 'append', 'replace'] as const) {
          const answer = await operate(alice.api, operation, { peer: bob.id, message })
          expect(answer.code).toBe(answerCode.message_not_found)
        }
      }
      expect(await unreadCounts(bob.api)).toEqual({ [alice.id]: 1 })
      const query = { conversation_id: alice.id, msg_id: kept + 1 }
      const unknown = await bob.api.call('GET', '/message/ack', { query })
      expect(unknown.code).toBe(answerCode.message_not_found)
    })

    it('keeps pins, deletions and the answers of repeated sends', async () => {
      const body = textTo([bob.id], 'once', { transaction_id: 77 })
      const first = await alice.api.succeed('POST', '/message/send', { body })
      await bob.api.succeed('POST', '/user/conversation/pin', {
        body: { conversation_id: alice.id },
      })
      await deleteConversation(bob.api, alice.id)
      await expire()
      const { data: pins } = await bob.api.succeed('GET', '/user/conversation/pin_list')
      expect(pins.conversation_ids).toEqual([alice.id])
      const repeat = await alice.api.succeed('POST', '/message/send', { body })
      expect(repeat.msg_ids).toEqual(first.msg_ids)
      expect(await contents(bob.api, alice.id)).toEqual([])
      await sendText(alice.api, bob.id, 'again')
      expect(await contents(bob.api, alice.id)).toEqual(['again'])
      expect(await contents(alice.api, bob.id)).toEqual(['again'])
    })

    it('is that of groups and chatrooms too, with receipts that were asked for', async () => {
      const group = await aGroup(alice, { members: [bob] })
      expectSuccess(
        await groupCall(alice.api, '/group/settings/enable_read_ack', group, { value: true }),
      )
      const room = await aGroup(alice, { members: [bob], more: { type: types.chatroom } })
      const config = JSON.stringify({ groupMemberList: [bob.id] })
      const asked = await sendToGroup(alice.api, group, 'one', { config })
      await sendToGroup(bob.api, group, 'two')
      await sendToGroup(alice.api, room, 'loud')
      await expire()
      const last = await sendToGroup(alice.api, group, 'three', { config })
      for (const { api } of [alice, bob]) {
        expect(await contents(api, group)).toEqual(['three'])
        expect(await contents(api, room)).toEqual([])
        expect(await peers(api)).toEqual([group])
      }
      expect(await unreadCounts(bob.api)).toEqual({ [group]: 1 })
      expect((await operate(bob.api, 'readAck', { peer: alice.id, message: asked })).code).toBe(200)
      await acknowledge(bob.api, { peer: group, message: asked })
      expect(await unreadCounts(bob.api)).toEqual({ [group]: 1 })
      await acknowledge(bob.api, { peer: group, message: last })
      expect(await unreadCounts(bob.api)).toEqual({})
      expect((await history(alice.api, group))[0]).toMatchObject({ status: 'READ' })
      expect(await integrityFaults(server)).toEqual([])
    })

    it('is that of broadcasts, which newcomers count from their own time on', async () => {
      const admin = await anApplication(server)
      const appId = admin.options.appId ?? ''
      await keepHistory(operator, appId, 7)
      const [reader] = await addUsers(admin, 1, 'reader')
      if (!reader) throw new Error('nobody')
      await broadcast(admin, 'one')
      const [newcomer] = await addUsers(admin, 1, 'newcomer')
      if (!newcomer) throw new Error('nobody')
      await broadcast(admin, 'two')
      const old = await newestId(reader.api, 0)
      await retention.run(appId, await aMoment())
      for (const { api } of [reader, newcomer]) {
        expect(await contents(api, 0)).toEqual([])
        expect(await unreadCounts(api)).toEqual({})
        expect(await peers(api)).toEqual([])
        await acknowledge(api, { message: old })
        await acknowledge(api, { message: old, peer: 0 })
      }
      expect(await broadcast(admin, 'three')).toBe(2)
      for (const { api } of [reader, newcomer]) {
        expect(await contents(api, 0)).toEqual(['three'])
        expect(await unreadCounts(api)).toEqual({ 0: 1 })
        expect(await newestId(api, 0)).toBeGreaterThan(old)
      }
      expect(await integrityFaults(server)).toEqual([])
    })

    it('takes files along that nothing else names', async () => {
      const to = { to_id: bob.id }
      const [gone, kept] = [
        await sendFile(alice.api, to, png),
        await sendFile(alice.api, to, Buffer.from('other')),
      ]
      const send = (url: string) =>
        sendText(alice.api, bob.id, 'x', { attachment: JSON.stringify({ url }) })
      await send(gone)
      await send(kept)
      await followed(watched.sql)
      const moment = await aMoment()
      await send(kept)
      await retention.run('test', moment)
      await followed(watched.sql)
      expect(await integrityFaults(server)).toEqual([])
      await keepUp(watched.place, dayHours + 1)
      expect(await fetchAs(server.api, alice.token, gone)).toBe(answerCode.file_not_found)
      expect(await fetchAs(server.api, alice.token, kept)).toEqual(Buffer.from('other'))
      expect(await integrityFaults(server)).toEqual([])
    })

    it('ends in steps of a bounded number of messages and bytes', async () => {
      // What the other tests have left.
      await expire()
      await sendMany(450)
      const { steps, walks } = await expire()
      expect(steps.map(({ messages }) => messages)).toEqual([stepSize, stepSize, 50])
      expect(walks).toEqual([
        expect.objectContaining({ messages: 450, shortened: 1, isWhole: true, historyDays: 30 }),
      ])
      await sendMany(40, 'x'.repeat(60_000))
      const long = (await expire()).steps
      expect(total(long)).toBe(40)
      for (const { messages } of long) expect(messages).toBeLessThanOrEqual(17)
    })

    it('ends while messages are sent, and none of those is lost', async () => {
      await sendMany(1_000)
      const moment = await aMoment()
      const running = retention.run('test', moment)
      const sent: number[] = []
      let isRunning = true
      const sending = (async () => {
        while (isRunning) sent.push(await sendText(alice.api, bob.id, 'new'))
      })()
      expect(total((await running).steps)).toBe(1_000)
      isRunning = false
      await sending
      const shown = await history(bob.api, alice.id)
      expect(shown.map(({ msg_id }) => Number(msg_id)).reverse()).toEqual(sent)
      expect(await unreadCounts(bob.api)).toEqual({ [alice.id]: sent.length })
      expect(await integrityFaults(server)).toEqual([])
    })

    if (isFullRun || backend.name === 'sqlite')
      if (isFullRun)
        it('survives kills at any moment', async () => {
          await sendMany(isFullRun ? 2_000 : 500)
          for (let number = 0; number < 20; number++) {
            const message = await sendText(alice.api, bob.id, 'edited')
            await operate(alice.api, 'append', { peer: bob.id, message, content: '!' })
          }
          const instant = await aMoment()
          const kept = await sendText(alice.api, bob.id, 'kept')
          for (let steps = 1; ; steps = (steps % 3) + 1) {
            const { process, lines } = startRetention(instant)
            const isDone = await Promise.race([
              lines(steps).then(() => false),
              once(process, 'exit').then(() => true),
            ])
            process.kill('SIGKILL')
            if (process.exitCode === null && process.signalCode === null)
              await once(process, 'exit')
            const shown = await history(bob.api, alice.id)
            expect(shown[0]?.msg_id).toBe(kept)
            expect(await unreadCounts(bob.api)).toEqual({ [alice.id]: shown.length })
            expect(await integrityFaults(server)).toEqual([])
            if (!isDone) continue
            expect(shown).toHaveLength(1)
            return
          }
        })

    itOnce(backend)('ends its process where there is nothing to remove', async () => {
      const { process } = startRetention(0)
      try {
        expect(await once(process, 'exit')).toEqual([0, null])
      } finally {
        process.kill('SIGKILL')
      }
    })

    function startRetention(instant: number): {
      process: ChildProcess
      lines: (count: number) => Promise<void>
    } {
      const place = { ...watched.place, appId: 'test', instant }
      const started = spawn(process.execPath, [child, JSON.stringify(place)], {
        env: hermodEnvironment({}),
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const lines = async (count: number) => {
        let seen = 0
        for await (const chunk of started.stdout) {
          seen += String(chunk).split('\n').length - 1
          if (seen >= count) return
        }
        await new Promise(() => {})
      }
      return { process: started, lines }
    }
  })
}
