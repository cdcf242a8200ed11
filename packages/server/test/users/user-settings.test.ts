/** How users want to be found, reached and notified, on both databases (rules B3, C5, D7). */
import type { UserSettings } from '@hermod/protocol'
import { type Api, anyBackend, type Json, type Session } from '@hermod/testkit'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { sharedServer } from '../support/in-process-server.js'

/** The operations that write one setting: the path, a value, and what /user/settings shows then. */
const writers: readonly (readonly [string, unknown, Partial<UserSettings>])[] = [
  ['/user/authmode', 2, { auth_mode: 2 }],
  ['/user/download', true, { auto_download: true }],
  ['/user/push', true, { no_push: true }],
  ['/user/push/detail', true, { no_push_detail: true }],
  ['/user/push/nickname', 'Al', { push_nick_name: 'Al' }],
  ['/user/sounds', true, { no_sounds: true }],
  ['/user/stranger_chat', 2, { stranger_chat: 2 }],
  ['/user/vibratory', true, { vibratory: true }],
]

/** @param push_token belongs to one user */
const everythingWith = (push_token: string) => ({
  auth_answer: 'blue',
  auth_mode: 2,
  auth_question: 'which colour?',
  auto_download: true,
  group_confirm: true,
  no_push: true,
  no_push_detail: true,
  no_push_end_hour: 7,
  no_push_start_hour: 23,
  no_sounds: true,
  push_nick_name: 'Al',
  push_token,
  silence_end_time: 8,
  silence_start_time: 22,
  stranger_chat: 2,
  vibratory: true,
})

