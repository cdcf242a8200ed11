/** Text of messages that are being written, on connected devices (rule E19). */
import { type Api, GatewayClient, type Session, testBackends, waitFor } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { aGroup, expectSuccess, groupCall, types } from '../../support/groups/groups.js'
import { ownServer } from '../../support/in-process-server.js'
import { sendText, sessions } from '../../support/messaging/messaging.js'

interface Delta {
  readonly msg_id: number
  readonly index: number
  readonly offset: number
  readonly text: string
}

const textOnDevice = { what: 'the text on a device', timeoutMs: 5_000 }

for (const backend of testBackends())
  describe(`delivery of streams on ${backend.name}`, () => {
    const server = ownServer(backend)

    async function connect({ token }: Session, features = ['streams']): Promise<GatewayClient> {
      const client = await GatewayClient.connect(server.url)
      await client.open({ appId: server.appId, accessToken: token, features })
      return client
    }

    const begin = (sender: Session, id: number, type = 1) =>
      sendText(sender.api, id, '…', { type, stream: { kind: 'text' } })

    async function append(
      api: Api,
      [conversation_id, msg_id]: [number, number],
      [index, text]: [number, string],
      more: object = {},
    ): Promise<void> {
      const body = { conversation_id, msg_id, type: 1, index, text, ...more }
      await api.succeed('POST', '/message/stream/append', { body })
    }

    const deltasOf = ({ events }: GatewayClient) =>
      events.filter(({ event }) => event === 'message.delta').map(({ data }) => data as Delta)

    const textOf = (client: GatewayClient) =>
      deltasOf(client).reduce((text, delta) => {
        expect(delta.offset).toBe(text.length)
        return text + delta.text
      }, '')

    it('deltas: all devices of both parties get the text after the message, others and earlier clients none', async () => {
      const [alice, bob, carol] = await sessions(server, 3)
      using a = await connect(alice)
      using b = await connect(bob)
      using c = await connect(carol)
      using earlier = await connect(bob, [])
      const msg_id = await begin(alice, bob.id)
      const words = ['One ', 'two ', 'three 🙂 ', 'four']
      for (const [index, word] of words.entries())
        await append(alice.api, [bob.id, msg_id], [index + 1, word])
      for (const client of [a, b])
        await waitFor(() => textOf(client) === words.join(''), textOnDevice)
      const order = b.events.map(({ event }) => event)
      expect(order.indexOf('message.stored')).toBeLessThan(order.indexOf('message.delta'))
      expect(deltasOf(b).at(-1)).toMatchObject({ msg_id, index: 4 })
      await append(alice.api, [bob.id, msg_id], [5, ''], { end: { state: 'done' } })
      for (const client of [a, b, earlier]) {
        const { data } = await client.next(({ event }) => event === 'message.replaced')
        expect(data).toMatchObject({ content: words.join(''), stream: { state: 'done' } })
      }
      expect(deltasOf(c)).toEqual([])
      expect(deltasOf(earlier)).toEqual([])
    })

    it.each([
      ['group', types.private],
      ['chatroom', types.chatroom],
    ])('deltas: members of a %s get them', async (_, type) => {
      const [owner, member, outsider] = await sessions(server, 3)
      const group = await aGroup(owner, { members: [member], more: { type } })
      using m = await connect(member)
      using o = await connect(outsider)
      const msg_id = await begin(owner, group, 2)
      await append(owner.api, [group, msg_id], [1, 'text'], { type: 2 })
      await waitFor(() => textOf(m) === 'text', textOnDevice)
      expect(deltasOf(o)).toEqual([])
    })

    it('deltas: only members who may see the message get them', async () => {
      const [owner, removed, newcomer] = await sessions(server, 3)
      const group = await aGroup(owner, { members: [removed], more: { history_visible: false } })
      using o = await connect(owner)
      using r = await connect(removed)
      using n = await connect(newcomer)
      const msg_id = await begin(owner, group, 2)
      const write = (index: number, text: string) =>
        append(owner.api, [group, msg_id], [index, text], { type: 2 })
      const change = async (path: string, params: object) =>
        expectSuccess(await groupCall(owner.api, path, group, params))
      await write(1, 'one ')
      await waitFor(() => textOf(r) === 'one ', textOnDevice)
      await change('/group/kick', { user_list: [removed.id] })
      await change('/group/admin/member_join', { user_list: [newcomer.id] })
      await r.next(({ event }) => event === 'group.kicked')
      await n.next(({ event }) => event === 'group.joined')
      await write(2, 'two ')
      await waitFor(() => textOf(o) === 'one two ', textOnDevice)
      await change('/group/settings/history_visible', { value: true })
      await n.next(({ event }) => event === 'group.info_updated')
      await write(3, 'three')
      await waitFor(() => deltasOf(n).length > 0, textOnDevice)
      expect(deltasOf(n)).toMatchObject([{ msg_id, offset: 8, text: 'three' }])
      expect(textOf(r)).toBe('one ')
    })

    it('deltas: with stream_review devices get the text at the end only', async () => {
      const [alice, bob] = await sessions(server, 2)
      using b = await connect(bob)
      const review = (stream_review: boolean) =>
        server.api.as(server.operatorToken).succeed('POST', '/operator/v1/app/update', {
          body: { app_id: server.appId, settings: { stream_review } },
        })
      await review(true)
      try {
        const msg_id = await begin(alice, bob.id)
        await append(alice.api, [bob.id, msg_id], [1, 'not '])
        await append(alice.api, [bob.id, msg_id], [2, 'yet'], { end: { state: 'done' } })
        const { data } = await b.next(({ event }) => event === 'message.replaced')
        expect(data).toMatchObject({ content: 'not yet' })
        expect(deltasOf(b)).toEqual([])
      } finally {
        await review(false)
      }
    })

    it('deltas: a request to end it reaches the devices of the sender, one about another message does not', async () => {
      const [alice, bob] = await sessions(server, 2)
      using a = await connect(alice)
      const cancel = (msg_id: number) =>
        bob.api.succeed('POST', '/message/stream/cancel', {
          body: { conversation_id: alice.id, msg_id },
        })
      await cancel(await sendText(alice.api, bob.id, 'text'))
      const [first, second] = [await begin(alice, bob.id), await begin(alice, bob.id)]
      for (const msg_id of [first, first, second]) await cancel(msg_id)
      const asked = () => a.events.filter(({ event }) => event === 'stream.cancel')
      await waitFor(
        () => asked().some(({ data }) => (data as Delta).msg_id === second),
        textOnDevice,
      )
      expect(asked().map(({ data }) => data)).toMatchObject([
        { msg_id: first, user_id: bob.id },
        { msg_id: second, user_id: bob.id },
      ])
    })

    it('activity: the others see what a user does', async () => {
      const [alice, bob] = await sessions(server, 2)
      using a = await connect(alice)
      using b = await connect(bob)
      const body = { conversation_id: bob.id, type: 1, state: 'searching', text: 'the web' }
      await alice.api.succeed('POST', '/message/activity', { body })
      const { data } = await b.next(({ event }) => event === 'activity')
      expect(data).toMatchObject({ user_id: alice.id, state: 'searching', text: 'the web' })
      expect(a.events.map(({ event }) => event)).not.toContain('activity')
    })
  })
