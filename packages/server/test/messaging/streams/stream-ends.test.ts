/** Streams that the service ends, and what is left of them (rule E19). */
import { PushSimulator } from '@hermod/push-simulator'
import { anyBackend, testBackends, waitFor } from '@hermod/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../../support/answer-codes.js'
import { aGroup, expectSuccess, groupCall } from '../../support/groups/groups.js'
import { ownServer } from '../../support/in-process-server.js'
import {
  acknowledge,
  integrityFaults,
  sessions,
  unreadCounts,
} from '../../support/messaging/messaging.js'
import { append, begin, ended, shown } from '../../support/messaging/streams.js'
import { itOnce } from '../../support/once.js'
import { MessagePushes } from '../../support/push/message-pushes.js'
import { HookedServer } from '../../support/webhooks/hooked-server.js'

const secondMs = 1_000
const minuteMs = 60 * secondMs

for (const backend of testBackends())
  describe(`ends of streams on ${backend.name}`, () => {
    const once = itOnce(backend)
    const server = ownServer(backend)
    const pass = (ms: number) => server.clock.set(server.clock.now() + ms)

    it('streams: after 30 s without an append the service ends it with the text so far', async () => {
      const [alice, bob] = await sessions(server, 2)
      const [silent, alive] = [await begin(alice, bob), await begin(alice, bob)]
      await append(alice, bob, { msg_id: silent, index: 1, text: 'half' })
      pass(20 * secondMs)
      await append(alice, bob, { msg_id: alive, index: 1, text: '' })
      pass(11 * secondMs)
      expect(await ended(bob, alice.id, silent)).toMatchObject({
        content: 'half',
        stream: { kind: 'markdown', state: 'interrupted' },
      })
      expect(await shown(bob, alice.id, alive)).toMatchObject({ stream: { state: 'open' } })
      expect(await append(alice, bob, { msg_id: silent, index: 2, text: 'x' })).toBe(
        answerCode.stream_refused,
      )
    })

    once('streams: one without any text keeps what the send gave', async () => {
      const [alice, bob] = await sessions(server, 2)
      const msg_id = await begin(alice, bob)
      pass(31 * secondMs)
      expect(await ended(bob, alice.id, msg_id)).toMatchObject({
        content: '…',
        stream: { state: 'interrupted' },
      })
    })

    once('streams: after 30 minutes it is ended, whatever comes', async () => {
      const [alice, bob] = await sessions(server, 2)
      const msg_id = await begin(alice, bob)
      for (let index = 1; index <= 65; index++) {
        pass(29 * secondMs)
        const answer = await append(alice, bob, { msg_id, index, text: '' })
        if (answer === answerCode.stream_refused) break
      }
      expect(await ended(bob, alice.id, msg_id)).toMatchObject({ stream: { state: 'interrupted' } })
    })

    it('streams: the end sweeps the pieces, and a day later the repeat of the last one is not known', async () => {
      const [alice, bob] = await sessions(server, 2)
      const msg_id = await begin(alice, bob)
      for (let index = 1; index <= 3; index++)
        await append(alice, bob, { msg_id, index, text: 'x' })
      const last = { msg_id, index: 4, text: '!', end: { state: 'done' } }
      await append(alice, bob, last)
      const pieces = async () =>
        (await server.sql.run(`select 1 as one from stream_chunks where msg_id = ${msg_id}`)).length
      expect(await pieces()).toBe(3)
      pass(2 * minuteMs)
      const patience = { timeoutMs: 20_000 }
      await waitFor(async () => (await pieces()) === 0, { what: 'swept pieces', ...patience })
      expect(await append(alice, bob, last)).toMatchObject({ next_index: 5, length: 4 })
      pass(25 * 60 * minuteMs)
      await waitFor(async () => (await append(alice, bob, last)) === answerCode.message_not_found, {
        what: 'the end of the memory',
        ...patience,
      })
      expect(await shown(bob, alice.id, msg_id)).toMatchObject({ content: 'xxx!' })
      expect(await integrityFaults(server)).toEqual([])
    })

    once(
      'streams: a removed sender appends, ends and cancels nothing, and the text so far stays',
      async () => {
        const [owner, bot] = await sessions(server, 2)
        const group = await aGroup(owner, { members: [bot] })
        const target = { id: group, type: 2 } as const
        const msg_id = await begin(bot, target)
        await append(bot, target, { msg_id, index: 1, text: 'half' })
        expectSuccess(await groupCall(owner.api, '/group/kick', group, { user_list: [bot.id] }))
        const next = { msg_id, index: 2, text: 'x' }
        expect(await append(bot, target, next)).toBe(answerCode.not_group_member)
        expect(await append(bot, target, { ...next, end: { state: 'done' } })).toBe(
          answerCode.not_group_member,
        )
        const body = { conversation_id: group, msg_id }
        const cancel = await bot.api.call('POST', '/message/stream/cancel', { body })
        expect(cancel.code).not.toBe(answerCode.ok)
        pass(31 * secondMs)
        expect(await ended(owner, group, msg_id)).toMatchObject({
          content: 'half',
          stream: { state: 'interrupted' },
        })
      },
    )

    it('streams: a dissolution and the deletion of the sender end it', async () => {
      const [owner, member, bob] = await sessions(server, 3)
      const group = await aGroup(owner, { members: [member] })
      const inGroup = await begin(member, { id: group, type: 2 })
      await append(member, { id: group, type: 2 }, { msg_id: inGroup, index: 1, text: 'half' })
      await expectSuccess(await groupCall(owner.api, '/group/destroy', group))
      expect(await ended(owner, group, inGroup)).toMatchObject({
        content: 'half',
        stream: { state: 'interrupted' },
      })
      const direct = await begin(member, bob)
      await append(member, bob, { msg_id: direct, index: 1, text: 'rest' })
      await server.api.admin({ userId: member.id }).succeed('POST', '/user/delete', { body: {} })
      expect(await ended(bob, member.id, direct)).toMatchObject({
        content: 'rest',
        stream: { state: 'interrupted' },
      })
      expect(await integrityFaults(server)).toEqual([])
    })
  })