describe.each(anyBackend())('user settings on $name', (backend) => {
  const server = sharedServer(backend)
  let alice: Session
  let bob: Session
  let everything: ReturnType<typeof everythingWith>

  afterAll(async () => {})

  beforeEach(async () => {
    alice = await server.api.newSession()
    bob = await server.api.newSession()
    everything = everythingWith(`token of ${alice.id}`)
  })

  async function settingsOf(api: Api): Promise<Json> {
    return (await api.succeed('GET', '/user/settings')).data
  }

  /** What a change of the settings of Alice did to them. */
  async function changedBy(change: () => Promise<unknown>): Promise<Json> {
    const before = await settingsOf(alice.api)
    await change()
    const after = await settingsOf(alice.api)
    return Object.fromEntries(
      Object.entries(after).filter(([name, value]) => value !== before[name]),
    )
  }

  it('push_token: a user cannot take the one of a device or of the settings of another', async () => {
    const victim = await server.api.register()
    const { record } = await server.api.login(victim, 'phone')
    const ofDevice = record.push_token ?? ''
    const ofSettings = `settled ${victim.id}`
    const set = (user: Session, push_token: string) =>
      user.api.call('POST', '/user/settings', {
        body: { user_id: user.id, push_token, vibratory: true },
      })
    expect((await set(alice, ofSettings)).code).toBe(200)
    for (const push_token of [ofDevice, ofSettings]) {
      const refused = await set(bob, push_token)
      expect(refused.envelope).toMatchObject({
        code: answerCode.push_token_mismatch,
        message: expect.stringContaining('push_token is the token of another user'),
      })
      const username = `taker_${victim.id}_${push_token.slice(-4)}`.replace(/\W/g, '')
      const body = { username, password: 'secret12', push_token, device_guid: 'phone' }
      const { data } = await server.api.succeed('POST', '/user/register/push', { body })
      expect(data.push_token).toMatch(/^hmp_/)
      expect(data.push_token).not.toBe(push_token)
    }
    expect(await settingsOf(bob.api)).toMatchObject({ push_token: '', vibratory: false })
    expect((await set(alice, ofSettings)).code).toBe(200)
    expect((await set(bob, '')).code).toBe(200)
  })

  it('are all unset for a fresh user', async () => {
    const { id, user_id, ...settings } = await settingsOf(alice.api)
    expect([id, user_id]).toEqual([alice.id, alice.id])
    expect(Object.keys(settings).sort()).toEqual(Object.keys(everything).sort())
    expect(
      Object.values(settings).every((value) => value === 0 || value === '' || value === false),
    ).toBe(true)
  })

  it.each(['PUT', 'POST'])('are changed by %s as they are sent', async (method) => {
    expect(
      await changedBy(() =>
        alice.api.succeed(method, '/user/settings', { body: { ...everything, user_id: alice.id } }),
      ),
    ).toEqual(everything)
    expect(await settingsOf(bob.api)).toMatchObject({
      auth_mode: 0,
      auth_question: '',
      user_id: bob.id,
    })
  })

  it('stay as they are where nothing is sent', async () => {
    await alice.api.succeed('POST', '/user/settings', {
      body: { ...everything, user_id: alice.id },
    })
    const change = { auth_mode: 1, user_id: alice.id, id: 5 }
    expect(
      await changedBy(() => alice.api.succeed('POST', '/user/settings', { body: change })),
    ).toEqual({ auth_mode: 1 })
    const flag = { group_confirm: 0, user_id: String(alice.id) }
    expect(
      await changedBy(() => alice.api.succeed('POST', '/user/settings', { body: flag })),
    ).toEqual({ group_confirm: false })
    expect(
      await changedBy(() =>
        alice.api.succeed('POST', '/user/settings', { body: { user_id: alice.id } }),
      ),
    ).toEqual({})
  })

  it('of others are refused to a user token', async () => {
    const body = { auth_mode: 3, user_id: bob.id }
    expect(await alice.api.call('POST', '/user/settings', { body })).toMatchObject({
      code: answerCode.no_permission,
    })
    expect(await settingsOf(bob.api)).toMatchObject({ auth_mode: 0 })
    expect(await settingsOf(alice.api)).toMatchObject({ auth_mode: 0 })
  })

  it('are changed with an Admin token for the user of the header only', async () => {
    const admin = server.api.admin({ userId: alice.id })
    const change = (user_id: number) =>
      admin.call('POST', '/user/settings', { body: { auth_mode: 3, user_id } })
    expect(await change(bob.id)).toMatchObject({ code: answerCode.no_permission })
    expect(await settingsOf(alice.api)).toMatchObject({ auth_mode: 0 })
    expect(await changedBy(() => change(alice.id))).toEqual({ auth_mode: 3 })
    expect(await settingsOf(admin)).toEqual(await settingsOf(alice.api))
  })

  it('of a user that nobody is are neither shown nor stored', async () => {
    const admin = server.api.admin({ userId: 1 })
    expect(await admin.call('GET', '/user/settings')).toMatchObject({
      code: answerCode.user_not_found,
    })
    expect(await admin.call('POST', '/user/sounds', { query: { value: true } })).toMatchObject({
      code: answerCode.user_not_found,
    })
  })

  it.each(writers)('are written one by one: %s', async (path, value, shown) => {
    expect(
      await changedBy(() => alice.api.succeed('PUT', path, { query: { value: value as string } })),
    ).toEqual(shown)
    expect(await changedBy(() => alice.api.succeed('POST', path, { body: { value } }))).toEqual({})
    const [name, set] = Object.entries(shown)[0] as [string, unknown]
    const unset = typeof set === 'string' ? '' : 0
    const expected = typeof set === 'boolean' ? false : unset
    expect(
      await changedBy(() => alice.api.succeed('POST', path, { query: { value: unset } })),
    ).toEqual({ [name]: expected })
  })

  it('take the hours without pushes together', async () => {
    const query = { no_push_start_hour: 23, no_push_end_hour: 0 }
    expect(await changedBy(() => alice.api.succeed('PUT', '/user/push/limit', { query }))).toEqual({
      no_push_start_hour: 23,
    })
    const answer = await alice.api.call('PUT', '/user/push/limit', {
      query: { no_push_start_hour: 24, no_push_end_hour: -1 },
    })
    expect(answer).toMatchObject({ code: answerCode.invalid_parameter, data: null })
    expect(answer.envelope.message).toContain('no_push_end_hour must be an integer from 0 to 23')
    expect(answer.envelope.message).toContain('no_push_start_hour must be an integer from 0 to 23')
    expect(await settingsOf(alice.api)).toMatchObject({
      no_push_start_hour: 23,
      no_push_end_hour: 0,
    })
  })

  it.each([
    ['/user/authmode', 4],
    ['/user/stranger_chat', 3],
    ['/user/push', 'yes'],
    ['/user/push/nickname', 'a\nb'],
    ['/user/push/nickname', 'a\u2028b'],
  ])('refuse a bad value at %s: %s', async (path, value) => {
    const answer = await alice.api.call('POST', path, { query: { value } })
    expect(answer).toMatchObject({ status: 200, code: answerCode.invalid_parameter, data: null })
    expect(answer.envelope.message).toContain('value must')
  })

  it('refuse a push name with control characters under its own name', async () => {
    const answer = await alice.api.call('POST', '/user/settings', {
      body: { push_nick_name: 'a\tb', user_id: alice.id },
    })
    expect(answer).toMatchObject({ code: answerCode.invalid_parameter })
    expect(answer.envelope.message).toContain('push_nick_name must not contain control characters')
  })

  it('lose no change when several are made at once', async () => {
    await Promise.all(
      writers.map(([path, value]) => alice.api.succeed('POST', path, { body: { value } })),
    )
    expect(await settingsOf(alice.api)).toMatchObject(
      Object.assign({}, ...writers.map(([, , shown]) => shown)),
    )
  })
})
