/** Aliases, tags and badges, on both databases (rule G7). */
import { type Answer, type Api, anyBackend, type Session } from '@hermod/testkit'
import { beforeAll, describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import type { Sql } from '../support/database/sql.js'
import { sharedServer } from '../support/in-process-server.js'

const tagsPerUser = 100

describe.each(anyBackend())('push preferences on $name', (backend) => {
  const server = sharedServer(backend)
  let api: Api
  let sql: Sql

  beforeAll(async () => {
    api = server.api
    sql = server.sql
  })

  describe('an alias', () => {
    let aliases = 0
    const newAlias = () => `alias ${++aliases}`

    function setAlias(
      { api: caller }: Session,
      alias: string,
      push_token?: string,
    ): Promise<Answer> {
      return caller.call('POST', '/user/push/alias', { body: { alias, push_token } })
    }

    it('alias: it belongs to one user, who can set it again', async () => {
      const [alice, bob] = [await api.newSession(), await api.newSession()]
      const alias = newAlias()
      expect((await setAlias(alice, alias)).envelope).toEqual({
        code: 200,
        data: true,
        message: null,
      })
      expect((await setAlias(alice, alias)).code).toBe(200)
      expect((await setAlias(bob, alias)).envelope).toEqual({
        code: answerCode.push_alias_taken,
        data: null,
        message: 'push alias is bound to another user',
      })
    })

    it('alias: a new one replaces the previous one, which becomes free', async () => {
      const [old, current] = [newAlias(), newAlias()]
      const body = { username: `registered_${aliases}`, password: 'correct horse', alias: old }
      const { data } = await api.succeed('POST', '/user/register/push', { body })
      const alice = await api.login({
        id: data.user_id,
        username: body.username,
        password: body.password,
      })
      const bob = await api.newSession()
      await expectCode(setAlias(bob, old), 'push_alias_taken')
      expect((await setAlias(alice, current)).code).toBe(200)
      expect((await setAlias(bob, old)).code).toBe(200)
      await expectCode(setAlias(alice, old), 'push_alias_taken')
      await expectCode(setAlias(bob, current), 'push_alias_taken')
    })

    it('alias: simultaneous sets by several users have one winner', async () => {
      const sessions = await Promise.all(Array.from({ length: 6 }, () => api.newSession()))
      const alias = newAlias()
      const codes = await Promise.all(
        sessions.map(async (session) => (await setAlias(session, alias)).code),
      )
      expect(codes.toSorted((a, b) => a - b)).toEqual([
        200,
        ...Array(5).fill(answerCode.push_alias_taken),
      ])
    })

    it('alias: simultaneous sets by one user leave one alias', async () => {
      const [alice, bob] = [await api.newSession(), await api.newSession()]
      const wanted = Array.from({ length: 5 }, newAlias)
      await Promise.all(wanted.map((alias) => setAlias(alice, alias)))
      const codes: number[] = []
      for (const alias of wanted) codes.push((await setAlias(bob, alias)).code)
      expect(codes.toSorted((a, b) => a - b)).toEqual([
        200,
        200,
        200,
        200,
        answerCode.push_alias_taken,
      ])
    })

    it('alias: only push tokens of the devices and settings of the caller can bind it', async () => {
      const user = await api.register()
      const alice = await api.login(user, 'phone')
      const body = {
        username: `settled_${user.id}`,
        password: 'correct horse',
        push_token: `settled ${user.id}`,
      }
      const { data } = await api.succeed('POST', '/user/register/push', { body })
      const bob = await api.login({
        id: data.user_id,
        username: body.username,
        password: body.password,
      })
      const [ofAlice, ofBob] = [String(alice.record.push_token), body.push_token]
      const [free, taken] = [newAlias(), newAlias()]
      for (const [session, token] of [
        [alice, ofBob],
        [bob, ofAlice],
        [alice, 'nobody’s'],
      ] as const) {
        expect(await setAlias(session, free, token)).toMatchObject({
          code: answerCode.push_token_mismatch,
          data: null,
        })
      }
      expect((await setAlias(alice, taken, ofAlice)).code).toBe(200)
      expect((await setAlias(bob, free, ofBob)).code).toBe(200)
      expect((await setAlias(bob, newAlias(), '')).code).toBe(200)
    })

    it('alias: "" removes it and makes it free', async () => {
      const [alice, bob] = [await api.newSession(), await api.newSession()]
      for (const session of [alice, bob]) {
        expect((await setAlias(session, 'wanderer')).code).toBe(200)
        expect((await setAlias(session, '')).code).toBe(200)
      }
      expect(
        await sql.run(`select alias from push_aliases where user_id in (${alice.id}, ${bob.id})`),
      ).toEqual([])
    })

    it.each([['longer than 128 characters', 'x'.repeat(129)]])(
      'is refused when it is %s',
      async (_, alias) => {
        expect((await setAlias(await api.newSession(), alias)).envelope).toMatchObject({
          code: answerCode.invalid_parameter,
          message: expect.stringMatching(/^invalid request parameter: alias must /),
        })
      },
    )
  })

  describe('a badge', () => {
    const storedBadge = async ({ id }: Session) =>
      (await sql.run(`select badge from user_badges where user_id = ${id}`))[0]?.badge

    it('badge: it is the last number set, for that user only', async () => {
      const [alice, bob] = [await api.newSession(), await api.newSession()]
      for (const badge of [7, 2 ** 31 - 1, 0, 3]) {
        const answer = await alice.api.call('POST', '/user/push/badge', { body: { badge } })
        expect(answer.envelope).toEqual({ code: 200, data: true, message: null })
        expect([await storedBadge(alice), await storedBadge(bob)]).toEqual([badge, 0])
      }
    })

    it.each([-1, 2 ** 31, 1.5, null])('is refused when it is %j', async (badge) => {
      const alice = await api.newSession()
      const { envelope } = await alice.api.call('POST', '/user/push/badge', { body: { badge } })
      expect(envelope).toMatchObject({
        code: answerCode.invalid_parameter,
        message: expect.stringMatching(/^invalid request parameter: badge (must|is) /),
      })
      expect(await storedBadge(alice)).toBe(0)
    })
  })

  describe('tags', () => {
    const path = '/user/push/tag'
    const numbered = (count: number, prefix = 'tag') =>
      Array.from({ length: count }, (_, index) => `${prefix}_${index}`)

    function add({ api: caller }: Session, tags: unknown): Promise<Answer> {
      return caller.call('POST', path, { body: { tags } })
    }

    function remove({ api: caller }: Session, tags: unknown): Promise<Answer> {
      return caller.call('DELETE', path, { body: { tags } })
    }

    async function tagsOf({ api: caller }: Session): Promise<string[]> {
      return (await caller.succeed<string[]>('GET', path)).data
    }

    it('tags: the list is ordered and has each tag once', async () => {
      const [alice, bob] = [await api.newSession(), await api.newSession()]
      expect(await tagsOf(alice)).toEqual([])
      expect(
        (await add(alice, ['news', 'Sport', 'news', 'a b', '新闻', 'Äpfel'])).envelope,
      ).toEqual({
        code: 200,
        data: true,
        message: null,
      })
      expect((await add(alice, ['news', 'art'])).code).toBe(200)
      expect(await tagsOf(alice)).toEqual(['Sport', 'a b', 'art', 'news', 'Äpfel', '新闻'])
      expect(await tagsOf(bob)).toEqual([])
    })

    it('tags: remove ignores missing tags', async () => {
      const [alice, bob] = [await api.newSession(), await api.newSession()]
      for (const session of [alice, bob]) await add(session, ['one', 'two', 'three'])
      expect((await remove(alice, ['two', 'two', 'unknown', 'ONE'])).envelope).toEqual({
        code: 200,
        data: true,
        message: null,
      })
      expect(await tagsOf(alice)).toEqual(['one', 'three'])
      expect(await tagsOf(bob)).toEqual(['one', 'three', 'two'])
    })

    it('tags: clear removes all', async () => {
      const [alice, bob] = [await api.newSession(), await api.newSession()]
      for (const session of [alice, bob]) await add(session, ['one', 'two'])
      for (let time = 1; time <= 2; time++) {
        const answer = await alice.api.call('DELETE', `${path}/all`)
        expect(answer.envelope).toEqual({ code: 200, data: true, message: null })
        expect(await tagsOf(alice)).toEqual([])
      }
      expect(await tagsOf(bob)).toEqual(['one', 'two'])
    })

    it('tags: at most 100; a call that would exceed it adds none', async () => {
      const alice = await api.newSession()
      expect(await add(alice, numbered(tagsPerUser + 1))).toMatchObject({
        code: answerCode.push_tag_limit_reached,
      })
      expect(await tagsOf(alice)).toEqual([])
      expect((await add(alice, [...numbered(99), ...numbered(99)])).code).toBe(200)
      expect((await add(alice, ['x', 'y'])).envelope).toEqual({
        code: answerCode.push_tag_limit_reached,
        data: null,
        message: 'user has too many tags',
      })
      expect((await add(alice, ['x', 'tag_0', 'x'])).code).toBe(200)
      expect((await add(alice, [...numbered(99), 'x'])).code).toBe(200)
      await expectCode(add(alice, ['y']), 'push_tag_limit_reached')
      expect(await tagsOf(alice)).toEqual([...numbered(99), 'x'].sort())
      await remove(alice, ['x'])
      expect((await add(alice, ['y'])).code).toBe(200)
    })

    it('tags: at most 100 after simultaneous calls', async () => {
      const alice = await api.newSession()
      const answers = await Promise.all(
        Array.from({ length: 14 }, (_, index) => add(alice, numbered(10, `batch_${index}`))),
      )
      expect(answers.map(({ code }) => code).toSorted((a, b) => a - b)).toEqual([
        ...Array(10).fill(200),
        ...Array(4).fill(answerCode.push_tag_limit_reached),
      ])
      expect(await tagsOf(alice)).toHaveLength(tagsPerUser)
    })

    it('tags: 1 to 64 characters', async () => {
      const alice = await api.newSession()
      const longest = '😀'.repeat(64)
      expect((await add(alice, [longest, 'x'])).code).toBe(200)
      for (const change of [add, remove]) {
        for (const bad of ['', `${longest}x`]) {
          const { envelope } = await change(alice, ['x', bad])
          expect(envelope).toMatchObject({
            code: answerCode.invalid_parameter,
            message: expect.stringMatching(/^invalid request parameter: tags\[1\] must /),
          })
        }
      }
      expect(await tagsOf(alice)).toEqual(['x', longest])
    })

    it.each([
      ['empty', []],
      ['a text', 'news'],
      ['missing', undefined],
      ['too long', numbered(501)],
    ])('are refused when the list is %s', async (_, tags) => {
      const alice = await api.newSession()
      for (const change of [add, remove])
        expect((await change(alice, tags)).envelope).toMatchObject({
          code: answerCode.invalid_parameter,
          message: expect.stringMatching(/^invalid request parameter: tags (must|is) /),
        })
    })
  })
})
