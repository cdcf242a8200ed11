/** Assertions that are exchanged for tokens, on both databases (rule C10). */
import { type Api, type Json, testBackends } from '@hermod/testkit'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { accountCalls, newName } from '../support/accounts.js'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { metric } from '../support/attack.js'
import { backendCalls, newSubject } from '../support/identity.js'
import { ownServer } from '../support/in-process-server.js'
import { issuerCalls } from '../support/issuers.js'

const minuteMs = 60_000
const dayMs = 86_400_000

describe.each(testBackends())('exchange of assertions on $name', (backend) => {
  const server = ownServer(backend, { HERMOD_USER_TOKEN_DAYS: '2' })
  const { newIssuer, set, list, assertionOf, exchange, exchanged, test, call } = issuerCalls(server)
  const { revoke, issued, identitiesOf } = backendCalls(() => api.admin())
  const { codeOfToken } = accountCalls(server)
  let api: Api

  beforeAll(() => {
    api = server.api
  })

  afterEach(async () => {
    server.clock.set(Date.now())
    for (const { issuer } of await list()) await call('remove', { issuer })
  })

  const later = (ms: number) => server.clock.set(server.clock.now() + ms)
  const newPerson = () => newSubject().subject
  const profileOf = async (token: string): Promise<Json> =>
    (await api.as(token).succeed('GET', '/user/profile')).data
  const usersOf = async (issuer: string) =>
    (await server.sql.run(`select user_id from user_identities where issuer = '${issuer}'`)).map(
      ({ user_id }) => Number(user_id),
    )

  it('50 first exchanges of one subject at once make one user', async () => {
    const issuer = await newIssuer({ create: 'first_login' })
    const assertion = assertionOf(issuer, newPerson())
    const answers = await Promise.all(Array.from({ length: 50 }, () => exchanged(assertion)))
    const users = new Set(answers.map(({ data }) => data.user_id))
    expect([users.size, answers.filter(({ created }) => created).length]).toEqual([1, 1])
    expect(await usersOf(issuer)).toEqual([...users])
    expect(await codeOfToken(answers[7]?.data.token ?? '')).toBe(200)
  })

  it('a subject without a user is refused unless the issuer makes users', async () => {
    const issuer = await newIssuer()
    const subject = newPerson()
    await expectCode(exchange(assertionOf(issuer, subject)), 'user_not_found')
    const { data } = await issued({ issuer, subject, create: {} })
    const given = await exchanged(assertionOf(issuer, subject))
    expect([given.data.user_id, given.created]).toEqual([data.user_id, false])
  })

  it('an integer names the same user as its digits', async () => {
    const issuer = await newIssuer({ create: 'first_login' })
    const { data } = await exchanged(assertionOf(issuer, 4711))
    expect(await identitiesOf(data.user_id)).toEqual([{ issuer, subject: '4711' }])
    expect((await exchanged(assertionOf(issuer, '4711'))).data.user_id).toBe(data.user_id)
  })

  it('the same subject of two issuers is two users', async () => {
    const issuers = [
      await newIssuer({ create: 'first_login' }),
      await newIssuer({ create: 'first_login' }),
    ]
    const ids = await Promise.all(
      issuers.map(async (issuer) => (await exchanged(assertionOf(issuer, '1'))).data.user_id),
    )
    expect(new Set(ids).size).toBe(2)
  })

  it('a refused assertion answers one code, whatever the reason; metric, log and test have it', async () => {
    const issuer = await newIssuer({ create: 'first_login', audience: ['app'] })
    const now = Math.floor(server.clock.now() / 1000)
    const refused = {
      wrong_audience: assertionOf(issuer, 'secret-person', { aud: 'other' }),
      expired: assertionOf(issuer, 'secret-person', { aud: 'app', exp: now - 100 }),
      unknown_issuer: assertionOf('unknown', 'secret-person'),
      wrong_signature: `${assertionOf(issuer, 'secret-person', { aud: 'app' }).slice(0, -4)}AAAA`,
      not_a_jws: 'not.a.jws.at-all',
    }
    for (const [reason, assertion] of Object.entries(refused)) {
      const figure = `hermod_assertion_refusals_total{reason="${reason}"}`
      const before = await metric(api, figure)
      const answer = await exchange(assertion)
      expect(answer.envelope).toEqual({
        code: answerCode.assertion_refused,
        data: null,
        message: 'assertion was refused',
      })
      expect(await metric(api, figure)).toBe((Number.isNaN(before) ? 0 : before) + 1)
      expect(server.output()).toContain(`"reason":"${reason}"`)
      expect(await test(assertion)).toMatchObject({ ok: false, reason, user_id: 0 })
      expect(await metric(api, figure)).toBe((Number.isNaN(before) ? 0 : before) + 1)
    }
    expect(server.output()).not.toContain('secret-person')
    expect(server.output()).not.toContain(refused.wrong_audience.slice(0, 100))
    expect(await usersOf(issuer)).toEqual([])
  })

  it('a revocation ends assertions that were issued before, and fresh ones are accepted', async () => {
    const issuer = await newIssuer({ create: 'first_login' })
    const subject = newPerson()
    const assertion = assertionOf(issuer, subject)
    const { data } = await exchanged(assertion)
    const admin = api.admin({ userId: data.user_id })
    const ways: (() => Promise<unknown>)[] = [
      () => revoke({ user_id: data.user_id }),
      () =>
        admin.succeed('POST', '/user/change_password_admin', {
          body: { password: 'correct horse' },
        }),
    ]
    let last = assertion
    for (const end of ways) {
      await end()
      expect((await exchange(last)).code).toBe(answerCode.assertion_refused)
      expect(await test(last)).toMatchObject({
        ok: false,
        reason: 'revoked',
        user_id: data.user_id,
      })
      later(2_000)
      last = assertionOf(issuer, subject)
      expect((await exchanged(last)).data.user_id).toBe(data.user_id)
    }
  })

  it('disabled users are refused; the subject of a deleted user is free', async () => {
    const issuer = await newIssuer({ create: 'first_login' })
    const subject = newPerson()
    const { data } = await exchanged(assertionOf(issuer, subject))
    await api.admin().succeed('PUT', '/user/disable', { body: { list: [data.user_id] } })
    later(2_000)
    await expectCode(exchange(assertionOf(issuer, subject)), 'user_disabled')
    expect(await test(assertionOf(issuer, subject))).toMatchObject({ reason: 'user_disabled' })
    await api.admin({ userId: data.user_id }).succeed('POST', '/user/delete')
    const again = await exchanged(assertionOf(issuer, subject))
    expect(again.created).toBe(true)
    expect(again.data.user_id).not.toBe(data.user_id)
  })

  it('tokens live a day, or end with the assertion', async () => {
    const own = await newIssuer({ create: 'first_login' })
    const follow = await newIssuer({ create: 'first_login', session: 'follow' })
    const exp = Math.floor(server.clock.now() / 1000) + 120
    const { data: ofOwn } = await exchanged(assertionOf(own, '1', { exp }))
    expect(Math.abs(ofOwn.expire - server.clock.now() - dayMs)).toBeLessThan(minuteMs)
    const { data: ofFollow } = await exchanged(assertionOf(follow, '1', { exp }))
    expect(ofFollow.expire).toBe(exp * 1000)
    const late = assertionOf(follow, '1', { exp: exp + 1_000_000 })
    expect(
      Math.abs((await exchanged(late)).data.expire - server.clock.now() - 2 * dayMs),
    ).toBeLessThan(minuteMs)
    const ending = assertionOf(follow, '1', { exp: Math.floor(server.clock.now() / 1000) - 5 })
    expect((await exchange(ending)).code).toBe(answerCode.assertion_refused)
    expect(await test(ending)).toMatchObject({ reason: 'expired' })
    later(121_000)
    expect(await codeOfToken(ofFollow.token)).toBe(answerCode.token_expired)
    expect(await codeOfToken(ofOwn.token)).toBe(200)
  })

  it('a device keeps one exchanged token, and gets the user agent of the call', async () => {
    const issuer = await newIssuer({ create: 'first_login' })
    const device = { device_guid: 'phone-1', platform: 2 }
    const first = await exchanged(assertionOf(issuer, '1'), device)
    const second = await exchanged(assertionOf(issuer, '1'), device)
    expect(second.data.push_token).toBe(first.data.push_token)
    expect(await codeOfToken(first.data.token)).toBe(answerCode.token_expired)
    expect(await codeOfToken(second.data.token)).toBe(200)
  })

  describe('new users', () => {
    it('get the username of a claim when it is free and valid, else a generated one', async () => {
      const issuer = await newIssuer({
        create: 'first_login',
        username_claim: 'preferred_username',
      })
      const wanted = newName('wanted')
      const named = await exchanged(assertionOf(issuer, '1', { preferred_username: wanted }))
      expect((await profileOf(named.data.token)).username).toBe(wanted)
      for (const [index, preferred_username] of [
        wanted,
        wanted.toUpperCase(),
        'no name',
        '12345',
        7,
        'x'.repeat(65),
      ].entries()) {
        const { data } = await exchanged(
          assertionOf(issuer, `other ${index}`, { preferred_username }),
        )
        expect((await profileOf(data.token)).username).toMatch(/^user_/)
        expect(data.user_id).not.toBe(named.data.user_id)
      }
    })

    it('get no nickname that is not allowed', async () => {
      const issuer = await newIssuer({
        create: 'first_login',
        profile_claims: { nick_name: 'name' },
      })
      for (const [index, name] of ['\0', 'a\0b', 'a\nb', '\u202eevil', '\u200b'].entries()) {
        const assertion = assertionOf(issuer, `unnamed ${index}`, { name })
        expect(await test(assertion)).toMatchObject({ ok: true, nick_name: '' })
        const { data, created } = await exchanged(assertion)
        expect([created, (await profileOf(data.token)).nick_name]).toEqual([true, ''])
      }
    })

    it('get no text with a character that a database refuses', async () => {
      const issuer = await newIssuer({
        create: 'first_login',
        username_claim: 'login',
        profile_claims: { avatar: 'picture' },
      })
      const text = 'a\0b'
      const claims = { picture: text, login: text, email: `${text}@example.org` }
      const assertion = assertionOf(issuer, 'nul', { ...claims, email_verified: true })
      const { data, created } = await exchanged(assertion)
      expect(created).toBe(true)
      expect(await profileOf(data.token)).toMatchObject({ avatar: '', email: '' })
    })

    it('get a verified e-mail address that is free, and no user is linked by it', async () => {
      const issuer = await newIssuer({ create: 'first_login' })
      const email = `${newName('mail')}@example.org`
      const emailOf = async (subject: string, more: object) => {
        const { data } = await exchanged(assertionOf(issuer, subject, { email, ...more }))
        return (await profileOf(data.token)).email
      }
      expect(await emailOf('unverified', {})).toBe('')
      expect(await emailOf('as text', { email_verified: 'true' })).toBe('')
      expect(await emailOf('verified', { email_verified: true })).toBe(email)
      expect(await emailOf('second', { email_verified: true })).toBe('')
      expect(await emailOf('wrong', { email: 'no address', email_verified: true })).toBe('')
      expect(await usersOf(issuer)).toHaveLength(5)
    })

    it('count for the limit of the application', async () => {
      const operator = api.as(server.operatorToken)
      const { data } = await operator.succeed('POST', '/operator/v1/app/create', { body: {} })
      await operator.succeed('POST', '/operator/v1/app/update', {
        body: { app_id: data.app_id, settings: { user_limit: 1 } },
      })
      const issuer = await newIssuer({ app_id: data.app_id, create: 'first_login' })
      const from = (subject: string) =>
        api.call('POST', '/token/exchange', {
          appId: data.app_id,
          body: { assertion: assertionOf(issuer, subject) },
        })
      expect((await from('1')).code).toBe(200)
      await expectCode(from('2'), 'user_limit_reached')
      expect((await from('1')).code).toBe(200)
    })
  })

  it('claims of the profile are written where they differ and are valid', async () => {
    const issuer = await newIssuer({
      create: 'first_login',
      profile_claims: { nick_name: 'name', avatar: 'picture' },
    })
    const picture = 'https://example.org/1.png'
    const profileAfter = async (claims: object) => {
      const { data } = await exchanged(assertionOf(issuer, 'someone', claims))
      const { nick_name, avatar } = await profileOf(data.token)
      return [nick_name, avatar]
    }
    expect(await profileAfter({ name: 'Ann', picture })).toEqual(['Ann', picture])
    expect(await profileAfter({})).toEqual(['Ann', picture])
    for (const name of ['', 'a\nb', '\u202eevil', 'x'.repeat(257), 7, null, ['Bob']])
      expect(await profileAfter({ name })).toEqual(['Ann', picture])
    for (const bad of ['', 'javascript:alert(1)', 'a/../b', 'x'.repeat(2_049), 7, {}])
      expect(await profileAfter({ picture: bad })).toEqual(['Ann', picture])
    expect(await profileAfter({ name: 'Bob', picture: 'javascript:x' })).toEqual(['Bob', picture])
  })

  it('issuers stay after a restart, and other applications have none of them', async () => {
    const issuer = await newIssuer({ create: 'first_login' })
    const { data } = await exchanged(assertionOf(issuer, '1'))
    await server.stop()
    await server.startAgain()
    expect((await exchanged(assertionOf(issuer, '1'))).data.user_id).toBe(data.user_id)
    const operator = api.as(server.operatorToken)
    const other = (await operator.succeed('POST', '/operator/v1/app/create', { body: {} })).data
    const answer = await api.call('POST', '/token/exchange', {
      appId: other.app_id,
      body: { assertion: assertionOf(issuer, '1') },
    })
    expect(answer.code).toBe(answerCode.assertion_refused)
  })

  it('a changed issuer counts at once: another secret, its previous one, and none', async () => {
    const issuer = await newIssuer({ create: 'first_login' })
    const assertion = assertionOf(issuer, '1')
    const codeAfter = async (settings: object) => {
      await set({ issuer, create: 'first_login', ...settings })
      return (await exchange(assertion)).code
    }
    const [secret, other] = ['a-secret-of-more-than-thirty-two-bytes', 'x'.repeat(32)]
    expect(await codeAfter({ hmac_secret: other, previous_hmac_secret: secret })).toBe(200)
    expect(await codeAfter({ hmac_secret: other })).toBe(answerCode.assertion_refused)
    expect(await codeAfter({ hmac_secret: secret })).toBe(200)
    expect((await call('remove', { issuer })).code).toBe(200)
    expect((await exchange(assertion)).code).toBe(answerCode.assertion_refused)
  })

  it('test: says what an exchange would do, and stores nothing', async () => {
    const issuer = await newIssuer({
      create: 'first_login',
      username_claim: 'nick',
      profile_claims: { nick_name: 'name' },
    })
    const claims = {
      nick: newName('tested'),
      name: 'Ann',
      email: 'a@example.org',
      email_verified: true,
    }
    const assertion = assertionOf(issuer, 'someone', claims)
    expect(await test(assertion)).toMatchObject({
      ...{ ok: true, reason: '', issuer, subject: 'someone', user_id: 0, created: true },
      ...{ username: claims.nick, email: claims.email, nick_name: 'Ann', avatar: '' },
    })
    expect(await usersOf(issuer)).toEqual([])
    const { data } = await exchanged(assertion)
    expect(await test(assertion)).toMatchObject({
      ...{ ok: true, user_id: data.user_id, created: false, username: '', nick_name: 'Ann' },
    })
    await set({ issuer, hmac_secret: 'a-secret-of-more-than-thirty-two-bytes' })
    expect(await test(assertionOf(issuer, 'stranger'))).toMatchObject({
      ok: false,
      reason: 'no_user',
    })
  })
})

describe.each(testBackends().slice(0, 1))('limits of exchanges on $name', (backend) => {
  const server = ownServer(backend, {
    HERMOD_RATE_LIMIT: 'on',
    HERMOD_ADDRESS_RATE: '100000',
    HERMOD_ADDRESS_BURST: '100000',
  })
  const { newIssuer, assertionOf, exchange } = issuerCalls(server)

  it('an issuer makes at most 50 users in a burst', async () => {
    const issuer = await newIssuer({ create: 'first_login' })
    const exchanges = Array.from({ length: 150 }, (_, person) =>
      exchange(assertionOf(issuer, `person ${person}`)),
    )
    const codes = (await Promise.all(exchanges)).map(({ code }) => code)
    const passed = codes.filter((code) => code !== answerCode.too_many_requests)
    expect(passed.length).toBeGreaterThanOrEqual(50)
    expect(passed.length).toBeLessThan(150)
    // Users who are there do not count.
    expect((await exchange(assertionOf(issuer, 'person 0'))).code).toBe(200)
  })
})