describe.each(anyBackend())('unread and pushes of streams on $name', (backend) => {
  const server = ownServer(backend)
  let simulator: PushSimulator
  let pushes: MessagePushes

  beforeAll(async () => {
    simulator = await PushSimulator.start()
    pushes = new MessagePushes(server, simulator, server.sql)
    await pushes.setCertificates(['ios_gw'])
  })
  afterAll(async () => {
    await simulator?.[Symbol.asyncDispose]()
  })

  it('streams: unread from the start, pushed once at the end with the final text', async () => {
    const [alice] = await sessions(server, 1)
    const ben = await pushes.receiver()
    const msg_id = await begin(alice, ben)
    expect(await unreadCounts(ben.api)).toEqual({ [alice.id]: 1 })
    await append(alice, ben, { msg_id, index: 1, text: 'final ' })
    await pushes.handled()
    expect(pushes.shownTo(ben)).toEqual([])
    await append(alice, ben, { msg_id, index: 2, text: 'text', end: { state: 'done' } })
    expect(await pushes.outcome(msg_id, ben.id)).toBe('sent')
    expect(pushes.shownTo(ben).map(({ body }) => body)).toEqual(['final text'])
    expect(await unreadCounts(ben.api)).toEqual({ [alice.id]: 1 })
  })

  it('streams: one that was read before its end is not pushed', async () => {
    const [alice] = await sessions(server, 1)
    const ben = await pushes.receiver()
    const msg_id = await begin(alice, ben)
    await acknowledge(ben.api, { peer: alice.id })
    await append(alice, ben, { msg_id, index: 1, text: 'read', end: { state: 'done' } })
    await pushes.handled()
    expect(pushes.shownTo(ben)).toEqual([])
  })
})

describe.each(anyBackend())('webhooks of streams on $name', (backend) => {
  let place: HookedServer

  beforeAll(async () => {
    place = await HookedServer.start(backend)
  })
  afterEach(() => place.clear())
  afterAll(() => place?.[Symbol.asyncDispose]())

  it('streams: receivers get the message at its start and at its end', async () => {
    const kinds = ['message.stored', 'message.stream_ended']
    const hook = await place.hook({ kinds })
    const [alice, bob] = await sessions(place.server, 2)
    const msg_id = await begin(alice, bob)
    await append(alice, bob, { msg_id, index: 1, text: 'final', end: { state: 'done' } })
    const events = await hook.got(2)
    expect(events.map(({ type }) => type)).toEqual(kinds)
    expect(events[1]).toMatchObject({
      data: { msg_id, sender_id: alice.id, content: 'final', stream: { state: 'done' } },
    })
  })
})
