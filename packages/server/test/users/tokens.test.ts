/**
 * The life of user tokens and of the file credentials that come with them, on both databases (rules
 * B6, C1, C6, D3, D4).
 */
import {
  type Account,
  type Answer,
  type Api,
  anyBackend,
  type LoginSession,
  type TokenData,
} from '@hermod/testkit'
import { beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { ownServer } from '../support/in-process-server.js'

const dayMs = 86_400_000

describe.each(anyBackend())('tokens on $name', (backend) => {
  const server = ownServer(backend, { HERMOD_USER_TOKEN_DAYS: '2' })
  let api: Api

  beforeAll(async () => {
    api = server.api
  })

  async function codeOfToken(token: string): Promise<number> {
    return (await api.as(token).call('GET', '/user/profile')).code
  }

  const sql = (statement: string) => server.sql.run(statement)

  describe('a user token', () => {
    it('user token: expire is in milliseconds, HERMOD_USER_TOKEN_DAYS after the login', async () => {
      const { expire } = (await api.newLogin()).record
      expect(expire - Date.now()).toBeGreaterThan(1.9 * dayMs)
      expect(expire - Date.now()).toBeLessThan(2.1 * dayMs)
    })

    it('user token: an expired one is refused, and a new login works', async () => {
      const session = await api.newLogin()
      const bystander = await api.newLogin()
      // Before its first use, since the service keeps the tokens that it has read.
      await sql(
        `update user_tokens set expires_at = ${Date.now() - 1000} where user_id = ${session.id}`,
      )
      const { status, envelope } = await session.api.call('GET', '/user/profile')
      expect([status, envelope]).toEqual([
        200,
        { code: answerCode.token_expired, data: null, message: 'access-token expired or revoked' },
      ])
      expect(await codeOfToken(bystander.token)).toBe(200)
      expect(await codeOfToken((await api.login(session)).token)).toBe(200)
      expect(await codeOfToken(session.token)).toBe(answerCode.token_expired)
    })

    describe('that has many others beside it', () => {
      const columns = 'app_id, user_id, created_at, expires_at'
      /** Tokens that the user got after those that there are. */
      const addTokens = (user: Account, count: number, revokedAt: string) =>
        sql(
          `with recursive n(x) as (select 1 union all select x + 1 from n where x < ${count})
             insert into user_tokens (token_hash, ${columns}, revoked_at)
             select 'made_up_${user.id}_' || x, app_id, user_id, created_at + 1, expires_at, ${revokedAt}
             from n, (select ${columns} from user_tokens where user_id = ${user.id} order by created_at desc limit 1) as latest`,
        )
      const countOf = async (user: Account, condition = 'true') =>
        Number(
          (
            await sql(
              `select count(*) as count from user_tokens where user_id = ${user.id} and ${condition}`,
            )
          )[0]?.count,
        )

      it('user token: only the newest hundred without a device stay valid; device tokens are not counted', async () => {
        const alice = await api.register()
        const tablet = await api.login(alice, 'tablet')
        const oldest = await api.login(alice)
        await addTokens(alice, 98, 'null')
        const last = await api.login(alice)
        expect(await codeOfToken(oldest.token)).toBe(200)
        await api.login(alice)
        expect(await codeOfToken(oldest.token)).toBe(answerCode.token_expired)
        for (const { token } of [tablet, last]) expect(await codeOfToken(token)).toBe(200)
        expect(await countOf(alice, 'device_sn is null and revoked_at is null')).toBe(100)
      })

      it('user token: rows beyond the newest thousand are deleted, also of ended tokens', async () => {
        const alice = await api.register()
        const oldest = await api.login(alice, 'tablet')
        await addTokens(alice, 1_100, '1')
        const latest = await api.login(alice, 'tablet')
        expect(await countOf(alice)).toBe(1_000)
        expect(await codeOfToken(oldest.token)).toBe(answerCode.token_invalid)
        expect(await codeOfToken(latest.token)).toBe(200)
      })
    })

    it('user token: a login at the moment of a disable leaves none valid', async () => {
      const user = await api.register()
      for (let round = 0; round < 5; round++) {
        const body = { user_id: user.id, password: user.password }
        const logins = Array.from({ length: 6 }, (_, index) =>
          api.call<TokenData>('POST', '/token/id', {
            body: index % 2 ? { ...body, device_guid: `device ${index}` } : body,
          }),
        )
        const [answers] = await Promise.all([Promise.all(logins), setStatus('disable', user)])
        const issued = answers.filter(({ code }) => code === 200)
        for (const { data } of issued)
          expect(await codeOfToken(data.token)).toBe(answerCode.token_expired)
        for (const { code } of answers)
          expect([answerCode.ok, answerCode.user_disabled]).toContain(code)
        await setStatus('enable', user)
      }
    })
  })

  function setStatus(change: 'disable' | 'enable', user: Account): Promise<unknown> {
    return api.admin().succeed('PUT', `/user/${change}`, { body: { list: [user.id] } })
  }

  describe('file credentials', () => {
    const pick = ({ store_token, access_key_secret }: TokenData) => ({
      store_token,
      access_key_secret,
    })

    it('file credentials: they stay the same over logins on a device, and belong to one user and device', async () => {
      const [user, other] = [await api.register(), await api.newLogin()]
      const [first, ...others] = (
        await Promise.all([
          api.login(user),
          api.login(user),
          api.login(user, 'phone'),
          api.login(user, 'phone'),
          api.login(user, 'tablet'),
        ])
      ).map(({ record }) => pick(record))
      const [plain, phone, phoneAgain, tablet] = others
      expect(plain).toEqual(first)
      expect(phoneAgain).toEqual(phone)
      expect(first?.store_token).toMatch(/^hms_[0-9a-z]+\.[\w-]{43}$/)
      expect(phone?.store_token).toMatch(/^hms_[0-9a-z]+\.[12]\.[\w-]{43}$/)
      const all = [first, phone, tablet, pick(other.record)].flatMap((credentials) =>
        Object.values(credentials ?? {}),
      )
      expect(new Set(all).size).toBe(8)
    })

    it.each<[string, (session: LoginSession) => Promise<Answer>, string?]>([
      [
        'a change of the password',
        (session) =>
          session.api.call('POST', '/user/change_password', {
            body: { old_password: session.password, new_password: 'new password' },
          }),
        'new password',
      ],
      [
        'a change of the password by an administrator',
        (session) =>
          api
            .admin({ userId: session.id })
            .call('POST', '/user/change_password_admin', { body: { password: 'new password' } }),
        'new password',
      ],
      ['a kick of all devices', (session) => session.api.call('POST', '/user/kick')],
      [
        'disabling and enabling the user',
        async (session) => {
          await setStatus('disable', session)
          return api.admin().call('PUT', '/user/enable', { body: { list: [session.id] } })
        },
      ],
    ])('end with %s, and those of others do not', async (_, end, password) => {
      const [session, bystander] = [await api.newLogin(), await api.newLogin()]
      expect(await end(session)).toMatchObject({ code: 200 })
      const again = await api.login({ ...session, password: password ?? session.password })
      expect(again.record.store_token).not.toBe(session.record.store_token)
      expect(again.record.access_key_secret).not.toBe(session.record.access_key_secret)
      expect(pick((await api.login(bystander)).record)).toEqual(pick(bystander.record))
    })

    it('file credentials: a kick ends those of the device alone', async () => {
      const user = await api.register()
      const [phone, tablet, plain] = [
        await api.login(user, 'phone'),
        await api.login(user, 'tablet'),
        await api.login(user),
      ]
      await tablet.api.succeed('POST', '/user/kick', { query: { device_sn: 1 } })
      expect([await codeOfToken(phone.token), await codeOfToken(tablet.token)]).toEqual([
        answerCode.token_expired,
        200,
      ])
      expect(pick((await api.login(user, 'phone')).record)).not.toEqual(pick(phone.record))
      expect(pick((await api.login(user, 'tablet')).record)).toEqual(pick(tablet.record))
      expect(pick((await api.login(user)).record)).toEqual(pick(plain.record))
    })
  })
})
