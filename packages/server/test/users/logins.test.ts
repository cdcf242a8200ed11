/** Logins and the devices that they open (rules C6, D4, D6). */
import {
  type Account,
  type Api,
  anyBackend,
  type TokenData,
  sharedPassword as password,
} from '@hermod/testkit'
import { beforeAll, describe, expect, it } from 'vitest'
import { accountCalls, newName } from '../support/accounts.js'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { ownServer } from '../support/in-process-server.js'

describe.each(anyBackend())('logins on $name', (backend) => {
  const server = ownServer(backend, { HERMOD_DEVICES_PER_USER: '3' })
  const { codeOfToken, logIn } = accountCalls(server)
  let api: Api

  beforeAll(() => {
    api = server.api
  })

  describe('a login', () => {
    it('login: ID, username and login name find the same user, in any letter case', async () => {
      const user = await api.register(newName('Case'))
      const lower = user.username.toLowerCase()
      const logins = [
        await api.succeed('POST', '/token/id', { body: { user_id: user.id, password } }),
        await api.succeed('POST', '/token/id', { body: { user_id: String(user.id), password } }),
        await api.succeed('POST', '/token/user', { body: { name: user.username, password } }),
        await api.succeed('POST', '/token/user', { body: { name: lower, password } }),
        await api.succeed('POST', '/token/login', {
          body: { login_name: user.username, password },
        }),
        await api.succeed('POST', '/token/login', {
          body: { login_name: lower.toUpperCase(), password },
        }),
      ]
      for (const { data } of logins) {
        expect(data.user_id).toBe(user.id)
        const profile = await api.as(data.token).succeed('GET', '/user/profile')
        expect(profile.data).toMatchObject({ user_id: user.id, username: user.username })
      }
      expect(new Set(logins.map(({ data }) => data.token)).size).toBe(logins.length)
    })

    it('login: the answer has a push token for devices only', async () => {
      const user = await api.register()
      const plain = (await logIn(user)).data
      expect(plain).toEqual({
        access_key_secret: expect.stringMatching(/^.{32,}$/),
        encrypt_type: 0,
        expire: expect.any(Number),
        public_key: '',
        store_token: expect.stringMatching(/^.{32,}$/),
        token: expect.stringMatching(/^hmu_[0-9A-Za-z]{43}$/),
        user_id: user.id,
      })
      const days = (plain.expire - Date.now()) / 86_400_000
      expect(days).toBeGreaterThan(29)
      expect(days).toBeLessThan(31)
      const withDevice = (await logIn(user, { device_guid: 'phone' })).data
      expect(Object.keys(withDevice).toSorted()).toEqual(
        [...Object.keys(plain), 'push_token'].toSorted(),
      )
      expect(Object.hasOwn((await logIn(user, { device_guid: '' })).data, 'push_token')).toBe(false)
    })

    it('login: file credentials belong to the user and stay the same', async () => {
      const [user, other] = [await api.register(), await api.register()]
      const [first, second, others] = [
        (await logIn(user)).data,
        (await logIn(user)).data,
        (await logIn(other)).data,
      ]
      const credentials = ({ store_token, access_key_secret }: TokenData) => [
        store_token,
        access_key_secret,
      ]
      expect(credentials(second)).toEqual(credentials(first))
      expect(new Set([...credentials(first), ...credentials(others)]).size).toBe(4)
    })

    it('login: a wrong password is refused without data', async () => {
      const user = await api.register()
      for (const wrong of [
        'x',
        `${password} `,
        password.toUpperCase(),
        password.slice(1),
        '*',
        '%',
        'x'.repeat(128),
      ]) {
        for (const [path, name] of [
          ['/token/id', { user_id: user.id }],
          ['/token/user', { name: user.username }],
          ['/token/login', { login_name: user.username }],
        ] as const) {
          const { status, envelope } = await api.call('POST', path, {
            body: { ...name, password: wrong },
          })
          expect([status, envelope], wrong).toEqual([
            200,
            { code: answerCode.password_incorrect, data: null, message: 'password is incorrect' },
          ])
        }
      }
      await expectCode(logIn(user), 'ok')
    })

    it.each([
      1,
      0,
      -1,
      9007199254740991,
      9007199254740993n,
      9223372036854775807n,
      -9223372036854775808n,
    ])('of the ID %s, which nobody has, finds nobody', async (userId) => {
      const { status, envelope } = await api.call('POST', '/token/id', {
        body: { user_id: userId, password },
      })
      expect([status, envelope]).toEqual([
        200,
        { code: answerCode.user_not_found, data: null, message: 'user does not exist' },
      ])
    })

    it.each([
      'nobody',
      '13812345678',
      '+15551234567',
      '7',
      '9'.repeat(64),
      'someone@example.org',
      '@',
      '%',
      '_%',
      "' or ''='",
    ])('of the name %s, which nobody has, finds nobody', async (name) => {
      expect(await api.call('POST', '/token/user', { body: { name, password } })).toMatchObject({
        status: 200,
        code: answerCode.user_not_found,
      })
      expect(
        await api.call('POST', '/token/login', { body: { login_name: name, password } }),
      ).toMatchObject({
        status: 200,
        code: answerCode.user_not_found,
      })
    })

    it('login: an ID given as a name finds no user', async () => {
      const user = await api.register()
      const login = await api.call('POST', '/token/login', {
        body: { login_name: String(user.id), password },
      })
      expect(login).toMatchObject({ code: answerCode.user_not_found })
    })
  })

  describe('a device', () => {
    const open = async (user: Account, deviceGuid: string) =>
      (await logIn(user, { device_guid: deviceGuid })).data

    it('device: the GUID identifies it, per user', async () => {
      const [user, other] = [await api.register(), await api.register()]
      const [phone, again, tablet, others] = [
        await open(user, 'phone'),
        await open(user, 'phone'),
        await open(user, 'tablet'),
        await open(other, 'phone'),
      ]
      expect(again.push_token).toBe(phone.push_token)
      expect(
        new Set([phone, tablet, others].map(({ push_token: pushToken }) => pushToken)).size,
      ).toBe(3)
      expect(
        await Promise.all([phone, again, tablet, others].map(({ token }) => codeOfToken(token))),
      ).toEqual([200, 200, 200, 200])
    })

    it('device: simultaneous first logins create it once', async () => {
      const user = await api.register()
      const logins = await Promise.all(Array.from({ length: 6 }, () => open(user, 'phone')))
      expect(new Set(logins.map(({ push_token: pushToken }) => pushToken)).size).toBe(1)
      // Had it been made more often, the surplus would have pushed it out.
      expect(await Promise.all(logins.map(({ token }) => codeOfToken(token)))).toEqual(
        Array(6).fill(200),
      )
    })

    it('device: the least recently used one above the limit is removed with its tokens; other tokens stay', async () => {
      const user = await api.register()
      const plain = (await logIn(user)).data
      const first = await open(user, 'first')
      const second = await open(user, 'second')
      const third = await open(user, 'third')
      const firstAgain = await open(user, 'first')
      const secondAgain = await open(user, 'second')
      expect(await codeOfToken(third.token)).toBe(200)
      const fourth = await open(user, 'fourth')
      const stay = [plain, first, firstAgain, second, secondAgain, fourth]
      expect(await Promise.all(stay.map(({ token }) => codeOfToken(token)))).toEqual(
        Array(stay.length).fill(200),
      )
      expect(await codeOfToken(third.token)).toBe(answerCode.token_expired)
      expect((await open(user, 'third')).push_token).not.toBe(third.push_token)
      expect(await codeOfToken(first.token)).toBe(answerCode.token_expired)
      expect(await codeOfToken(second.token)).toBe(200)
    })

    it('device: the GUID is any text of up to 128 characters', async () => {
      const user = await api.register()
      for (const guid of ['😀'.repeat(128), "'; --", '\u{10ffff}'])
        expect(await open(user, guid)).toMatchObject({ push_token: expect.any(String) })
      await expectCode(logIn(user, { device_guid: 'x'.repeat(129) }), 'invalid_parameter')
    })
  })
})
