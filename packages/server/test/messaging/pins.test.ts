/** Pinned conversations, on both databases. */
import { type Account, type Answer, type Api, anyBackend, type Session } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import type { Sql } from '../support/database/sql.js'
import { aGroup, expectSuccess, groupCall } from '../support/groups/groups.js'
import { InProcessServer } from '../support/in-process-server.js'
import { aDeletedUser, integrityFaults } from '../support/messaging/messaging.js'

const pinsPerUser = 1_000
const system = 0

for (const backend of anyBackend()) {
  describe(`pinned conversations on ${backend.name}`, () => {
    let watched: InProcessServer
    let api: Api
    let sql: Sql
    let others: Account[]

    beforeAll(async () => {
      watched = await InProcessServer.start(backend)
      api = watched.server.api
      sql = watched.sql
      others = await Promise.all(Array.from({ length: 8 }, () => api.register()))
    })

    afterAll(async () => {
      await watched?.[Symbol.asyncDispose]()
    })

    function pin(
      { api: caller }: Session,
      conversation_id: unknown,
      method = 'POST',
    ): Promise<Answer> {
      return caller.call(method, '/user/conversation/pin', { body: { conversation_id } })
    }

    function unpin(
      { api: caller }: Session,
      conversation_id: unknown,
      method = 'POST',
    ): Promise<Answer> {
      return caller.call(method, '/user/conversation/unpin', { body: { conversation_id } })
    }

    async function pinned({ api: caller }: Session): Promise<number[]> {
      const { data } = await caller.succeed('GET', '/user/conversation/pin_list')
      expect(Object.keys(data)).toEqual(['conversation_ids'])
      return data.conversation_ids
    }

    it.each(['PUT', 'POST'])(
      'are added and taken away by %s, newest first, for one user',
      async (method) => {
        const [alice, bob] = [await api.newSession(), await api.newSession()]
        expect(await pinned(alice)).toEqual([])
        const wanted = [...others.map(({ id }) => id), system, alice.id, bob.id]
        for (const id of wanted)
          expect((await pin(alice, id, method)).envelope).toEqual({
            code: 200,
            data: true,
            message: null,
          })
        expect(await pinned(alice)).toEqual(wanted.toReversed())
        for (const id of [system, bob.id]) {
          expect((await unpin(alice, id, method)).envelope).toEqual({
            code: 200,
            data: true,
            message: null,
          })
        }
        expect(await pinned(alice)).toEqual([alice.id, ...others.map(({ id }) => id).toReversed()])
        expect(await pinned(bob)).toEqual([])
      },
    )

    it('keep their place when they are pinned again, and get a new one after being unpinned', async () => {
      const alice = await api.newSession()
      const [first, second] = others.map(({ id }) => id)
      for (const id of [first, second, first]) expect((await pin(alice, id)).code).toBe(200)
      expect(await pinned(alice)).toEqual([second, first])
      await unpin(alice, first)
      await pin(alice, first)
      expect(await pinned(alice)).toEqual([first, second])
    })

    it('need not be pinned, nor exist, to be unpinned', async () => {
      const alice = await api.newSession()
      for (const id of [others[0]?.id, system, 1, -1, 2n ** 63n - 1n])
        expect((await unpin(alice, id)).code).toBe(200)
    })

    it('are with somebody who exists', async () => {
      const alice = await api.newSession()
      const gone = await aDeletedUser(watched)
      for (const id of [1, -1, 2n ** 63n - 1n]) {
        expect((await pin(alice, id)).envelope).toEqual({
          code: answerCode.user_not_found,
          data: null,
          message: 'user does not exist',
        })
      }
      expect((await pin(alice, gone)).envelope).toMatchObject({
        code: answerCode.user_deleted,
        data: null,
      })
      expect(await pinned(alice)).toEqual([])
    })

    it('are with groups that the user is in, among the others', async () => {
      const [alice, bob, carol] = [
        await api.newSession(),
        await api.newSession(),
        await api.newSession(),
      ]
      const group = await aGroup(bob, { members: [alice] })
      for (const id of [bob.id, group, carol.id, group])
        expect((await pin(alice, id)).envelope).toMatchObject({ code: 200, data: true })
      expect(await pinned(alice)).toEqual([carol.id, group, bob.id])
      expect(await pinned(bob)).toEqual([])
      expect((await pin(carol, group)).envelope).toEqual({
        code: answerCode.not_group_member,
        data: null,
        message: 'user is not a member of the group',
      })
      expect(await pinned(carol)).toEqual([])
      await unpin(alice, group)
      expect(await pinned(alice)).toEqual([carol.id, bob.id])
    })

    it.each(['leaves', 'is kicked', 'is blocked'])(
      'are no more with a group when the user %s, nor again after coming back',
      async (way) => {
        const [owner, member] = [await api.newSession(), await api.newSession()]
        const group = await aGroup(owner, { members: [member] })
        const other = await aGroup(owner, { members: [member] })
        for (const id of [group, other]) await pin(member, id)
        const list = { user_list: [member.id] }
        if (way === 'leaves')
          await member.api.succeed('POST', '/group/leave', { query: { group_id: group } })
        else
          expectSuccess(
            await groupCall(
              owner.api,
              way === 'is kicked' ? '/group/kick' : '/group/block',
              group,
              list,
            ),
          )
        expect(await pinned(member)).toEqual([other])
        expect((await pin(member, group)).code).toBe(answerCode.not_group_member)
        if (way === 'is blocked')
          expectSuccess(await groupCall(owner.api, '/group/unblock', group, list))
        expectSuccess(await groupCall(owner.api, '/group/admin/member_join', group, list))
        expect(await pinned(member)).toEqual([other])
        expect((await pin(member, group)).code).toBe(200)
        expect(await pinned(member)).toEqual([group, other])
      },
    )

    it('stay with a group that is dissolved, which can be unpinned but not be pinned any more', async () => {
      const [owner, member] = [await api.newSession(), await api.newSession()]
      const group = await aGroup(owner, { members: [member] })
      await pin(member, group)
      await owner.api.succeed('POST', '/group/destroy', { query: { group_id: group } })
      expect(await pinned(member)).toEqual([group])
      expect((await pin(owner, group)).code).toBe(answerCode.group_not_found)
      expect((await unpin(member, group)).code).toBe(200)
      expect(await pinned(member)).toEqual([])
    })

    it('are with no group that the user leaves at the same time', async () => {
      const [owner, ...members] = await Promise.all(
        Array.from({ length: 9 }, () => api.newSession()),
      )
      if (!owner) throw new Error('nobody')
      const group = await aGroup(owner, { members })
      const answers = await Promise.all(
        members.flatMap((member, index) => {
          const leave = () =>
            member.api.call('POST', '/group/leave', { query: { group_id: group } })
          return index % 2 === 0
            ? [pin(member, group), leave(), pin(member, group)]
            : [leave(), pin(member, group)]
        }),
      )
      expect(
        answers.every(({ code }) => code === 200 || code === answerCode.not_group_member),
      ).toBe(true)
      for (const member of members) expect(await pinned(member)).toEqual([])
      expect(await integrityFaults(watched.server)).toEqual([])
    })

    it('are each in the list once after being pinned several times at once', async () => {
      const alice = await api.newSession()
      const ids = others.map(({ id }) => id)
      const answers = await Promise.all([...ids, ...ids].map((id) => pin(alice, id)))
      expect(answers.map(({ code }) => code)).toEqual(Array(2 * ids.length).fill(200))
      expect((await pinned(alice)).toSorted((a, b) => a - b)).toEqual(ids.toSorted((a, b) => a - b))
    })

    it('are at most 1000, also when they are pinned at once', async () => {
      const alice = await api.newSession()
      const rows = Array.from(
        { length: pinsPerUser - 2 },
        (_, index) => `('${watched.server.appId}', ${alice.id}, ${index + 1}, ${index + 1})`,
      )
      await sql.run(
        `insert into pinned_conversations (app_id, user_id, conversation_id, pinned_at) values ${rows.join(', ')}`,
      )
      const codes = await Promise.all(others.map(async ({ id }) => (await pin(alice, id)).code))
      expect(codes.toSorted((a, b) => a - b)).toEqual([
        200,
        200,
        ...Array(others.length - 2).fill(answerCode.pin_limit_reached),
      ])
      const full = await pinned(alice)
      expect(full).toHaveLength(pinsPerUser)
      expect((await pin(alice, system)).envelope).toEqual({
        code: answerCode.pin_limit_reached,
        data: null,
        message: 'too many pinned conversations',
      })
      expect((await pin(alice, full[0])).code).toBe(200)
      await unpin(alice, full[1])
      expect((await pin(alice, system)).code).toBe(200)
      expect((await pinned(alice)).slice(0, 2)).toEqual([system, full[0]])
    })

    it.each([
      ['missing', undefined],
      ['null', null],
      ['a word', 'group'],
      ['a fraction', 1.5],
      ['a list', [1]],
      ['beyond int64', 2n ** 63n],
    ])('are refused when conversation_id is %s', async (_, id) => {
      const alice = await api.newSession()
      for (const change of [pin, unpin]) {
        const { envelope } = await change(alice, id)
        expect(envelope).toMatchObject({
          code: answerCode.invalid_parameter,
          message: expect.stringMatching(/^invalid request parameter: conversation_id (must|is) /),
        })
      }
    })
  })
}
