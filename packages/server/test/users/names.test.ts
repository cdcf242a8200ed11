/**
 * Names that look alike, turn the text around them or show nothing, on both databases (rules D1,
 * D1a, D1b).
 */
import { type Answer, type Api, anyBackend, type Session } from '@hermod/testkit'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { aGroup } from '../support/groups/groups.js'
import { ownServer } from '../support/in-process-server.js'

const password = 'correct horse'
/** One ideograph, as it is written and in its compatibility form, which the first is the NFC of. */
const twins = { unified: '\u8c48', compatibility: '\uf900' }

describe.each(anyBackend())('names on $name', (backend) => {
  const server = ownServer(backend, {
    HERMOD_RESERVED_USERNAME_PREFIXES: `${twins.unified}_`,
  })
  let api: Api
  let alice: Session
  let bob: Session

  beforeAll(async () => {
    api = server.api
  })

  beforeEach(async () => {
    alice = await api.newSession()
    bob = await api.newSession()
  })

  const register = (username: string) =>
    api.call('POST', '/user/register/v2', { body: { username, password } })

  function refuses(answer: Answer, field: string): void {
    expect(answer).toMatchObject({ status: 200, code: answerCode.invalid_parameter, data: null })
    expect(answer.envelope.message).toContain(`${field} must`)
  }

  describe('usernames', () => {
    it.each([
      [`${twins.compatibility}a`, `${twins.unified}A`],
      ['\u2f00\u4e8c', '\u4e00\u4e8c'],
      ['\u4e03\u2e9f', '\u4e03\u6bcd'],
    ])('are taken in every form that is compatible: %j and %j', async (first, second) => {
      const { data: user } = await api.succeed('POST', '/user/register/v2', {
        body: { username: first, password },
      })
      expect(await register(second)).toMatchObject({ code: answerCode.user_exists })
      const { data: items } = await api.admin().succeed('POST', '/user/register/batch', {
        body: { list: [{ username: second, password }] },
      })
      expect(items).toMatchObject([{ success: false }])
      const rename = { body: { username: second } }
      expect(await alice.api.call('POST', '/user/username', rename)).toMatchObject({
        code: answerCode.username_taken,
      })
      const { data: entry } = await alice.api.succeed('GET', '/roster/name', {
        query: { username: second },
      })
      expect(entry).toMatchObject({ user_id: user.user_id, username: first })
      const { data: token } = await api.succeed('POST', '/token/user', {
        body: { name: second, password },
      })
      expect(token).toMatchObject({ user_id: user.user_id })
    })

    it('are looked up in full width, in which nobody can have them', async () => {
      const wide = [...alice.username.toUpperCase()]
        .map((character) => String.fromCodePoint((character.codePointAt(0) ?? 0) + 0xfee0))
        .join('')
      const { data } = await bob.api.succeed('GET', '/roster/name', { query: { username: wide } })
      expect(data).toMatchObject({ user_id: alice.id, username: alice.username })
      refuses(await register(`${wide}x`), 'username')
    })

    it('keep reserved prefixes free in every form', async () => {
      refuses(await register(`${twins.compatibility}_team`), 'username')
    })

    it.each(['\u200b', '\u200d', '\u2060', '\ufeff', '\u202e', '\u2067', '\u00ad', '\u0301'])(
      'hold no characters that are not seen: %j',
      async (hidden) => {
        refuses(await register(`a${hidden}b`), 'username')
        refuses(
          await alice.api.call('POST', '/user/username', { body: { username: `a${hidden}b` } }),
          'username',
        )
      },
    )
  })

  it('that are no text fail alone in a batch, and what was accepted beside them is answered', async () => {
    const good = `good_${alice.id}`
    const { data } = await api.admin().succeed('POST', '/user/register/batch', {
      rawBody: `{"list":[{"username":"${good}","password":"${password}"},{"username":"a\\u0000b","password":"${password}"},{"username":"a\\ud800b","password":"${password}"},{"user_id":-0}]}`,
    })
    expect(data).toMatchObject([
      { username: good, success: true },
      { username: 'a\ufffdb', success: false },
      { username: 'a\ufffdb', success: false },
      { username: '', success: false },
    ])
  })

  describe('e-mail addresses', () => {
    const setEmail = (session: Session, email: string) =>
      session.api.call('POST', '/user/email', { body: { email } })

    it.each([
      ['Eve@B\u00fccher.example', 'eve@xn--bcher-kva.example'],
      ['mallory@dots.example', 'mallory@dots\u3002example'],
      ['trent@wide.example', '\uff54rent@\uff37ide.example'],
      ['peggy@end.example', 'peggy@end.example.'],
      ['victor@e\u0301.example', 'victor@\u00e9.example'],
    ])('belong to one user in all spellings of the domain: %j and %j', async (first, second) => {
      expect(await setEmail(alice, first)).toMatchObject({ code: 200 })
      expect(await setEmail(bob, second)).toMatchObject({ code: answerCode.email_taken })
      const { data } = await api.succeed('POST', '/token/login', {
        body: { login_name: second, password },
      })
      expect(data).toMatchObject({ user_id: alice.id })
      const { data: profile } = await alice.api.succeed('GET', '/user/profile')
      expect(profile).toMatchObject({ email: first })
    })

    it.each([
      'alice@exa\u200bmple.org',
      'al\u202eice@example.org',
      'al\u0000ice@example.org',
      'alice@example/org',
      'alice@%61.org',
      'alice\uff20evil.example@example.org',
      'alice@xn--a.example',
    ])('hold nothing that is not seen, and a domain that can be: %j', async (email) => {
      refuses(await setEmail(alice, email), 'email')
    })

    it.each(['alice@localhost', 'alice@[192.0.2.7]', 'al.i+ce@mail.example-1.org', "o'neil@x.y"])(
      'may be %j',
      async (email) => {
        expect(await setEmail(alice, email)).toMatchObject({ code: 200 })
      },
    )
  })

  describe('names that others see', () => {
    const turnsText = 'ab\u202ecd'
    const endsForeign = 'ab\u2069cd'
    const bad = ['\u200b\u3164 ', '\u00a0', turnsText, endsForeign, 'a\nb']
    const good = ['\u202b\u05e2\u05d1\u202c', ' A  B ', '']

    /** Where names are set, and under which field. */
    const setters: [path: string, field: string][] = [
      ['/user/nickname', 'nick_name'],
      ['/user/profile', 'nick_name'],
      ['/user/push/nickname', 'value'],
      ['/user/settings', 'push_nick_name'],
      ['/group/create', 'name'],
      ['/group/info/name', 'value'],
      ['/group/display_name', 'value'],
      ['/roster/ext', 'alias'],
      ['/roster/apply', 'alias'],
    ]

    it.each(setters)('show something and keep to themselves: %s', async (path, field) => {
      const group_id = await aGroup(alice)
      const carol = await api.newSession()
      await alice.api.succeed('POST', '/roster/apply', { body: { user_id: bob.id } })
      const others: Readonly<Record<string, object>> = {
        '/user/settings': { user_id: alice.id },
        '/group/info/name': { group_id },
        '/group/display_name': { group_id },
        '/roster/ext': { user_id: bob.id },
        '/roster/apply': { user_id: carol.id },
      }
      const set = (name: string) =>
        alice.api.call('POST', path, { body: { ...others[path], [field]: name } })
      for (const name of bad) refuses(await set(name), path === '/group/info/name' ? 'name' : field)
      const accepted = path === '/roster/apply' ? good.slice(0, 1) : good
      for (const name of accepted) expect(await set(name)).toMatchObject({ code: 200 })
    })

    it('fail alone in a batch of profiles, and of contact applications', async () => {
      const { data: profiles } = await api.admin().succeed('POST', '/user/profile/batch', {
        body: {
          list: [
            { user_id: alice.id, nick_name: turnsText },
            { user_id: bob.id, nick_name: 'Bob' },
          ],
        },
      })
      const reason = expect.stringMatching(/(nick_name|alias) must/)
      expect(profiles).toMatchObject([{ success: false, reason }, { success: true }])
      const carol = await api.newSession()
      const { data: applications } = await alice.api.succeed('POST', '/roster/apply/batch', {
        body: [
          { user_id: bob.id, alias: endsForeign },
          { user_id: carol.id, alias: 'Carol' },
        ],
      })
      expect(applications).toMatchObject({
        success: [carol.id],
        fails: [{ user_id: bob.id, reason }],
      })
    })
  })
})
