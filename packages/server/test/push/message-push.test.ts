/** Who is told of a message who is away, and who is not and why, on both databases (rules G5, K16). */
import { PushSimulator } from '@hermod/push-simulator'
import { anyBackend, type Json, type Session, waitFor } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { block, registerPeople, updateContact } from '../support/contacts.js'
import { sendToGroup } from '../support/groups/group-messaging.js'
import { aGroup, types } from '../support/groups/groups.js'
import { ownServer } from '../support/in-process-server.js'
import { broadcast, newestId } from '../support/messaging/broadcasts.js'
import { recall } from '../support/messaging/message-operations.js'
import { acknowledge, notify, sendText } from '../support/messaging/messaging.js'
import { MessagePushes, type Receiver } from '../support/push/message-pushes.js'

const hour = (offset: number) => (new Date().getUTCHours() + offset + 24) % 24
let names = 0
const aText = () => `text ${++names}`

/** Waits until messages are so old that who reads everything has read them for sure. */
async function isPast(): Promise<void> {
  const sentAt = Date.now()
  const what = 'the messages are a second old'
  await waitFor(() => Date.now() > sentAt + 1_100, { what, timeoutMs: 10_000 })
}

describe.each(anyBackend())('pushes of messages on $name', (backend) => {
  const server = ownServer(backend)
  let simulator: PushSimulator
  let pushes: MessagePushes
  let ann: Session

  beforeAll(async () => {
    simulator = await PushSimulator.start()
    pushes = new MessagePushes(server, simulator, server.sql)
    await pushes.setCertificates(['ios_gw'])
    ann = await pushes.user()
    await ann.api.succeed('POST', '/user/nickname', { query: { nick_name: 'Ann' } })
  })
  afterAll(async () => {
    await simulator?.[Symbol.asyncDispose]()
  })

  const setSettings = (user: Session, body: Json) =>
    user.api.succeed('POST', '/user/settings', { body: { user_id: user.id, ...body } })

  /** What a new user is shown of a message that is sent after `arrange`. */
  async function shownAfter(
    send: (ben: Receiver) => Promise<number>,
    arrange: (ben: Receiver) => Promise<unknown> = async () => {},
  ) {
    const ben = await pushes.receiver()
    await arrange(ben)
    const message = await send(ben)
    expect(await pushes.outcome(message, ben.id)).toBe('sent')
    const [shown, ...others] = pushes.shownTo(ben)
    expect(others).toEqual([])
    return { shown, ben, message }
  }

  it('tell the receiver who wrote what, and give the app what it opens', async () => {
    const content = aText()
    const { shown, message } = await shownAfter((ben) => sendText(ann.api, ben.id, content))
    expect(shown).toEqual({
      title: 'Ann',
      subtitle: undefined,
      body: content,
      badge: 1,
      isSilent: false,
      collapseId: `user-${ann.id}`,
      members: {
        msg_id: message,
        conversation_id: ann.id,
        conversation_type: 1,
        from_user_id: ann.id,
        content_type: 0,
        hermod: expect.anything(),
      },
    })
  })

  it('reach other devices whatever token one has, which a bind refuses when the certificate is known', async () => {
    const [mallory, ben] = [await pushes.user(), await pushes.receiver()]
    const bind = (device_token: string, notifier_name: string) =>
      mallory.api.call('POST', '/user/token/bind', {
        body: { device_sn: 1, device_token, notifier_name },
      })
    expect((await bind('..', 'ios_gw')).envelope).toMatchObject({
      code: answerCode.invalid_parameter,
      message: expect.stringContaining('device_token must be hexadecimal digits for ios_gw'),
    })
    expect((await bind('..', 'later')).code).toBe(200)
    await pushes.setCertificate('ios_gw', 'later')
    await sendText(ann.api, mallory.id, aText())
    const message = await sendText(ann.api, mallory.id, aText())
    expect(await pushes.outcome(message, mallory.id)).toBe('malformed_token')
    const other = await sendText(ann.api, ben.id, aText())
    expect(await pushes.outcome(other, ben.id)).toBe('sent')
  })

  it('leave the badge, on all devices of the user, when their message is read or recalled', async () => {
    const ben = await pushes.receiver()
    await server.api.login(ben, 'tablet')
    await pushes.bind(ben, 'ios_gw', `b${ben.deviceToken.slice(1)}`, 2)
    const send = async () => {
      const message = await sendText(ann.api, ben.id, aText())
      expect(await pushes.outcome(message, ben.id)).toBe('sent sent')
      return { message, badge: pushes.shownTo(ben).at(-1)?.badge }
    }
    const [, second, third] = [await send(), await send(), await send()]
    expect(third.badge).toBe(3)
    await acknowledge(ben.api, { peer: ann.id, message: second.message })
    await pushes.handled()
    expect((await send()).badge).toBe(2)
    await recall(ann.api, ben.id, third.message)
    await pushes.handled()
    const last = await send()
    expect(last.badge).toBe(2)
    await ben.api.succeed('POST', '/user/push/badge', { body: { badge: 1 } })
    await acknowledge(ben.api, { peer: ann.id, message: last.message })
    await pushes.handled()
    expect((await send()).badge).toBe(1)
  })

  it('reach no device with an ended login, wait for it in vain, and reach it again after its next login', async () => {
    // The gateway asks for a second until the next try.
    const [ben, phone] = [await pushes.receiver('429a'), 'guid of']
    const waiting = await sendText(ann.api, ben.id, aText())
    await pushes.handled()
    await ben.api.succeed('POST', '/user/kick')
    expect(await pushes.outcome(waiting, ben.id)).toBe('tried')
    expect(await pushes.outcome(await sendText(ann.api, ben.id, aText()), ben.id)).toBe('nothing')
    await server.api.login(ben, `${phone} ${ben.username}`)
    const message = await sendText(ann.api, ben.id, aText())
    expect(await pushes.outcome(message, ben.id)).toBe('sent')
  })

  const content = { content: 'Hello' }
  const configs: [string, Json, Json][] = [
    ['a picture without a text', { content_type: 1, content: '' }, { body: 'Picture' }],
    ['a voice message', { content_type: 2, content: '' }, { body: 'Voice message' }],
    [
      'a file',
      { content_type: 4, content: '', attachment: '{"dName":"plan.pdf"}' },
      { body: 'File: plan.pdf' },
    ],
    ['a video', { content_type: 3, content: '' }, { body: 'Video' }],
    [
      'a location',
      { content_type: 5, content: '', attachment: '{"lat":1,"lon":2,"addr":"Main Street"}' },
      { body: 'Location: Main Street' },
    ],
    ['a message passed on', { content_type: 7, content: 'Hello' }, { body: 'Hello' }],
    [
      'pushMessage',
      { ...content, config: '{"pushMessage":"Look"}' },
      { body: 'Look', title: 'Ann' },
    ],
    [
      'senderNickname',
      { ...content, config: '{"senderNickname":"Annie"}' },
      { title: 'Annie', body: 'Hello' },
    ],
    [
      'pushTitle before senderNickname',
      { ...content, config: '{"pushTitle":"News","senderNickname":"Annie"}' },
      { title: 'News' },
    ],
    ['pushSilent', { ...content, config: '{"pushSilent":true}' }, { isSilent: true }],
    ['pushBadge', { ...content, config: '{"pushBadge":"+3"}' }, { badge: 3 }],
    [
      'a command with a text for it',
      { content_type: 6, content: '{}', config: '{"pushMessage":"Call"}' },
      { body: 'Call' },
    ],
    [
      'a command with a key for its text',
      { content_type: 6, content: '{}', config: '{"pushMessageLocKey":"call"}' },
      { members: expect.objectContaining({ pushMessageLocKey: 'call' }) },
    ],
    ['pushBadge that sets', { ...content, config: '{"pushBadge":7}' }, { badge: 7 }],
    ['pushBadge that is none', { ...content, config: '{"pushBadge":"-1"}' }, { badge: 1 }],
    ['config that is no JSON', { ...content, config: 'pushMessage' }, { body: 'Hello' }],
  ]
  it.each(configs)('show what the sender says: %s', async (_, extras, expected) => {
    const { content: text = '', ...more } = extras
    const { shown } = await shownAfter((ben) => sendText(ann.api, ben.id, text, more))
    expect(shown).toMatchObject(expected)
  })

  it('name the sender as the sender wants to be named in pushes, else by nickname, else by username', async () => {
    const eve = await pushes.user()
    const title = async () =>
      (await shownAfter((ben) => sendText(eve.api, ben.id, aText()))).shown?.title
    expect(await title()).toBe(eve.username)
    await eve.api.succeed('POST', '/user/nickname', { query: { nick_name: 'Eve' } })
    expect(await title()).toBe('Eve')
    await eve.api.succeed('POST', '/user/push/nickname', { query: { value: 'Evelyn' } })
    expect(await title()).toBe('Evelyn')
  })

  it('of the system are named as the application says', async () => {
    const text = aText()
    const { shown } = await shownAfter((ben) => notify(pushes.admin, ben.id, text))
    expect(shown).toMatchObject({ title: 'System', body: text })
  })

  it('count the badge on with each message', async () => {
    const ben = await pushes.receiver()
    for (const badge of [1, 2, 3]) {
      const message = await sendText(ann.api, ben.id, aText())
      expect(await pushes.outcome(message, ben.id)).toBe('sent')
      expect(pushes.shownTo(ben).at(-1)?.badge).toBe(badge)
    }
  })

  const preferences: [string, () => Json, Json][] = [
    [
      'outside of quiet hours',
      () => ({ no_push_start_hour: hour(10), no_push_end_hour: hour(14) }),
      {},
    ],
    [
      'within silence hours',
      () => ({ silence_start_time: hour(0), silence_end_time: hour(-1) }),
      { isSilent: true },
    ],
    [
      'outside of silence hours',
      () => ({ silence_start_time: hour(10), silence_end_time: hour(14) }),
      { isSilent: false },
    ],
    [
      'without details',
      () => ({ no_push_detail: true }),
      { title: undefined, body: 'You have a new message.' },
    ],
  ]
  it.each(preferences)('follow the settings of the receiver: %s', async (_, settings, expected) => {
    const { shown } = await shownAfter(
      (ben) => sendText(ann.api, ben.id, aText()),
      (ben) => setSettings(ben, settings()),
    )
    expect(shown).toMatchObject(expected)
  })

  it('hide the words from which the app would make the text, too', async () => {
    const config = JSON.stringify({ pushMessageLocKey: 'key', pushMessageLocArgs: ['word'] })
    const send = (ben: Receiver) => sendText(ann.api, ben.id, aText(), { config })
    const { shown } = await shownAfter(send)
    expect(shown?.members).toMatchObject({ pushMessageLocKey: 'key', pushMessageLocArgs: ['word'] })
    const hidden = await shownAfter(send, (ben) => setSettings(ben, { no_push_detail: true }))
    expect(JSON.stringify(hidden.shown)).not.toMatch(/key|word/)
    expect(hidden.shown?.members.msg_id).toBe(hidden.message)
  })

  const silences: [string, (ben: Receiver) => Promise<unknown>][] = [
    ['no_push', (ben) => setSettings(ben, { no_push: true })],
    [
      'quiet_hours',
      (ben) => setSettings(ben, { no_push_start_hour: hour(0), no_push_end_hour: hour(-1) }),
    ],
    [
      'contact_muted',
      async (ben) => {
        await ben.api.succeed('POST', '/roster/apply', { body: { user_id: ann.id } })
        await updateContact(ben.api, ann.id, { mute_notification: true })
      },
    ],
    [
      'user_disabled',
      async (ben) => {
        await pushes.admin.succeed('PUT', '/user/disable', { body: { list: [ben.id] } })
        // Disabling has silenced the token.
        const api = pushes.api.admin({ userId: ben.id })
        await pushes.bind({ api }, 'ios_gw', ben.deviceToken)
      },
    ],
    ['no_certificate', (ben) => rebind(ben, 'unknown')],
  ]
  async function rebind(ben: Receiver, name: string) {
    await ben.api.succeed('POST', '/user/token/unbind', { query: { deviceSn: 1 } })
    await pushes.bind(ben, name, ben.deviceToken)
  }
  it.each(silences)('tell nothing, and say why: %s', async (reason, arrange) => {
    const ben = await pushes.receiver()
    await arrange(ben)
    // With an Admin token, which passes over what would stop the message itself.
    const message = await sendText(pushes.admin, ben.id, aText(), { from_user_id: ann.id })
    expect(await pushes.outcome(message, ben.id)).toBe(reason)
    expect(pushes.shownTo(ben)).toEqual([])
  })

  it('tell nothing of a sender who is blocked', async () => {
    const ben = await pushes.receiver()
    await block(ben.api, ann.id)
    const message = await sendText(pushes.admin, ben.id, aText(), { from_user_id: ann.id })
    expect(await pushes.outcome(message, ben.id)).toBe('contact_muted')
  })

  const nothings: [string, (ben: Receiver) => Promise<number>][] = [
    ['a command', (ben) => sendText(ann.api, ben.id, '{}', { content_type: 6 })],
    ['a message to oneself', (ben) => sendText(ben.api, ben.id, aText())],
    ["one's own message", (ben) => sendText(ben.api, ann.id, aText())],
  ]
  it.each(nothings)('do not know of %s', async (_, send) => {
    const ben = await pushes.receiver()
    const message = await send(ben)
    await pushes.handled()
    expect(await pushes.hasTask(message)).toBe(false)
    expect(pushes.shownTo(ben)).toEqual([])
  })

  it('do not know of what is for connected devices only, nor of typing', async () => {
    const ben = await pushes.receiver()
    const send = (body: Json) =>
      ann.api.succeed('POST', '/message/send', {
        body: { type: 1, content_type: 0, targets: [ben.id], content: '', ...body },
      })
    await send({ content: aText(), online_only: true })
    await send({ ext: '{"input_status":"typing"}' })
    const text = aText()
    const message = await sendText(ann.api, ben.id, text)
    expect(await pushes.outcome(message, ben.id)).toBe('sent')
    expect(pushes.shownTo(ben).map(({ body }) => body)).toEqual([text])
  })

  it('make no task for a receiver without a device', async () => {
    const ben = await pushes.user()
    const message = await sendText(ann.api, ben.id, aText())
    await pushes.handled()
    expect(await pushes.hasTask(message)).toBe(false)
  })

  describe('in groups', () => {
    const modes = { all: 0, none: 1, adminsAndMentions: 2, admins: 3, mentions: 4 }

    it('follow the modes of each member, mentions and admins', async () => {
      const admin = await pushes.user()
      const receivers = await Promise.all(Object.keys(modes).map(() => pushes.receiver()))
      const [silent, notReceived] = [await pushes.receiver(), await pushes.receiver()]
      const group = await aGroup(ann, {
        members: [...receivers, silent, notReceived],
        admins: [admin],
      })
      const bob = await pushes.receiver()
      await ann.api.succeed('POST', '/group/admin/member_join', {
        body: { group_id: group, user_list: [bob.id] },
      })
      const setMode = (user: Session, name: string, mode: number) =>
        user.api.succeed('POST', `/group/msg/${name}_mode`, {
          body: { group_id: group, [`msg_${name}_mode`]: mode },
        })
      for (const [index, mode] of Object.values(modes).entries())
        await setMode(receivers[index] as Session, 'push', mode)
      await setMode(silent, 'mute', 1)
      await setMode(notReceived, 'mute', 2)
      const outcomes = async (speaker: Session, extras: Json = {}) => {
        const message = await sendToGroup(speaker.api, group, aText(), extras)
        const all = await pushes.outcomes(message, [...receivers, silent, notReceived, bob])
        return all.map((each) => (each === 'group_push_mode' ? 'mode' : each)).join(' ')
      }
      const muted = 'group_muted group_muted'
      const all = receivers.map(({ id }) => id)
      const config = (value: object) => ({ config: JSON.stringify(value) })
      expect(await outcomes(bob)).toBe(`sent mode mode mode mode ${muted} nothing`)
      expect(await outcomes(admin)).toBe(`sent mode sent sent mode ${muted} sent`)
      expect(await outcomes(ann)).toBe(`sent mode sent sent mode ${muted} sent`)
      expect(await outcomes(bob, config({ mentionList: all }))).toBe(
        `sent mode sent mode sent ${muted} nothing`,
      )
      expect(await outcomes(bob, config({ mentionAll: true }))).toBe(
        `sent mode sent mode sent ${muted} nothing`,
      )
      expect(await outcomes(bob, config({ mentionList: [ann.id] }))).toBe(
        `sent mode mode mode mode ${muted} nothing`,
      )
    })

    it('reach the author of the original of a reply as a mention does, once', async () => {
      const [author, other] = [await pushes.receiver(), await pushes.receiver()]
      const group = await aGroup(ann, { members: [author, other] })
      const bob = await pushes.user()
      await ann.api.succeed('POST', '/group/admin/member_join', {
        body: { group_id: group, user_list: [bob.id] },
      })
      for (const { api } of [author, other])
        await api.succeed('POST', '/group/msg/push_mode', {
          body: { group_id: group, msg_push_mode: modes.mentions },
        })
      const reply_to = await sendToGroup(author.api, group, aText())
      const extras = {
        reply_to,
        config: JSON.stringify({ mentionList: [author.id], mentionedMessage: 'for you' }),
      }
      const texts = [aText(), aText()]
      const reply = await sendToGroup(bob.api, group, texts[0] as string, { reply_to })
      expect(await pushes.outcomes(reply, [author, other])).toEqual(['sent', 'group_push_mode'])
      const both = await sendToGroup(bob.api, group, texts[1] as string, extras)
      expect(await pushes.outcomes(both, [author, other])).toEqual(['sent', 'group_push_mode'])
      expect(pushes.shownTo(author).map(({ body }) => body)).toEqual([texts[0], 'for you'])
      const own = await sendToGroup(author.api, group, aText(), { reply_to })
      expect(await pushes.outcomes(own, [author, other])).toEqual(['nothing', 'group_push_mode'])
    })

    it('name the sender, and the group where there is room', async () => {
      const ben = await pushes.receiver()
      const group = await aGroup(ann, { members: [ben], more: { name: 'Friends' } })
      const text = aText()
      const message = await sendToGroup(ann.api, group, text)
      expect(await pushes.outcome(message, ben.id)).toBe('sent')
      expect(pushes.shownTo(ben)).toMatchObject([
        {
          title: 'Ann',
          subtitle: 'Friends',
          body: text,
          members: { conversation_id: group, conversation_type: 2, from_user_id: ann.id },
        },
      ])
    })

    it('tell those who are mentioned what the sender says to them, and the others the rest', async () => {
      const [ben, cleo, dan] = [
        await pushes.receiver(),
        await pushes.receiver(),
        await pushes.receiver(),
      ]
      await setSettings(dan, { no_push_detail: true })
      const group = await aGroup(ann, { members: [ben, cleo, dan] })
      const shown = async (config: Json) => {
        const extras = { config: JSON.stringify({ mentionedMessage: 'For you', ...config }) }
        const message = await sendToGroup(ann.api, group, 'For all', extras)
        expect(await pushes.outcomes(message, [ben, cleo, dan])).toEqual(['sent', 'sent', 'sent'])
        return [ben, cleo, dan].map((receiver) => pushes.shownTo(receiver).at(-1)?.body)
      }
      const hidden = 'You have a new message.'
      const mentionList = [ben.id, dan.id]
      expect(await shown({ mentionList })).toEqual(['For you', 'For all', hidden])
      const withText = await shown({ mentionList, pushMessage: 'Look' })
      expect(withText).toEqual(['For you', 'Look', hidden])
      expect(await shown({ mentionAll: true })).toEqual(['For you', 'For you', hidden])
      expect(await shown({})).toEqual(['For all', 'For all', hidden])
    })

    it('do not show a username where the group hides who is in it', async () => {
      const [eve, ben] = [await pushes.user(), await pushes.receiver()]
      const group = await aGroup(ann, { members: [eve, ben], more: { name: 'Hidden' } })
      const title = async () => {
        const message = await sendToGroup(eve.api, group, aText())
        expect(await pushes.outcome(message, ben.id)).toBe('sent')
        return pushes.shownTo(ben).at(-1)?.title
      }
      expect(await title()).toBe(eve.username)
      await ann.api.succeed('POST', '/group/settings/hide_member_info', {
        body: { group_id: group, value: true },
      })
      expect(await title()).toBe('Hidden')
    })

    it('never come from a chatroom', async () => {
      const ben = await pushes.receiver()
      const group = await aGroup(ann, { members: [ben], more: { type: types.chatroom } })
      const message = await sendToGroup(ann.api, group, aText())
      await pushes.handled()
      expect(await pushes.hasTask(message)).toBe(false)
    })

    it('reach the members of a large group, page by page', async () => {
      const people = await registerPeople(server, 510)
      const receivers = await Promise.all([1, 2, 3].map(() => pushes.receiver()))
      const [muted, ben] = receivers as [Receiver, Receiver]
      const group = await aGroup(ann, { members: people.slice(0, 400) })
      for (const user_list of [people.slice(400), receivers])
        await ann.api.succeed('POST', '/group/admin/member_join', {
          body: { group_id: group, user_list: user_list.map(({ id }) => id) },
        })
      await muted.api.succeed('POST', '/group/msg/push_mode', {
        body: { group_id: group, msg_push_mode: 1 },
      })
      const message = await sendToGroup(ben.api, group, aText())
      expect(await pushes.outcomes(message, receivers)).toEqual([
        'group_push_mode',
        'nothing',
        'sent',
      ])
    })
  })

  it('of a broadcast reach everybody who was there, but its sender and those who muted the sender', async () => {
    const [sender, muted, ben] = [
      await pushes.receiver(),
      await pushes.receiver(),
      await pushes.receiver(),
    ]
    await muted.api.succeed('POST', '/roster/apply', { body: { user_id: sender.id } })
    await updateContact(muted.api, sender.id, { mute_notification: true })
    const text = aText()
    await broadcast(pushes.admin, text, { from_user_id: sender.id })
    const message = await newestId(ben.api, sender.id)
    expect(await pushes.outcomes(message, [sender, muted, ben])).toEqual([
      'nothing',
      'contact_muted',
      'sent',
    ])
    expect(pushes.shownTo(ben)).toMatchObject([
      { body: text, members: { conversation_id: sender.id, conversation_type: 1 } },
    ])
  })

  it('live for a day from the time of their message, also after the clock was ahead', async () => {
    const { clock, sql } = server
    const before = Date.now()
    const dayMs = 24 * 3_600_000
    clock.set(before + 8 * 3_600_000)
    await sendText(ann.api, ann.id, 'wrong')
    clock.set(Date.now())
    const { message } = await shownAfter((ben) => sendText(ann.api, ben.id, aText()))
    const [task] = await sql.run(`select expires_at from push_tasks where msg_id = ${message}`)
    expect(Number(task?.expires_at)).toBeGreaterThanOrEqual(before + dayMs)
    expect(Number(task?.expires_at)).toBeLessThanOrEqual(Date.now() + dayMs)
  })

  describe('that wait for their gateway', () => {
    /** A message of which the gateway has a request that it does not answer. */
    async function waiting() {
      const ben = await pushes.receiver('510a')
      const message = await sendText(ann.api, ben.id, aText())
      await waitFor(() => pushes.shownTo(ben).length > 0, {
        what: 'the gateway has the request',
        timeoutMs: 60_000,
      })
      return { ben, message }
    }

    it('are withdrawn when the message is recalled', async () => {
      const { ben, message } = await waiting()
      expect((await recall(ann.api, ben.id, message)).code).toBe(200)
      expect(await pushes.outcome(message, ben.id)).toBe('message_recalled')
    })

    it('are withdrawn when the receiver has read the message, or a later one', async () => {
      const { ben, message } = await waiting()
      let later = 0
      // Messages without a push lie between.
      for (let count = 0; count < 25; count++)
        later = await sendText(ann.api, ben.id, aText(), { content_type: 6 })
      await acknowledge(ben.api, { peer: ann.id, message: later })
      expect(await pushes.outcome(message, ben.id)).toBe('message_read')
    })

    it('are withdrawn when the receiver has read everything', async () => {
      const ben = await pushes.receiver('510a')
      const group = await aGroup(ann, { members: [ben] })
      const messages = [
        await sendText(ann.api, ben.id, aText()),
        await sendToGroup(ann.api, group, aText()),
      ]
      await waitFor(() => pushes.shownTo(ben).length === messages.length, {
        what: 'the gateway has the requests',
        timeoutMs: 60_000,
      })
      await isPast()
      await acknowledge(ben.api)
      for (const message of messages)
        expect(await pushes.outcome(message, ben.id)).toBe('message_read')
    })
  })
})
